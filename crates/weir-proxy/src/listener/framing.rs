//! Follows the framing of the requests on one connection, to find heads that state their length in
//! two ways.
//!
//! Hyper goes by `Transfer-Encoding` then and hides the other header, so that such a request is
//! harmless when it is passed on. But RFC 9112 (section 6.3) has it refused: whoever stands in front
//! may have gone by the other one.

/// Longer heads are not followed; hyper refuses them.
const HEAD_LIMIT: usize = 512 * 1024;

/// Where in the stream of requests the next byte stands.
#[derive(Debug)]
enum Place {
    /// In a head, of which this much came in earlier reads.
    Head(Vec<u8>),
    /// In a body of known length, with so many bytes to come.
    Length(u64),
    /// In a chunked body.
    Chunked(Chunk),
    /// Past what can be followed, or not HTTP.
    Lost,
}

#[derive(Debug, Clone, Copy)]
enum Chunk {
    /// In the line that gives the size, read so far; `None` once past the digits.
    Size(u64, bool),
    /// In the data and its line end, with so many bytes to come.
    Data(u64),
    /// At the beginning of a trailer line (true) or within one.
    Trailer(bool),
}

/// The framing of one connection.
#[derive(Debug)]
pub(super) struct Framing {
    place: Place,
}

impl Framing {
    pub(super) fn new() -> Self {
        Self { place: Place::Head(Vec::new()) }
    }

    /// Follows bytes as they are read. `on_head` is told of each head that they complete, and
    /// whether it contradicts itself.
    pub(super) fn read(&mut self, mut bytes: &[u8], mut on_head: impl FnMut(bool)) {
        while !bytes.is_empty() {
            let used = match &mut self.place {
                Place::Head(before) => {
                    let Some((used, head)) = head(before, bytes) else { return self.hold(bytes) };
                    on_head(head.conflicting);
                    self.place = head.body();
                    used
                }
                Place::Length(left) => {
                    let used = (*left).min(bytes.len() as u64);
                    *left -= used;
                    if *left == 0 {
                        self.place = Place::Head(Vec::new());
                    }
                    used as usize
                }
                Place::Chunked(chunk) => match chunk.read(bytes) {
                    Read::Within(used) => used,
                    Read::Over(used) => {
                        self.place = Place::Head(Vec::new());
                        used
                    }
                    Read::Lost => {
                        self.place = Place::Lost;
                        return;
                    }
                },
                Place::Lost => return,
            };
            bytes = &bytes[used..];
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        if let Place::Head(before) = &mut self.place {
            if before.len() + bytes.len() > HEAD_LIMIT {
                self.place = Place::Lost;
            } else {
                before.extend_from_slice(bytes);
            }
        }
    }
}

/// What a head says of the body behind it.
struct Head {
    length: Option<u64>,
    chunked: bool,
    conflicting: bool,
}

impl Head {
    fn body(&self) -> Place {
        match self.length {
            _ if self.conflicting => Place::Lost,
            _ if self.chunked => Place::Chunked(Chunk::Size(0, true)),
            Some(length) if length > 0 => Place::Length(length),
            _ => Place::Head(Vec::new()),
        }
    }
}

/// Reads a head that ends in `bytes`, with how much of them belongs to it.
fn head(before: &[u8], bytes: &[u8]) -> Option<(usize, Head)> {
    if before.is_empty() {
        let end = head_end(bytes, 0)?;
        return Some((end, fields(&bytes[..end])));
    }
    let whole = [before, bytes].concat();
    let end = head_end(&whole, before.len().saturating_sub(3))?;
    Some((end - before.len(), fields(&whole[..end])))
}

/// Where the empty line ends that closes a head. Empty lines in front of it are skipped, as hyper
/// does.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let begin = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let mut at = from.max(begin);
    loop {
        at += memchr::memchr(b'\n', &bytes[at..])? + 1;
        match &bytes[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

fn fields(head: &[u8]) -> Head {
    let mut found = Head { length: None, chunked: false, conflicting: false };
    for line in head.split(|byte| *byte == b'\n') {
        // Only two names are looked for, so most lines are done with after a byte.
        if !matches!(line.first(), Some(b'c' | b'C' | b't' | b'T')) {
            continue;
        }
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            found.length = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            found.conflicting |= found.chunked;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            found.chunked = true;
            found.conflicting |= found.length.is_some();
        }
    }
    found
}

enum Read {
    Within(usize),
    Over(usize),
    Lost,
}

impl Chunk {
    fn read(&mut self, bytes: &[u8]) -> Read {
        match self {
            Chunk::Size(size, in_digits) => {
                for (at, byte) in bytes.iter().enumerate() {
                    match (byte, char::from(*byte).to_digit(16)) {
                        (b'\n', _) => {
                            *self = match *size {
                                0 => Chunk::Trailer(true),
                                size => Chunk::Data(size.saturating_add(2)),
                            };
                            return Read::Within(at + 1);
                        }
                        (_, Some(digit)) if *in_digits => match size.checked_mul(16) {
                            Some(shifted) => *size = shifted + u64::from(digit),
                            None => return Read::Lost,
                        },
                        _ => *in_digits = false,
                    }
                }
                Read::Within(bytes.len())
            }
            Chunk::Data(left) => {
                let used = (*left).min(bytes.len() as u64);
                *left -= used;
                if *left == 0 {
                    *self = Chunk::Size(0, true);
                }
                Read::Within(used as usize)
            }
            Chunk::Trailer(at_begin) => {
                for (at, byte) in bytes.iter().enumerate() {
                    match byte {
                        b'\n' if *at_begin => return Read::Over(at + 1),
                        b'\n' => *at_begin = true,
                        b'\r' => {}
                        _ => *at_begin = false,
                    }
                }
                Read::Within(bytes.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Framing;

    /// The heads in a stream of requests that is read `size` bytes at a time.
    fn heads(stream: &[u8], size: usize) -> Vec<bool> {
        let mut framing = Framing::new();
        let mut heads = Vec::new();
        for read in stream.chunks(size) {
            framing.read(read, |conflicting| heads.push(conflicting));
        }
        heads
    }

    fn at_any_split(stream: &str, expected: &[bool]) {
        for size in [1, 2, 3, 7, 16, stream.len()] {
            assert_eq!(heads(stream.as_bytes(), size), expected, "{size} bytes at a time");
        }
    }

    #[test]
    fn requests_are_followed_through_their_bodies() {
        at_any_split(
            "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nGET /\
             GET /b HTTP/1.1\r\nHost: x\r\n\r\n\
             POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1a;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nt: 1\r\n\r\n\
             POST /d HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n\
             GET /e HTTP/1.1\r\n\r\n",
            &[false; 5],
        );
    }

    #[test]
    fn two_statements_of_length_contradict_each_other() {
        for head in [
            "content-length: 5\r\ntransfer-encoding: chunked",
            "Transfer-Encoding: chunked\r\nhost: x\r\nContent-Length: 5",
        ] {
            at_any_split(
                &format!(
                    "GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\n{head}\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\n\r\n"
                ),
                &[false, true],
            );
        }
    }

    #[test]
    fn what_is_not_http_is_let_go() {
        assert!(heads(&vec![b'a'; 600 * 1024], 4096).is_empty());
        assert_eq!(
            heads(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 5),
            [false]
        );
    }
}
