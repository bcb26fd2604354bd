//! Traces of Mooncake's form.

use std::fs::File;
use std::io::BufReader;

use serde::Deserialize;

use super::error::DataError;
use super::lines::Lines;
use super::trace::{self, Entries, Entry};
use super::words::MAX_WORDS;

const ALLOWED: &str = "{\"timestamp\": milliseconds from 0, \"input_length\": 1 to 4194304, \"output_length\": at least 1, \
                       \"hash_ids\": [numbers from 0]}";
const SECONDS_PER_MILLISECOND: f64 = 0.001;

/// The lines of a trace.
pub(super) struct MooncakeLines {
    lines: Lines<BufReader<File>>,
}

#[derive(Deserialize)]
struct Line {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

impl MooncakeLines {
    pub(super) fn new(lines: Lines<BufReader<File>>) -> Self {
        Self { lines }
    }
}

impl Entries for MooncakeLines {
    fn advance(&mut self) -> Result<Option<Entry>, DataError> {
        let Some(line) = self.lines.json::<Line>(ALLOWED)? else { return Ok(None) };
        let at = trace::time(line.timestamp, SECONDS_PER_MILLISECOND);
        let fits = (1..=MAX_WORDS).contains(&line.input_length) && line.output_length >= 1;
        match at {
            Some(at) if fits => Ok(Some(Entry {
                at,
                input: line.input_length,
                output: line.output_length,
                blocks: line.hash_ids,
            })),
            _ => Err(self.wrong(format!("a time or a length out of range; allowed: {ALLOWED}"))),
        }
    }

    fn wrong(&self, says: String) -> DataError {
        self.lines.wrong(None, says)
    }
}
