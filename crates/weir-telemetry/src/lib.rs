//! The pipeline of Weir and its recorders: Prometheus, access log, record file.
//!
//! One task owns every recorder, so recorders hold plain data. What reaches the outside world
//! slowly (files) stands behind a thread of its own and a bounded queue: nothing here can make the
//! data path wait.

pub mod clock;
pub mod config;
pub mod names;
pub mod notify;
pub mod otlp;
pub mod pipeline;
pub mod record_file;
pub mod state;

mod access_log;
mod action_counts;
mod alert_news;
#[cfg(test)]
mod fixture;
mod line_writer;
mod metrics;
mod pulses;
mod rate_limit;
mod recent;
mod recorder;
mod recorders;
mod self_metrics;
mod semconv;
mod valued;

pub use action_counts::{ActionCounts, ActionFate};
pub use alert_news::AlertNews;
pub use config::{Destination, Scheme, TelemetryConfig, UpstreamFacts};
pub use pipeline::{Inputs, Pipeline, PipelineHandle};
pub use record_file::{RecordError, Records, read_records};
