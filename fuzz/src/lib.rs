//! What the targets share: how an input says what it is, and where its own bytes are to be cut.

/// Bytes of a [`Cuts`] at the beginning of an input.
const SEED_LEN: usize = 2;

/// Request paths, for every dialect at least one.
pub const PATHS: [&str; 16] = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/api/chat",
    "/api/generate",
    "/v1/embeddings",
    "/generate",
    "/generate_stream",
    "/v1/models",
    "/v1/audio/transcriptions",
    "/v1/rerank",
    "/api/embed",
    "/v1/messages/count_tokens",
    "/tokenize",
    "/infer",
];

/// An option at the beginning of an input, written as a digit in seeds (and from `:` on beyond 9), so that it
/// can be read and typed.
pub fn option(byte: u8) -> usize {
    usize::from(byte.wrapping_sub(b'0'))
}

/// Places to cut bytes at, drawn from a seed: the same seed cuts the same bytes at the same places.
#[derive(Clone, Copy, Debug)]
pub struct Cuts {
    state: u32,
    /// Parts are at most this long.
    longest: usize,
}

impl Cuts {
    /// Takes the seed off the beginning of an input. `None` if the input is too short for one.
    pub fn take(input: &[u8]) -> Option<(Self, &[u8])> {
        let (seed, rest) = input.split_first_chunk::<SEED_LEN>()?;
        let longest = 1 << (option(seed[1]) % 9);
        Some((Self { state: u32::from(seed[0]).wrapping_mul(0x9e37_79b9) | 1, longest }, rest))
    }

    /// Parts are at most this long.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Cuts `bytes` into parts of 0 to `longest` bytes.
    pub fn cut(mut self, mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        std::iter::from_fn(move || {
            if bytes.is_empty() {
                return None;
            }
            let at = self.draw() % (self.longest + 1);
            let (part, rest) = bytes.split_at(at.min(bytes.len()));
            bytes = rest;
            Some(part)
        })
    }

    /// The next number of a xorshift sequence, which never comes to 0.
    fn draw(&mut self) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        // The high bits are the better ones.
        (self.state >> 16) as usize
    }
}
