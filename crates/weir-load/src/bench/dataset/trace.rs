//! Traces of production traffic: arrivals and lengths, without text.

use std::path::PathBuf;
use std::time::Duration;

use super::burstgpt::BurstGptRows;
use super::error::DataError;
use super::lines::Lines;
use super::mooncake::MooncakeLines;
use super::words::{self, Part};
use crate::bench::ask::Ask;
use crate::clock::FOREVER;

/// How many tokens a block of a Mooncake trace has.
const BLOCK: u32 = 512;

/// A trace, asked at its own times: the first entry that is kept at once. Prompts are made up at the length of the
/// entry, a word for a token. Entries have to be in the order of their times, and end with the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub format: TraceFormat,
    /// Seconds of the run for a second of the trace: 0.5 sends twice as fast.
    pub time_scale: f64,
    /// How much of the trace is passed over, counted from its first entry in the trace's own time. The run begins
    /// there.
    pub start: Duration,
}

/// The form of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Mooncake's JSON lines `{"timestamp": ms, "input_length": …, "output_length": …, "hash_ids": […]}`. Each hash
    /// stands for a block of 512 tokens, and the same hash for the same text. Tokens beyond the last block are the
    /// entry's own.
    Mooncake,
    /// BurstGPT's CSV: a head that names at least `Timestamp` (seconds), `Request tokens` and `Response tokens`.
    /// Rows without request or response tokens are requests that failed, and are left out.
    BurstGpt {
        /// Only rows with this `Model`; `vllm bench serve` keeps those of `GPT-4`. The model is not asked for.
        model: Option<String>,
    },
}

/// One entry of a trace.
pub(super) struct Entry {
    /// After the trace's own beginning of time.
    pub(super) at: Duration,
    pub(super) input: u32,
    pub(super) output: u32,
    pub(super) blocks: Vec<u64>,
}

/// What yields the entries of a trace, and knows where in the file it stands.
pub(super) trait Entries {
    fn advance(&mut self) -> Result<Option<Entry>, DataError>;
    fn wrong(&self, says: String) -> DataError;
}

impl Trace {
    pub(super) fn asks(
        &self,
        seed: u64,
        count: Option<u64>,
    ) -> Result<impl Iterator<Item = Result<Ask, DataError>> + Send + use<>, DataError> {
        let scale = checked_scale(self.time_scale)?;
        let lines = Lines::open(&self.path)?;
        let entries: Box<dyn Entries + Send> = match &self.format {
            TraceFormat::Mooncake => Box::new(MooncakeLines::new(lines)),
            TraceFormat::BurstGpt { model } => Box::new(BurstGptRows::new(lines, model.clone())?),
        };
        let mut replay = Replay { entries, start: self.start, origin: None, last: Duration::ZERO };
        Ok((0..count.unwrap_or(u64::MAX)).map_while(move |nth| {
            let next = replay.advance().transpose()?;
            Some(next.map(|(at, entry)| Ask {
                input_tokens: Some(entry.input),
                output_tokens: Some(entry.output),
                at: Some(scaled(at, scale)),
                ..Ask::new(prompt(seed, nth, &entry))
            }))
        }))
    }
}

/// A trace as it is asked.
struct Replay {
    entries: Box<dyn Entries + Send>,
    start: Duration,
    /// The time of the first entry.
    origin: Option<Duration>,
    last: Duration,
}

impl Replay {
    /// The next entry that is kept, and when it is due.
    fn advance(&mut self) -> Result<Option<(Duration, Entry)>, DataError> {
        while let Some(entry) = self.entries.advance()? {
            if entry.at < self.last {
                let says = "earlier than the entry before it; allowed: entries in the order of their times";
                return Err(self.entries.wrong(says.to_owned()));
            }
            self.last = entry.at;
            let since = entry.at - *self.origin.get_or_insert(entry.at);
            if let Some(due) = since.checked_sub(self.start) {
                return Ok(Some((due, entry)));
            }
        }
        Ok(None)
    }
}

/// The text of an entry: its blocks, and words of its own beyond them.
fn prompt(seed: u64, nth: u64, entry: &Entry) -> String {
    let mut text = String::new();
    let mut left = entry.input;
    for block in &entry.blocks {
        let words = left.min(BLOCK);
        words::write(&mut text, seed, Part::Block(*block), words);
        left -= words;
    }
    words::write(&mut text, seed, Part::Ask(nth), left);
    text
}

/// A scale of time.
pub(super) fn checked_scale(scale: f64) -> Result<f64, DataError> {
    if scale.is_finite() && scale > 0.0 {
        Ok(scale)
    } else {
        Err(DataError::Setting("time scale", "a number above 0"))
    }
}

/// A time of a trace as one of the run.
pub(super) fn scaled(at: Duration, scale: f64) -> Duration {
    Duration::try_from_secs_f64(at.as_secs_f64() * scale).unwrap_or(FOREVER).min(FOREVER)
}

/// A time as files hold it: seconds, or parts of them.
pub(super) fn time(value: f64, seconds_per_unit: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value * seconds_per_unit).ok()
}
