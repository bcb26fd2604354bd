//! How an API writes an answer: what each one has to say for itself.

use std::fmt;

use bytes::Bytes;

use crate::engine::ask::Ask;
use crate::engine::events::Event;
use crate::engine::generation::Generation;

/// A fixed moment of creation, in seconds since 1970, so that the same draw gives the same bytes at
/// any time.
pub(crate) const CREATED: u64 = 1_760_000_000;

/// What names the build of the engine.
pub(crate) const FINGERPRINT: &str = "fp_sim";

/// The content type of a stream of server-sent events.
const EVENTS: &str = "text/event-stream; charset=utf-8";

/// A request, read: what it asks for, and how the answer is written.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) ask: Ask,
    pub(crate) script: Box<dyn Script>,
}

/// How one answer is written.
pub(crate) trait Script: fmt::Debug + Send {
    /// The content type of a streamed answer.
    fn media(&self) -> &'static str {
        EVENTS
    }

    /// The content type of an answer in one piece.
    fn whole_media(&self) -> &'static str {
        "application/json"
    }

    /// How many events a stream has.
    fn counts(&self, generation: &Generation) -> Counts;

    /// What comes before the first token.
    fn opening(&mut self, generation: &Generation) -> Vec<Event>;

    /// The events of the chunks number `step` of all choices.
    fn step(&mut self, generation: &Generation, step: u32) -> Vec<Bytes>;

    /// What comes with the last token, after it.
    fn closing(&mut self, generation: &Generation) -> Vec<Bytes>;

    /// The events of a failure that takes the place of event number `at`.
    fn failure(&self, generation: &Generation, at: u64) -> Vec<Bytes>;

    /// An answer in one piece.
    fn whole(&mut self, generation: &Generation) -> Bytes;
}

/// How many events there are in each part of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) opening: u64,
    /// Those of all chunks together.
    pub(crate) steps: u64,
    pub(crate) closing: u64,
    /// Those of a failure.
    pub(crate) failure: u64,
}

impl Counts {
    /// The events of a stream that does not fail.
    pub(crate) fn total(self) -> u64 {
        self.opening + self.steps + self.closing
    }
}

/// A server-sent event without a name.
pub(crate) fn data(json: &str) -> Bytes {
    Bytes::from(format!("data: {json}\n\n"))
}

/// A server-sent event with its name.
pub(crate) fn named(name: &str, json: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {json}\n\n"))
}
