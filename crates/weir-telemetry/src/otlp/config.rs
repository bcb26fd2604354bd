//! What the export is told. Nothing in it can be wrong.

use std::time::Duration;

use http::HeaderMap;
use regex::Regex;

pub use super::metrics::{GenAiNames, HistogramKind, Temporality};
use super::transport::Tls;

/// Where traces and metrics go, and what they hold.
#[derive(Clone, Debug)]
pub struct OtlpConfig {
    /// Each gets everything, and none waits for another.
    pub destinations: Vec<OtlpDestination>,
    /// The attributes of this process, `service.name` among them.
    pub resource: Vec<(String, String)>,
    /// Which exchanges become spans.
    pub sampling: Sampling,
    /// How spans are written.
    pub spans: SpanRules,
    /// How often metrics are sent.
    pub metric_interval: Duration,
}

/// One place that telemetry is sent to.
#[derive(Clone, Debug)]
pub struct OtlpDestination {
    /// Its name in metrics and in the log.
    pub name: Box<str>,
    /// How traces get there, if they do.
    pub traces: Option<Signal>,
    /// How metrics get there, if they do.
    pub metrics: Option<Signal>,
    /// How exchanges wait and are put together.
    pub batch: Batch,
    /// Which time a point of a metric covers.
    pub temporality: Temporality,
    /// How histograms are sent.
    pub histograms: HistogramKind,
    /// Mark spans so that Langfuse takes them for the root of their trace, even below a client's.
    pub as_root: bool,
}

/// How one kind of telemetry gets to one place.
#[derive(Clone, Debug)]
pub struct Signal {
    /// The address; with HTTP the whole URL of this kind of telemetry.
    pub url: String,
    /// In which way.
    pub protocol: Protocol,
    /// Sent with each request. Values may be secrets.
    pub headers: HeaderMap,
    /// How long one request may take.
    pub timeout: Duration,
    /// Whether requests are packed.
    pub gzip: bool,
    /// Whom to trust, and who to be.
    pub tls: Tls,
}

/// The two ways of OTLP that Weir speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Protobuf in gRPC.
    Grpc,
    /// Protobuf in HTTP requests.
    HttpProtobuf,
}

/// How exchanges wait for their export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// As many exchanges may wait. The next one is dropped and counted.
    pub queue: usize,
    /// As many exchanges go into one request.
    pub size: usize,
    /// How long the first of a batch waits for others.
    pub delay: Duration,
}

impl Default for Batch {
    fn default() -> Self {
        Self { queue: 2_048, size: 512, delay: Duration::from_secs(5) }
    }
}

/// Which exchanges become spans. It is decided when they are over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The part of traces that is kept, from 0 to 1, told from the trace's id.
    pub ratio: f64,
    /// Keep every exchange in which something went wrong.
    pub errors: bool,
    /// Keep every exchange that took longer to its first token, or to its end without one.
    pub slow: Option<Duration>,
    /// Keep every exchange with a stall of the upstream.
    pub stalls: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { ratio: 1.0, errors: true, slow: None, stalls: true }
    }
}

/// How spans are written.
#[derive(Clone, Debug, Default)]
pub struct SpanRules {
    /// Which edition of the GenAI conventions.
    pub names: GenAiNames,
    /// What is taken out of the content of exchanges.
    pub redact: Vec<Regex>,
}
