//! The record file: every observation as a line of JSON, to be looked at and replayed later.
//!
//! The first line says in which form the lines that follow are. A process that starts on an
//! existing file adds another such line and goes on behind it.

mod form1;
mod reader;

pub use reader::{RecordError, Records, read_records};

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use weir_core::exchange::WallTime;
use weir_core::observation::Observation;

use crate::clock::{Clock, rfc3339};
use crate::config::Destination;
use crate::line_writer::LineWriter;
use crate::recorder::{Beside, Recorder};

/// The form of the lines. It changes when a reader of the old form would misread the new one.
pub const FORM: u32 = 2;

/// The line before the observations.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    weir_record: u32,
    #[serde(default)]
    version: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started: Option<String>,
}

/// The recorder.
#[derive(Debug)]
pub(crate) struct RecordFile {
    pub(crate) writer: LineWriter,
}

impl RecordFile {
    /// Opens the file for a process that started at `started`.
    pub(crate) fn open(path: &Path, started: WallTime, clock: Clock) -> io::Result<Self> {
        let header = Header {
            weir_record: FORM,
            version: env!("CARGO_PKG_VERSION").into(),
            started: rfc3339(started),
        };
        let mut head = serde_json::to_vec(&header)?;
        head.push(b'\n');
        let destination = Destination::File(path.into());
        let writer = LineWriter::open("record file", &destination, head, clock)?;
        Ok(Self { writer })
    }
}

impl Recorder for RecordFile {
    /// What an exchange costs is not written: whoever replays the file goes by his own prices.
    fn record(&mut self, observation: &Observation, _: &Beside) {
        // Text, numbers and maps with text for keys always have a form in JSON.
        if let Ok(mut line) = serde_json::to_vec(observation) {
            line.push(b'\n');
            self.writer.offer(line);
        }
    }
}
