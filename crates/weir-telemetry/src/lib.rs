//! The pipeline of Weir and its recorders: Prometheus, access log, record file.
//!
//! One task owns every recorder, so recorders hold plain data. What reaches the outside world
//! slowly (files) stands behind a thread of its own and a bounded queue: nothing here can make the
//! data path wait.

pub mod clock;
pub mod config;
pub mod names;
pub mod otlp;
pub mod pipeline;
pub mod record_file;

mod access_log;
mod line_writer;
mod prometheus;
mod pulses;
mod rate_limit;
mod recorder;
mod self_metrics;

pub use config::{Destination, TelemetryConfig, UpstreamFacts};
pub use pipeline::{Inputs, Pipeline, PipelineHandle};
pub use record_file::{RecordError, Records, read_records};
