//! What is known of a response once its body was read.

use super::choices::Choices;
use crate::error_class::ErrorText;
use crate::json::text_cut;
use crate::outcome::ErrorType;
use crate::usage::{Provenance, Usage};

/// Finish reasons, codes and types are cut to this many bytes: they become labels.
pub(super) const LABEL_LIMIT: usize = 64;

/// What one response body said.
#[derive(Debug, Default)]
pub struct Facts {
    /// The model that answered: the first name that is not empty.
    pub model: Option<Box<str>>,
    /// The id that the answer gives itself: the first that is not empty.
    pub id: Option<Box<str>>,
    /// The choices, and how each ended.
    pub choices: Choices,
    /// As many choices came as were asked for, and each has a finish reason; in a dialect that
    /// need not give one, the terminal event came.
    pub all_finished: bool,
    /// The first error inside an answer of status 200; or what an error status says, once the body
    /// is over.
    pub error: Option<StreamError>,
    /// Token counts, by source.
    pub tokens: TokenFacts,
    /// How many of what.
    pub counts: Counts,
    /// The terminal event came, or the JSON document was closed.
    pub terminal: bool,
    /// The last event was not followed by a blank line, or the last line not ended.
    pub unterminated: bool,
}

/// Counters of one response body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events with data, or lines; the terminal one and broken ones included.
    pub events: u64,
    /// Events that carried output.
    pub chunks: u64,
    /// Events that were not the JSON they should be.
    pub parse_errors: u64,
    /// Events too long to be held, and therefore not read.
    pub oversized: u64,
    /// Comment lines.
    pub comments: u64,
}

/// An error that an answer tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError {
    /// Its class: [`ErrorType::StreamError`] inside an answer of status 200.
    pub error_type: ErrorType,
    /// The provider's code, cut to a bounded length.
    pub code: Option<Box<str>>,
    /// The provider's type, cut to a bounded length.
    pub kind: Option<Box<str>>,
}

/// Token counts of one response body, by source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// The last complete usage object.
    pub reported: Option<Usage>,
    /// The engine's own timings.
    pub timings: Option<Usage>,
    /// Tokens that came listed one by one, as ids or with log probabilities.
    pub listed: u64,
    /// Which of the two.
    pub listed_as: Option<Provenance>,
    /// Chunks whose token count is not known.
    pub uncounted_chunks: u64,
    pub(super) parts: Parts,
}

/// The counts of choices that each reported their own when they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    sum: Usage,
    count: usize,
    /// From usage objects, and not from timings.
    reported: bool,
    /// A usage object came that speaks for all choices.
    pub(super) overruled: bool,
}

impl Parts {
    pub(super) fn add(&mut self, part: Usage, reported: bool) {
        self.sum = self.sum.plus(part);
        self.count += 1;
        self.reported |= reported;
    }
}

impl Facts {
    /// Whether a choice ended for this reason.
    pub fn finished_for(&self, reason: &str) -> bool {
        self.choices.finish_reasons().any(|known| known == reason)
    }

    /// The best token counts there are, and where they come from.
    pub fn usage(&self) -> Option<(Usage, Provenance)> {
        let tokens = &self.tokens;
        let counted = |output| Usage { output: Some(output), ..Usage::default() };
        if let Some(usage) = self.parts_together() {
            return Some(usage);
        }
        let complete = |usage: &Usage| usage.is_complete();
        if let Some(usage) = tokens.reported.filter(complete) {
            return Some((usage, Provenance::Reported));
        }
        if let Some(usage) = tokens.timings.filter(complete) {
            return Some((usage, Provenance::EngineTimings));
        }
        // Some servers tell the output alone: it is told all the same.
        if let Some(usage) = tokens.reported.filter(|usage| usage.output.is_some()) {
            return Some((usage, Provenance::Reported));
        }
        match tokens.listed_as {
            Some(source) if tokens.uncounted_chunks == 0 => Some((counted(tokens.listed), source)),
            _ if self.counts.chunks > 0 => Some((counted(self.counts.chunks), Provenance::CountedChunks)),
            _ => tokens.reported.map(|usage| (usage, Provenance::Reported)),
        }
    }

    /// The counts of several choices, where each came with its own.
    fn parts_together(&self) -> Option<(Usage, Provenance)> {
        let Parts { sum, count, reported, overruled } = self.tokens.parts;
        if overruled || count < 2 || count > self.choices.seen().len() {
            return None;
        }
        // Every choice of a prompt reports the whole prompt.
        let asked = self.choices.asked().max(1);
        let whole = u64::try_from(count).is_ok_and(|count| count % u64::from(asked) == 0);
        let prompts = |sum: Option<u64>| sum.filter(|_| whole).map(|sum| sum / u64::from(asked));
        let input = prompts(sum.input);
        let (cached_input, cache_write_input) = (prompts(sum.cached_input), prompts(sum.cache_write_input));
        let input_audio = prompts(sum.input_audio);
        let total = input.zip(sum.output).map(|(input, output)| input.saturating_add(output));
        let source = if reported { Provenance::Reported } else { Provenance::EngineTimings };
        Some((Usage { input, cached_input, cache_write_input, input_audio, total, ..sum }, source))
    }

    /// Keeps the first error: what follows is its consequence.
    pub(super) fn fail(&mut self, error_type: ErrorType, said: ErrorText<'_>) {
        if self.error.is_none() {
            let label = |raw: Option<&[u8]>| raw.map(|raw| text_cut(raw, LABEL_LIMIT));
            self.error = Some(StreamError { error_type, code: label(said.code), kind: label(said.kind) });
        }
    }
}
