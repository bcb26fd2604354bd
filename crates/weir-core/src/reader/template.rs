//! The short cut for the event that repeats: if two events differ in nothing but the string that is
//! output, and in strings and ordinals that mean nothing, then whatever was found in the first holds
//! of the second, but for the output.
//!
//! No heuristics: the bytes around these are equal, but for blanks before the last brace, and what
//! stands in the place of each is again one whole string, or one whole number. So this cannot be
//! wrong, only miss.

use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use crate::dialect::chunk::{ASIDES, Chunk};
use crate::json::string_end;

/// Longer events are not kept for comparison.
const LIMIT: usize = 4 * 1024;

/// The output, and the values beside it that mean nothing.
const HOLES: usize = 1 + ASIDES;

/// The last plain event, with the values cut out that may differ.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// The bytes around the holes, one piece behind the other.
    bytes: Vec<u8>,
    holes: [Hole; HOLES],
    count: usize,
    learned: bool,
    /// What the output is, if it is not empty.
    answer: bool,
    asides: Asides,
}

/// A place where a value was cut out.
#[derive(Clone, Copy, Debug, Default)]
struct Hole {
    /// How long the piece before it is; the last piece is what remains.
    before: usize,
    holds: Holds,
}

/// What stands in a hole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Holds {
    /// The string that is output.
    #[default]
    Output,
    /// Any other string.
    Text,
    /// A whole number.
    Number,
}

/// What is known of the values that mean nothing: only one that has changed needs a hole.
#[derive(Debug, Default)]
struct Asides {
    hashes: [Option<u64>; ASIDES],
    changing: [bool; ASIDES],
}

impl Asides {
    fn look(&mut self, data: &[u8], chunk: &Chunk<'_>) {
        for (index, range) in chunk.asides.iter().enumerate() {
            let Some(range) = range else { continue };
            let mut hasher = DefaultHasher::new();
            hasher.write(&data[range.clone()]);
            let before = self.hashes[index].replace(hasher.finish());
            self.changing[index] |= before.is_some() && before != self.hashes[index];
        }
    }
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
        self.asides.look(data, chunk);
        let mut holes: [Option<Range<usize>>; HOLES] = Default::default();
        holes[0] = Some(text.clone());
        for (index, aside) in
            chunk.asides.iter().enumerate().filter(|(index, _)| self.asides.changing[*index])
        {
            holes[index + 1].clone_from(aside);
        }
        // Absent ones sort to the end.
        holes.sort_unstable_by_key(|hole| hole.as_ref().map_or(usize::MAX, |hole| hole.start));
        self.bytes.clear();
        self.count = 0;
        let mut at = 0;
        for hole in holes.into_iter().flatten() {
            self.bytes.extend_from_slice(&data[at..hole.start]);
            let holds = if hole.start == text.start {
                Holds::Output
            } else if self.bytes.ends_with(b"\"") {
                Holds::Text
            } else {
                Holds::Number
            };
            self.holes[self.count] = Hole { before: hole.start - at, holds };
            self.count += 1;
            at = hole.end;
        }
        self.bytes.extend_from_slice(&data[at..]);
        self.answer = chunk.output.answer;
        self.learned = true;
    }

    /// Whether the output of an event of the same form is not empty; `None` if it has another form.
    #[inline]
    pub(super) fn matches(&self, data: &[u8]) -> Option<bool> {
        if !self.learned {
            return None;
        }
        let (mut known, mut data) = (&self.bytes[..], data);
        let mut has_output = false;
        for hole in &self.holes[..self.count] {
            let (piece, rest) = known.split_at(hole.before);
            known = rest;
            data = data.strip_prefix(piece)?;
            let length = if hole.holds == Holds::Number { number_end(data)? } else { string_end(data, 0)? };
            has_output |= hole.holds == Holds::Output && length > 0;
            data = &data[length..];
        }
        (data == known || same_but_for_padding(data, known)).then_some(has_output)
    }

    pub(super) fn answer(&self) -> bool {
        self.answer
    }
}

/// Whether nothing in the event could count a second time, or differently.
fn is_plain(chunk: &Chunk<'_>) -> bool {
    !chunk.output.compound
        && chunk.choices.all <= 1
        && chunk.choices.ended == 0
        && chunk.tokens.ids.is_none()
        && chunk.tokens.logprobs.is_none()
        && chunk.usage.is_none()
        && chunk.timings.is_none()
        && chunk.error.is_none()
        && !chunk.terminal
}

/// Whether two ends of events differ in nothing but the blanks before the brace that closes them.
/// Anthropic pads its events with a random number of these.
#[inline]
fn same_but_for_padding(one: &[u8], other: &[u8]) -> bool {
    matches!((unpadded(one), unpadded(other)), (Some(one), Some(other)) if one == other)
}

fn unpadded(end: &[u8]) -> Option<&[u8]> {
    let mut inside = end.strip_suffix(b"}")?;
    while let Some(rest) = inside.strip_suffix(b" ") {
        inside = rest;
    }
    Some(inside)
}

/// Where the number ends that the bytes begin with: digits, without one that would be idle.
fn number_end(bytes: &[u8]) -> Option<usize> {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length == 1 || (length > 1 && bytes[0] != b'0')).then_some(length)
}
