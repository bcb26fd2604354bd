//! The short cut for the event that repeats: if two events differ in nothing but a string, then
//! whatever was found in the first holds of the second, but for that string.
//!
//! No heuristics: the bytes around the string are equal, and what stands in its place is again one
//! whole string. So this cannot be wrong, only miss.

use std::ops::Range;

use crate::dialect::openai_chunk::Chunk;
use crate::json::string_end;

/// Longer events are not kept for comparison.
const LIMIT: usize = 4 * 1024;

/// The last plain event, with the strings cut out that may differ.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// Before the first hole, between the holes, after the last; the middle may be missing.
    bytes: Vec<u8>,
    prefix: usize,
    middle: Option<usize>,
    /// The first hole is the output and not the padding.
    output_first: bool,
    learned: bool,
    /// What the output is, if it is not empty.
    answer: bool,
}

impl Template {
    /// Keeps an event that did nothing but bring one string of output.
    pub(super) fn learn(&mut self, data: &[u8], chunk: &Chunk<'_>) {
        self.learned = false;
        let Some(text) = chunk.output.text.clone() else {
            return;
        };
        if !is_plain(chunk) || data.len() > LIMIT {
            return;
        }
        self.output_first = true;
        let (first, second) = match chunk.padding.clone() {
            None => (text, None),
            Some(padding) if padding.start > text.start => (text, Some(padding)),
            Some(padding) => {
                self.output_first = false;
                (padding, Some(text))
            }
        };
        self.bytes.clear();
        self.prefix = first.start;
        self.bytes.extend_from_slice(&data[..first.start]);
        let behind = second.as_ref().map_or(first.end, |hole: &Range<usize>| hole.end);
        self.middle = second.map(|hole| {
            self.bytes.extend_from_slice(&data[first.end..hole.start]);
            hole.start - first.end
        });
        self.bytes.extend_from_slice(&data[behind..]);
        self.answer = chunk.output.answer;
        self.learned = true;
    }

    /// Whether the output of an event of the same form is not empty; `None` if it has another form.
    #[inline]
    pub(super) fn matches(&self, data: &[u8]) -> Option<bool> {
        if !self.learned {
            return None;
        }
        let (prefix, rest) = self.bytes.split_at(self.prefix);
        let data = data.strip_prefix(prefix)?;
        let first = string_end(data, 0)?;
        let Some(middle) = self.middle else {
            return (&data[first..] == rest).then_some(first > 0);
        };
        let (middle, suffix) = rest.split_at(middle);
        let data = data[first..].strip_prefix(middle)?;
        let second = string_end(data, 0)?;
        let output = if self.output_first { first } else { second };
        (&data[second..] == suffix).then_some(output > 0)
    }

    pub(super) fn answer(&self) -> bool {
        self.answer
    }
}

/// Whether nothing in the event could count a second time, or differently.
fn is_plain(chunk: &Chunk<'_>) -> bool {
    !chunk.output.compound
        && chunk.choices.all == 1
        && chunk.choices.ended == 0
        && chunk.tokens.ids.is_none()
        && chunk.tokens.logprobs.is_none()
        && chunk.usage.is_none()
        && chunk.timings.is_none()
        && chunk.error.is_none()
}
