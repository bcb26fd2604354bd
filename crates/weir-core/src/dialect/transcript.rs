//! One event of an OpenAI transcription stream.

use super::chunk::{Chunk, count};
use crate::json::walk::Walker;
use crate::sse::Event;
use crate::usage::Usage;

/// What was seen of a stream so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transcript {
    /// Text came in deltas: a segment then says it again.
    deltas: bool,
}

impl Transcript {
    /// Reads an event's data. `None` if it is not a JSON object. There are no choices and no finish
    /// reasons here.
    pub(super) fn read<'a>(&mut self, event: Event<'a>) -> Option<Chunk<'a>> {
        let mut walker = Walker::new(event.data);
        let mut chunk = Chunk::default();
        let mut kind: Option<&[u8]> = None;
        let is_object = walker.object(|walker, key| match key {
            b"type" => kind = walker.string(),
            b"delta" | b"text" => chunk.output.take(walker, true),
            b"logprobs" => chunk.tokens.logprobs = count(walker),
            b"usage" => chunk.usage = Usage::walk(walker),
            b"error" => chunk.take_error(walker),
            b"segment_id" => chunk.take_aside(0, walker),
            _ => walker.skip(),
        });
        chunk.output.compound |= kind.is_none();
        let is_output = match kind.unwrap_or(event.name) {
            b"transcript.text.delta" => {
                self.deltas = true;
                true
            }
            b"transcript.text.segment" => {
                chunk.output.compound = true;
                !self.deltas
            }
            b"transcript.text.done" => {
                chunk.terminal = true;
                false
            }
            b"error" => {
                chunk.error.get_or_insert_default();
                false
            }
            _ => false,
        };
        if !is_output {
            chunk.output = Default::default();
            chunk.tokens = Default::default();
        }
        (is_object && walker.finished()).then_some(chunk)
    }
}
