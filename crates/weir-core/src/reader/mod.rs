//! Reads one response body as it passes, and says what came in it.

mod answer;
mod choices;
mod facts;
mod stream;
mod template;
#[cfg(test)]
mod tests;

pub use choices::{Choice, Choices};
pub use facts::{Counts, Facts, StreamError, TokenFacts};

use std::num::NonZeroU32;

use crate::dialect::{Dialect, RequestPeek};
use crate::error_class::{ErrorText, classify};
use crate::sse::Scanner;

use answer::Answer;
use stream::Stream;

/// What of the response head decides how its body is read.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// The status code.
    pub status: u16,
    /// The value of `content-type`.
    pub content_type: Option<&'a [u8]>,
    /// The value of `content-encoding`.
    pub content_encoding: Option<&'a [u8]>,
}

/// What one event turned out to be. An event that carries output and an error as well is told as
/// two, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A JSON event without output: role, filter, usage, prompt progress, end of a choice.
    Event,
    /// An event that carries output.
    Output {
        /// Tokens in it (with those of events before it that showed nothing), where known.
        tokens: Option<NonZeroU32>,
        /// Whether anything but reasoning came.
        answer: bool,
    },
    /// The terminal event.
    Terminal,
    /// An error inside an answer of status 200.
    Error,
    /// An event that is not the JSON it should be.
    Broken,
}

/// Reads one response body. Which way is decided by the response, not by what was asked for.
#[derive(Debug)]
pub struct Reader {
    facts: Facts,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    /// Server-sent events.
    Events { scanner: Scanner, stream: Box<Stream> },
    /// One JSON document.
    Document(Box<Answer>),
    /// An error body, of which the beginning is kept.
    Error { status: u16, prefix: Vec<u8> },
    /// Bytes that say nothing to us: packed, or of an unknown kind.
    Opaque,
}

/// How much of an error body is kept to tell its class.
const ERROR_PREFIX: usize = 8 * 1024;

impl Reader {
    /// A reader for the body that follows `head`, in answer to a request of this dialect.
    pub fn new(dialect: Dialect, request: &RequestPeek, head: &ResponseHead<'_>) -> Self {
        let mode = Mode::of(dialect, request, head);
        let facts = Facts { choices: Choices::expecting(request.choices), ..Facts::default() };
        Self { facts, mode }
    }

    /// Reads on. `on` is called once for each event that these bytes complete.
    pub fn feed(&mut self, chunk: &[u8], on: &mut impl FnMut(Seen)) {
        let facts = &mut self.facts;
        match &mut self.mode {
            Mode::Events { scanner, stream } => {
                scanner.feed(chunk, &mut |event| stream.event(event, facts, on));
            }
            Mode::Document(answer) => answer.feed(chunk),
            Mode::Error { prefix, .. } => {
                let room = ERROR_PREFIX - prefix.len();
                prefix.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Mode::Opaque => {}
        }
    }

    /// The body is over, in whatever way: reads what was left unterminated, and settles the facts.
    pub fn finish(&mut self, on: &mut impl FnMut(Seen)) {
        let facts = &mut self.facts;
        match &mut self.mode {
            Mode::Events { scanner, stream } => {
                scanner.finish(&mut |event| stream.event(event, facts, on));
                facts.counts.comments = scanner.comments();
                facts.counts.oversized = scanner.oversized();
            }
            Mode::Document(answer) => answer.settle(facts, on),
            Mode::Error { status, prefix } => {
                facts.fail(classify(*status, prefix), ErrorText::of_body(prefix));
            }
            Mode::Opaque => {}
        }
    }

    /// What is known so far. Comments, oversized events, and all facts of a document or an error
    /// status, only after [`Reader::finish`].
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether this is an event stream of a dialect that is understood, so that its tokens and its
    /// end can be told.
    pub fn is_stream(&self) -> bool {
        matches!(&self.mode, Mode::Events { stream, .. } if stream.is_known())
    }
}

impl Mode {
    fn of(dialect: Dialect, request: &RequestPeek, head: &ResponseHead<'_>) -> Self {
        let packed = head.content_encoding.is_some_and(is_packed);
        if head.status >= 400 {
            // A packed error body is still an error: only its prefix says nothing.
            return Self::Error { status: head.status, prefix: Vec::new() };
        }
        if packed || !(200..300).contains(&head.status) {
            return Self::Opaque;
        }
        match media_type(head.content_type.unwrap_or_default()) {
            media if media.eq_ignore_ascii_case(b"text/event-stream") => Self::Events {
                scanner: Scanner::new(crate::sse::DEFAULT_LIMIT),
                stream: Box::new(Stream::new(dialect, request)),
            },
            media if dialect != Dialect::Other && is_json(media) => Self::Document(Box::new(Answer::new())),
            _ => Self::Opaque,
        }
    }
}

fn is_packed(encoding: &[u8]) -> bool {
    let encoding = encoding.trim_ascii();
    !encoding.is_empty() && !encoding.eq_ignore_ascii_case(b"identity")
}

fn media_type(content_type: &[u8]) -> &[u8] {
    content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii()
}

/// Some servers leave the type out; a document that is not JSON is then read to no effect.
fn is_json(media: &[u8]) -> bool {
    let suffix = media.len().checked_sub(5).map(|at| &media[at..]);
    media.is_empty()
        || media.eq_ignore_ascii_case(b"application/json")
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"))
}
