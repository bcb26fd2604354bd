//! The short cut for the event that repeats: if two events differ in nothing but the string that is
//! output, and in strings that mean nothing, then whatever was found in the first holds of the
//! second, but for the output.
//!
//! No heuristics: the bytes around the strings are equal, and what stands in the place of each is
//! again one whole string. So this cannot be wrong, only miss.

use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use crate::dialect::openai_chunk::{ASIDES, Chunk};
use crate::json::string_end;

/// Longer events are not kept for comparison.
const LIMIT: usize = 4 * 1024;

/// The output, and the strings beside it that mean nothing.
const HOLES: usize = 1 + ASIDES.len();

/// The last plain event, with the strings cut out that may differ.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// The bytes around the holes, one piece behind the other.
    bytes: Vec<u8>,
    /// How long the piece before each hole is; the last piece is what remains.
    pieces: [usize; HOLES],
    holes: usize,
    /// Which hole is the output.
    output: usize,
    learned: bool,
    /// What the output is, if it is not empty.
    answer: bool,
    asides: Asides,
}

/// What is known of the strings that mean nothing: only one that has changed needs a hole.
#[derive(Debug, Default)]
struct Asides {
    hashes: [Option<u64>; ASIDES.len()],
    changing: [bool; ASIDES.len()],
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
        self.holes = 0;
        let mut at = 0;
        for hole in holes.into_iter().flatten() {
            if hole.start == text.start {
                self.output = self.holes;
            }
            self.bytes.extend_from_slice(&data[at..hole.start]);
            self.pieces[self.holes] = hole.start - at;
            self.holes += 1;
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
        for (hole, piece) in self.pieces[..self.holes].iter().enumerate() {
            let (piece, rest) = known.split_at(*piece);
            known = rest;
            data = data.strip_prefix(piece)?;
            let length = string_end(data, 0)?;
            has_output |= hole == self.output && length > 0;
            data = &data[length..];
        }
        (data == known).then_some(has_output)
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
