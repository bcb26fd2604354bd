//! Keeps what is answered while it is read.

use super::events::take;
use super::room::Room;
use super::said::{Growing, Output};
use super::{CaptureLimit, tree};
use crate::reader::Choices;
use crate::sse::Event;

/// The keys, outermost, under which events and documents have what was answered, in whatever dialect.
const KEYS: &[&str] = &[
    "choices",
    "content",
    "content_block",
    "content_index",
    "delta",
    "generated_text",
    "index",
    "item",
    "message",
    "output",
    "output_index",
    "response",
    "summary_index",
    "text",
    "thinking",
    "token",
    "type",
];

/// An event has other things in it than output.
const BESIDES: usize = 4 * 1024;

/// What is kept of one answer.
#[derive(Debug)]
pub(crate) struct Capture {
    limit: usize,
    said: Growing,
    /// The beginning of an answer that is one document.
    document: Vec<u8>,
}

impl Capture {
    pub(crate) fn new(limit: CaptureLimit) -> Self {
        Self { limit: limit.0, said: Growing::new(Room::new(limit.0)), document: Vec::new() }
    }

    /// Whether nothing more is kept, whatever comes.
    pub(crate) fn is_full(&self) -> bool {
        self.said.room.cut
    }

    /// Takes what an event of a stream brought.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        if self.is_full() {
            return;
        }
        let mut room = Room::new(self.limit + BESIDES);
        let (value, _) = tree::of_slice(event.data, KEYS, &mut room);
        let name = std::str::from_utf8(event.name).unwrap_or_default();
        let taken = take(&mut self.said, name, &value);
        self.said.room.cut |= taken && room.cut;
    }

    /// Takes a piece of an answer that is one document.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let room = self.document_limit() - self.document.len();
        self.document.extend_from_slice(&bytes[..bytes.len().min(room)]);
        // Not even all of it was seen. Whether what is missing is output, nobody knows.
        self.said.room.cut |= bytes.len() > room;
    }

    /// What it came to.
    pub(crate) fn finish(mut self, ended: &Choices) -> Output {
        let cut = std::mem::take(&mut self.said.room.cut);
        if !self.document.is_empty() {
            let mut room = Room::new(self.document_limit());
            let (value, _) = tree::of_slice(&self.document, KEYS, &mut room);
            take(&mut self.said, "", &value);
            self.said.room.cut |= room.cut;
        }
        self.said.room.cut |= cut;
        self.said.finish(ended)
    }

    /// How much of a document is held: as JSON writes it, a text may be longer than it is.
    fn document_limit(&self) -> usize {
        2 * self.limit + BESIDES
    }
}
