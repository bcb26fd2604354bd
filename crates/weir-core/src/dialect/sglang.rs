//! One event of the stream that SGLang's own API gives: the text so far, and how many tokens it has.

use super::chunk::{Chunk, is_reason};
use crate::json::walk::{Kind, Walker};
use crate::reader::{Choices, MAX_CHOICES};
use crate::usage::{Usage, take};

/// How many tokens each answer of a stream has so far.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    totals: Vec<u64>,
}

/// What stands under `meta_info`.
#[derive(Debug, Default)]
struct Meta<'a> {
    usage: Usage,
    reason: Option<&'a [u8]>,
}

impl Growth {
    /// Reads an event's data, and enters the choice that it is of. `None` if it is not a JSON object.
    pub(super) fn read<'a>(&mut self, data: &'a [u8], choices: &mut Choices) -> Option<Chunk<'a>> {
        let mut walker = Walker::new(data);
        let mut chunk = Chunk::default();
        let mut meta = Meta::default();
        let mut index = 0;
        let is_object = walker.object(|walker, key| match key {
            b"meta_info" => meta.walk(walker),
            b"index" => index = walker.unsigned().unwrap_or(0),
            b"error" => chunk.take_error(walker),
            _ => walker.skip(),
        });
        if let Some(grown) = meta.usage.output.and_then(|total| self.grow(index, total)) {
            if grown {
                // Whether it is text or half a character: tokens came.
                chunk.output.mark(true);
                chunk.output.compound = true;
            }
            chunk.usage = Some(self.usage(meta.usage));
            chunk.cumulative = true;
        }
        if chunk.output.any() || meta.reason.is_some() {
            chunk.choices.enter(choices, index, meta.reason);
        }
        (is_object && walker.finished()).then_some(chunk)
    }

    /// Whether an answer has more tokens than before. Those beyond a bound are not followed.
    fn grow(&mut self, index: u64, total: u64) -> Option<bool> {
        let index = usize::try_from(index).ok().filter(|index| *index < MAX_CHOICES)?;
        if self.totals.len() <= index {
            self.totals.resize(index + 1, 0);
        }
        let before = std::mem::replace(&mut self.totals[index], total);
        Some(total > before)
    }

    /// The counts of all answers. Whether several are answers to one prompt is not told, so that
    /// the input of one says nothing of them all.
    fn usage(&self, of_one: Usage) -> Usage {
        match self.totals[..] {
            [_] => of_one,
            _ => Usage {
                output: Some(self.totals.iter().fold(0, |sum, n| sum.saturating_add(*n))),
                ..Usage::default()
            },
        }
    }
}

impl<'a> Meta<'a> {
    fn walk(&mut self, walker: &mut Walker<'a>) {
        walker.object(|walker, key| match key {
            b"prompt_tokens" => take(walker, &mut self.usage.input),
            b"completion_tokens" => take(walker, &mut self.usage.output),
            b"cached_tokens" => take(walker, &mut self.usage.cached_input),
            b"reasoning_tokens" => take(walker, &mut self.usage.reasoning),
            b"finish_reason" => self.reason = finish_reason(walker),
            _ => walker.skip(),
        });
    }
}

/// The finish reason at the walker's place: an object that names its type, or a string.
pub(crate) fn finish_reason<'a>(walker: &mut Walker<'a>) -> Option<&'a [u8]> {
    let mut reason = None;
    if walker.peek() == Kind::Object {
        walker.object(|walker, key| match key {
            b"type" => reason = walker.string(),
            _ => walker.skip(),
        });
    } else {
        reason = walker.string();
    }
    reason.filter(|text| is_reason(text))
}
