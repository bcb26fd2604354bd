//! Reads one response body as it passes, and says what came in it.

mod answer;
mod choices;
mod facts;
mod lines;
mod mode;
mod packed;
mod stream;
mod template;
#[cfg(test)]
mod tests;
mod token_rule;

pub use choices::{Choice, Choices};
pub use facts::{Counts, Facts, StreamError, TokenFacts};
pub use token_rule::TokenRule;

pub(crate) use choices::MAX_CHOICES;

use std::num::NonZeroU32;

use crate::content::{CaptureLimit, Output};
use crate::dialect::{Dialect, RequestPeek};
use crate::exchange::Unpacked;

use mode::Mode;
use packed::Packed;

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

/// What one event turned out to be. An event that carries output, is an error and is the terminal one
/// as well is told as three, in this order; a terminal event of JSON is told as an event before.
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
    /// The terminal event: `[DONE]`, or whatever ends the streams of this dialect.
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
    /// Present where the body is packed.
    packed: Option<Box<Packed>>,
}

impl Reader {
    /// A reader for the body that follows `head`, in answer to a request of this dialect.
    pub fn new(dialect: Dialect, request: &RequestPeek, head: &ResponseHead<'_>) -> Self {
        let choices = match dialect.has_choices() {
            true => Choices::expecting(request.choices, request.expected_choices()),
            false => Choices::expecting(1, Some(1)),
        };
        let facts = Facts { choices, ..Facts::default() };
        let packed = head.content_encoding.and_then(Packed::of).map(Box::new);
        Self { facts, mode: Mode::of(dialect, request, head), packed }
    }

    /// The same, with output told by this rule.
    pub fn counting(mut self, rule: TokenRule) -> Self {
        self.mode.count_by(rule);
        self
    }

    /// The same, and what is said is kept within this limit.
    pub fn capturing(mut self, limit: CaptureLimit) -> Self {
        self.mode.capture(limit);
        self
    }

    /// What was said, where it was kept. To be asked for once, when the body is over.
    pub fn take_said(&mut self) -> Output {
        let unread =
            self.unpacked().is_some_and(|unpacked| !unpacked.is_whole()) || self.facts.counts.oversized > 0;
        let said = self.mode.captured().map(|capture| capture.finish(&self.facts.choices));
        let said = said.unwrap_or_default();
        Output { cut: said.cut || unread, ..said }
    }

    /// Reads on. `on` is called once for each event that these bytes complete.
    #[inline]
    pub fn feed(&mut self, chunk: &[u8], on: &mut impl FnMut(Seen)) {
        match &mut self.packed {
            None => self.mode.feed(chunk, &mut self.facts, on),
            Some(packed) => packed.feed(chunk, &mut self.mode, &mut self.facts, on),
        }
    }

    /// The body is over, in whatever way: reads what was left unterminated, and settles the facts.
    pub fn finish(&mut self, on: &mut impl FnMut(Seen)) {
        if let Some(packed) = &mut self.packed {
            packed.finish();
        }
        self.mode.finish(&mut self.facts, on);
    }

    /// What is known so far. Comments, oversized events, and all facts of a document or an error
    /// status, only after [`Reader::finish`].
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether this is a stream of a dialect that is understood, so that its tokens and its end can
    /// be told: by its path, or by what its first events said.
    pub fn is_stream(&self) -> bool {
        self.mode.is_stream() && self.packed.as_ref().is_none_or(|packed| packed.is_readable())
    }

    /// How a packed body could be read; absent for one that was not packed.
    pub fn unpacked(&self) -> Option<Unpacked> {
        self.packed.as_ref().map(|packed| packed.told())
    }
}
