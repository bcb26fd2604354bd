//! Takes a body out of its framing as it comes.

use super::message::{Head, fields};

/// Header lines: names as they were spelt, in their order.
pub(crate) type Trailers = Vec<(String, String)>;

/// A body under way.
#[derive(Debug, Default)]
pub(crate) struct Body {
    state: State,
    pub(crate) bytes: Vec<u8>,
    pub(crate) trailers: Trailers,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Done,
    Length(u64),
    ToClose,
    ChunkSize,
    Chunk(usize),
    ChunkEnd,
    Trailers,
}

impl Body {
    /// The body that follows a request's head.
    pub(crate) fn of_request(head: &Head) -> Self {
        Self::framed(head, State::Done)
    }

    /// The body that follows a response's head.
    pub(crate) fn of_response(head: &Head, to_head_request: bool) -> Self {
        if to_head_request || matches!(head.status(), 204 | 304) {
            return Self::default();
        }
        Self::framed(head, State::ToClose)
    }

    fn framed(head: &Head, otherwise: State) -> Self {
        let state = match head.length() {
            _ if head.is_chunked() => State::ChunkSize,
            Some(0) => State::Done,
            Some(length) => State::Length(length),
            None => otherwise,
        };
        Self { state, ..Self::default() }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the end of the connection is the end of this body.
    pub(crate) fn ends_with_connection(&self) -> bool {
        self.state == State::ToClose
    }

    /// Takes what it can of `raw`; returns how much that was.
    pub(crate) fn take(&mut self, raw: &[u8]) -> usize {
        let mut at = 0;
        while let Some(taken) = self.step(&raw[at..]) {
            at += taken;
        }
        at
    }

    fn step(&mut self, raw: &[u8]) -> Option<usize> {
        match self.state {
            State::Done => None,
            _ if raw.is_empty() => None,
            State::ToClose => {
                self.bytes.extend_from_slice(raw);
                Some(raw.len())
            }
            State::Length(left) => {
                let part = usize::try_from(left).unwrap_or(usize::MAX).min(raw.len());
                self.bytes.extend_from_slice(&raw[..part]);
                let left = left - part as u64;
                self.state = if left == 0 { State::Done } else { State::Length(left) };
                Some(part)
            }
            State::ChunkSize => {
                let (line, taken) = line(raw)?;
                let size = line.split(';').next().unwrap_or_default();
                let size = usize::from_str_radix(size, 16).expect("a chunk size");
                self.state = if size == 0 { State::Trailers } else { State::Chunk(size) };
                Some(taken)
            }
            State::Chunk(left) => {
                let part = left.min(raw.len());
                self.bytes.extend_from_slice(&raw[..part]);
                self.state = if part == left { State::ChunkEnd } else { State::Chunk(left - part) };
                Some(part)
            }
            State::ChunkEnd => {
                let (rest, taken) = line(raw)?;
                assert_eq!(rest, "", "a chunk is longer than it said");
                self.state = State::ChunkSize;
                Some(taken)
            }
            State::Trailers => {
                let (field, taken) = line(raw)?;
                if field.is_empty() {
                    self.state = State::Done;
                } else {
                    self.trailers.extend(fields(std::iter::once(field)));
                }
                Some(taken)
            }
        }
    }
}

/// The first line, and its length with CR LF.
fn line(raw: &[u8]) -> Option<(&str, usize)> {
    let end = raw.windows(2).position(|pair| pair == b"\r\n")?;
    Some((std::str::from_utf8(&raw[..end]).expect("a line of text"), end + 2))
}
