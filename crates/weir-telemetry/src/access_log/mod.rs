//! The access log: one JSON line for each exchange, written as soon as it is over.
//! `docs/access-log.md` describes every field.

mod line;

use std::io;

use weir_analysis::cost::Valuation;
use weir_core::exchange::Exchange;
use weir_core::observation::Observation;

use crate::clock::Clock;
use crate::config::Destination;
use crate::line_writer::LineWriter;
use crate::recorder::{Beside, Recorder};
use line::Line;

/// The recorder.
#[derive(Debug)]
pub(crate) struct AccessLog {
    pub(crate) writer: LineWriter,
}

impl AccessLog {
    /// Opens the log.
    pub(crate) fn open(destination: &Destination, clock: Clock) -> io::Result<Self> {
        let writer = LineWriter::open("access log", destination, Vec::new(), clock)?;
        Ok(Self { writer })
    }

    fn exchange(&mut self, exchange: &Exchange, valuation: &Valuation) {
        // Text, numbers and maps with text for keys always have a form in JSON.
        if let Ok(mut line) = serde_json::to_vec(&Line::of(exchange, valuation)) {
            line.push(b'\n');
            self.writer.offer(line);
        }
    }
}

impl Recorder for AccessLog {
    fn record(&mut self, observation: &Observation, beside: &Beside) {
        if let Observation::Exchange(exchange) = observation {
            self.exchange(exchange, &beside.valuation);
        }
    }
}
