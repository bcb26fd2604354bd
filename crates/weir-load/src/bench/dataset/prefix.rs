//! Prompts that share prefixes, for caches of them.

use rand::Rng;
use rand::rngs::StdRng;

use super::error::DataError;
use super::words::{self, Part};
use crate::bench::ask::Ask;
use crate::draw;

/// Keys the order of the prefixes apart from the words.
const ORDER: u64 = 0x0f1f;

const MAX_PREFIXES: u32 = 1 << 16;

/// Several prefixes, each followed by many suffixes, in random order. As many asks have one prefix as another, but
/// for the remainder, which `vllm bench serve` leaves out. A word is about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixRepetition {
    /// The length of a prefix, in tokens.
    pub prefix_len: u32,
    /// The length of what follows it, in tokens.
    pub suffix_len: u32,
    /// How many prefixes.
    pub num_prefixes: u32,
    /// The length of an answer, in tokens.
    pub output_len: u32,
}

impl Default for PrefixRepetition {
    fn default() -> Self {
        Self { prefix_len: 256, suffix_len: 256, num_prefixes: 10, output_len: 128 }
    }
}

impl PrefixRepetition {
    pub(super) fn asks(
        &self,
        seed: u64,
        count: Option<u64>,
    ) -> Result<impl Iterator<Item = Ask> + use<>, DataError> {
        let prefix_len = words::checked("prefix length", self.prefix_len, 0)?;
        let suffix_len = words::checked("suffix length", self.suffix_len, 0)?;
        let output_len = words::checked("output length", self.output_len, 1)?;
        if prefix_len + suffix_len == 0 {
            return Err(DataError::Setting("prefix length", "at least 1 token with its suffix"));
        }
        if !(1..=MAX_PREFIXES).contains(&self.num_prefixes) {
            return Err(DataError::Setting("number of prefixes", "1 to 65536"));
        }
        let mut order = Order::new(self.num_prefixes, seed, count);
        Ok((0..count.unwrap_or(u64::MAX)).map(move |nth| {
            let mut prompt = words::text(seed, Part::Prefix(order.draw()), prefix_len);
            words::write(&mut prompt, seed, Part::Ask(nth), suffix_len);
            Ask {
                input_tokens: Some(prefix_len + suffix_len),
                output_tokens: Some(output_len),
                ..Ask::new(prompt)
            }
        }))
    }
}

/// A shuffled row of prefixes that is drawn as it is needed: each prefix comes with the chance of what is left of
/// it. Without an end any prefix may come at any time.
struct Order {
    rng: StdRng,
    /// How many asks of each prefix are left.
    left: Vec<u64>,
    total: u64,
    endless: bool,
}

impl Order {
    fn new(prefixes: u32, seed: u64, count: Option<u64>) -> Self {
        let (each, rest) = match count {
            Some(count) => (count / u64::from(prefixes), count % u64::from(prefixes)),
            None => (1, 0),
        };
        let left: Vec<u64> = (0..u64::from(prefixes)).map(|nth| each + u64::from(nth < rest)).collect();
        let total = left.iter().sum();
        Self { rng: draw::generator(seed, ORDER), left, total, endless: count.is_none() }
    }

    fn draw(&mut self) -> u64 {
        let mut at = self.rng.random_range(0..self.total.max(1));
        for (nth, left) in self.left.iter_mut().enumerate() {
            if at < *left {
                if !self.endless {
                    *left -= 1;
                    self.total -= 1;
                }
                return nth as u64;
            }
            at -= *left;
        }
        0
    }
}
