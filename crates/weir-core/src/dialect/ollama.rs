//! One line of an Ollama answer, of a chat or a generation.

use super::chunk::{Chunk, count, is_reason};
use crate::json::walk::Walker;
use crate::reader::Choices;
use crate::usage::{Usage, take};

/// Takes a token count of the last line, or of a whole answer; `false` if the key is none, and the
/// walker still stands before its value. A prompt that was in the cache has no count.
pub(crate) fn take_count(usage: &mut Usage, walker: &mut Walker<'_>, key: &[u8]) -> bool {
    match key {
        b"prompt_eval_count" => take(walker, &mut usage.input),
        b"eval_count" => take(walker, &mut usage.output),
        _ => return false,
    }
    true
}

/// Reads a line, and enters its only choice. `None` if it is not a JSON object.
pub(super) fn read<'a>(data: &'a [u8], choices: &mut Choices) -> Option<Chunk<'a>> {
    let mut walker = Walker::new(data);
    let mut chunk = Chunk::default();
    let mut usage = Usage::default();
    let mut reason = None;
    let is_object = walker.object(|walker, key| match key {
        b"model" => chunk.take_model(walker),
        b"message" => {
            walker.object(|walker, key| match key {
                b"content" => chunk.output.take(walker, true),
                b"thinking" => chunk.output.take(walker, false),
                b"tool_calls" => chunk.output.take_compound(walker, true),
                _ => walker.skip(),
            });
        }
        b"response" => chunk.output.take(walker, true),
        b"thinking" => chunk.output.take(walker, false),
        b"logprobs" => chunk.tokens.logprobs = count(walker),
        b"done" => chunk.terminal = walker.boolean() == Some(true),
        b"done_reason" => reason = walker.string().filter(|text| is_reason(text)),
        b"error" => chunk.take_error(walker),
        b"created_at" => chunk.take_aside(0, walker),
        _ => {
            if !take_count(&mut usage, walker, key) {
                walker.skip();
            }
        }
    });
    chunk.usage = (usage != Usage::default()).then_some(usage);
    chunk.enter_only(choices, reason);
    (is_object && walker.finished()).then_some(chunk)
}
