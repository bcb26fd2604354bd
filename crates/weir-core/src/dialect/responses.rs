//! One event of a Responses stream. Its type stands in the data; the event's name says it again.

use super::chunk::{Chunk, count, is_reason};
use crate::error_class::ErrorText;
use crate::json::walk::Walker;
use crate::reader::Choices;
use crate::sse::Event;
use crate::usage::Usage;

/// The events that end a stream, besides an error.
const TERMINAL: [&[u8]; 4] =
    [b"response.completed", b"response.incomplete", b"response.failed", b"response.cancelled"];

/// What a tool that the server runs has printed: no model has generated it.
const TOOL_OUTPUT: &[u8] = b"response.shell_call_output_content.delta";

const PARTIAL_IMAGE: &[u8] = b"response.image_generation_call.partial_image";

/// What stands under `response`: the whole answer so far.
#[derive(Debug, Default)]
pub(crate) struct Response<'a> {
    pub(crate) usage: Option<Usage>,
    status: &'a [u8],
    incomplete: Option<&'a [u8]>,
}

impl<'a> Response<'a> {
    /// Takes one field, unless it is one that is read with every dialect.
    pub(crate) fn field(&mut self, walker: &mut Walker<'a>, key: &[u8]) {
        match key {
            b"usage" => self.usage = Usage::walk(walker),
            b"status" => self.status = walker.string().unwrap_or_default(),
            b"incomplete_details" => {
                walker.object(|walker, key| match key {
                    b"reason" => self.incomplete = walker.string().filter(|text| is_reason(text)),
                    _ => walker.skip(),
                });
            }
            _ => walker.skip(),
        }
    }

    /// Why it is over, in the vendor's words; `None` while it is not. Whether it is incomplete
    /// tells its status, whatever the event is called.
    pub(crate) fn reason(&self) -> Option<&'a [u8]> {
        match self.status {
            b"incomplete" => Some(self.incomplete.unwrap_or(self.status)),
            b"completed" | b"failed" | b"cancelled" => Some(self.status),
            _ => None,
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.status == b"failed"
    }
}

/// Reads an event's data, and enters its only choice. `None` if it is not a JSON object.
pub(super) fn read<'a>(event: Event<'a>, choices: &mut Choices) -> Option<Chunk<'a>> {
    let mut walker = Walker::new(event.data);
    let mut chunk = Chunk::default();
    let mut response = Response::default();
    let mut flat = ErrorText::default();
    let mut kind: Option<&[u8]> = None;
    let is_object = walker.object(|walker, key| match key {
        b"type" => kind = walker.string(),
        // Whether it is reasoning is known when the type is, which may stand behind it.
        b"delta" | b"partial_image_b64" => chunk.output.take(walker, true),
        b"logprobs" => chunk.tokens.logprobs = count(walker),
        b"response" => {
            walker.object(|walker, key| match key {
                b"model" => chunk.take_model(walker),
                b"id" => chunk.take_id(walker),
                b"error" => chunk.take_error(walker),
                _ => response.field(walker, key),
            });
        }
        b"timings" => chunk.timings = Usage::walk_timings(walker),
        b"error" => chunk.take_error(walker),
        b"obfuscation" => chunk.take_aside(0, walker),
        b"sequence_number" => chunk.take_aside(1, walker),
        b"item_id" => chunk.take_aside(2, walker),
        _ => flat.field(walker, key),
    });
    // The next event of the same form may have another name.
    chunk.output.compound |= kind.is_none();
    let kind = kind.unwrap_or(event.name);
    settle_output(&mut chunk, kind);
    settle_end(&mut chunk, kind, &response, flat);
    chunk.enter_only(choices, response.reason().filter(|_| chunk.terminal));
    (is_object && walker.finished()).then_some(chunk)
}

/// What was taken for output is output only in some events, and reasoning in some of these.
fn settle_output(chunk: &mut Chunk<'_>, kind: &[u8]) {
    let is_delta = kind.ends_with(b".delta") && kind != TOOL_OUTPUT;
    if !is_delta && kind != PARTIAL_IMAGE {
        chunk.output = Default::default();
        chunk.tokens = Default::default();
    } else if chunk.output.any() && memchr::memmem::find(kind, b".reasoning").is_some() {
        (chunk.output.answer, chunk.output.reasoning) = (false, true);
    }
}

fn settle_end<'a>(chunk: &mut Chunk<'a>, kind: &[u8], response: &Response<'_>, flat: ErrorText<'a>) {
    let is_error = kind == b"error";
    chunk.terminal = is_error || TERMINAL.contains(&kind);
    if chunk.terminal {
        chunk.usage = response.usage;
    }
    if is_error {
        chunk.error = Some(chunk.error.unwrap_or_default().or(flat));
    } else if response.has_failed() || kind == b"response.failed" {
        chunk.error.get_or_insert_default();
    }
}
