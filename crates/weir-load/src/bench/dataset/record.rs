//! Traffic that was recorded, asked again.

use std::time::Duration;

use super::error::DataError;
use super::trace::scaled;
use super::words::{self, Part};
use crate::bench::ask::{Ask, Leave};

/// How long a prompt is where no entry knows.
const UNKNOWN_LEN: u32 = 128;

/// What is known of a request that was recorded. No text is needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// When it came, after any moment that all entries share.
    pub at: Duration,
    /// The length of its prompt, in tokens.
    pub input_tokens: Option<u32>,
    /// The length of its answer, in tokens.
    pub output_tokens: Option<u32>,
    /// Whether it asked for a stream.
    pub stream: bool,
    /// The model that it named.
    pub model: Option<String>,
    /// How long after its arrival its client left.
    pub left_after: Option<Duration>,
    /// After how many events that carry output its client left. It is kept to rather than the time, for another
    /// engine takes another time to get there.
    pub left_after_output: Option<u32>,
}

/// Recorded requests, asked in the order of their arrival, the first one at once. Prompts are random words of the
/// recorded length, about a token each, and no two begin alike. Where a length was not recorded the prompt is as long
/// as the median of those that were, or 128 words, and the ask names no length.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The requests, in any order.
    pub entries: Vec<Recorded>,
    /// Seconds of the run for a second of the record: 0.5 sends twice as fast. A client's patience is not scaled.
    pub time_scale: f64,
}

impl Record {
    pub(super) fn asks(
        &self,
        seed: u64,
        count: Option<u64>,
    ) -> Result<impl Iterator<Item = Ask> + use<>, DataError> {
        let scale = super::trace::checked_scale(self.time_scale)?;
        let mut entries = self.entries.clone();
        entries.sort_by_key(|entry| entry.at);
        let mut known: Vec<u32> = entries.iter().filter_map(|entry| entry.input_tokens).collect();
        known.sort_unstable();
        if let Some(longest) = known.last() {
            words::checked("length of a recorded prompt", *longest, 0)?;
        }
        let unknown = known.get(known.len() / 2).copied().unwrap_or(UNKNOWN_LEN);
        let first = entries.first().map(|entry| entry.at).unwrap_or_default();
        Ok((0..count.unwrap_or(u64::MAX)).zip(entries).map(move |(nth, entry)| {
            // A prompt of no words cannot be sent.
            let length = entry.input_tokens.unwrap_or(unknown).max(1);
            Ask {
                model: entry.model,
                input_tokens: entry.input_tokens,
                output_tokens: entry.output_tokens,
                at: Some(scaled(entry.at - first, scale)),
                leave: match (entry.left_after_output, entry.left_after) {
                    (Some(events), _) => Some(Leave::AfterOutput(events)),
                    (None, after) => after.map(Leave::After),
                },
                stream: entry.stream,
                ..Ask::new(words::text(seed, Part::Ask(nth), length))
            }
        }))
    }
}
