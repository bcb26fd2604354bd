//! One event of an Anthropic Messages stream.

use super::chunk::{Chunk, is_reason};
use crate::json::walk::{Kind, Walker};
use crate::reader::Choices;
use crate::sse::Event;
use crate::usage::{Usage, take};

/// The token counts of a message. Each event that has a usage object has some of them, and the last
/// value of each holds: they are running totals. Cached prompt tokens are counted apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    fresh: Option<u64>,
    cache_write: Option<u64>,
    cache_write_5m: Option<u64>,
    cache_write_1h: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl Counts {
    /// Reads the usage object at the walker's place and moves past it. Returns whether there was one.
    pub(crate) fn walk(&mut self, walker: &mut Walker<'_>) -> bool {
        if walker.peek() != Kind::Object {
            walker.skip();
            return false;
        }
        walker.object(|walker, key| match key {
            b"input_tokens" => take(walker, &mut self.fresh),
            b"cache_creation_input_tokens" => take(walker, &mut self.cache_write),
            b"cache_creation" => {
                walker.object(|walker, key| match key {
                    b"ephemeral_5m_input_tokens" => take(walker, &mut self.cache_write_5m),
                    b"ephemeral_1h_input_tokens" => take(walker, &mut self.cache_write_1h),
                    _ => walker.skip(),
                });
            }
            b"cache_read_input_tokens" => take(walker, &mut self.cache_read),
            b"output_tokens" => take(walker, &mut self.output),
            b"output_tokens_details" => {
                walker.object(|walker, key| match key {
                    b"thinking_tokens" => take(walker, &mut self.thinking),
                    _ => walker.skip(),
                });
            }
            _ => walker.skip(),
        })
    }

    /// The counts as all dialects have them, with the whole prompt as the input.
    pub(crate) fn usage(&self) -> Option<Usage> {
        let cached = self.cache_write.unwrap_or(0).saturating_add(self.cache_read.unwrap_or(0));
        let usage = Usage {
            input: self.fresh.map(|fresh| fresh.saturating_add(cached)),
            output: self.output,
            cached_input: self.cache_read,
            cache_write_input: self.cache_write,
            cache_write_5m_input: self.cache_write_5m,
            cache_write_1h_input: self.cache_write_1h,
            reasoning: self.thinking,
            ..Usage::default()
        };
        (usage != Usage::default()).then_some(usage)
    }
}

/// Reads an event's data, and enters the only choice, whatever number of content blocks it has.
/// `None` if it is not a JSON object.
pub(super) fn read<'a>(event: Event<'a>, counts: &mut Counts, choices: &mut Choices) -> Option<Chunk<'a>> {
    let mut walker = Walker::new(event.data);
    let mut chunk = Chunk::default();
    let (mut kind, mut reason, mut counted) = (None, None, false);
    let is_object = walker.object(|walker, key| match key {
        b"type" => kind = walker.string(),
        b"delta" | b"content_block" => {
            walker.object(|walker, key| match key {
                b"text" | b"partial_json" => chunk.output.take(walker, true),
                b"thinking" => chunk.output.take(walker, false),
                b"stop_reason" => reason = walker.string().filter(|text| is_reason(text)),
                _ => walker.skip(),
            });
        }
        b"message" => {
            walker.object(|walker, key| match key {
                b"model" => chunk.take_model(walker),
                b"id" => chunk.take_id(walker),
                b"usage" => counted |= counts.walk(walker),
                _ => walker.skip(),
            });
        }
        b"usage" => counted |= counts.walk(walker),
        b"error" => chunk.take_error(walker),
        _ => walker.skip(),
    });
    let kind = kind.unwrap_or(event.name);
    if counted {
        chunk.usage = counts.usage();
    }
    chunk.terminal = kind == b"message_stop";
    if kind == b"error" {
        chunk.error.get_or_insert_default();
    }
    chunk.enter_only(choices, reason);
    (is_object && walker.finished()).then_some(chunk)
}
