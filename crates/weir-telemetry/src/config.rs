//! What the recorders are told. Nothing in it can be wrong.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use weir_analysis::observatory::ObservatoryConfig;

use crate::otlp::config::OtlpConfig;

/// The resolved configuration of the pipeline and its recorders.
#[derive(Clone, Debug)]
pub struct TelemetryConfig {
    /// Where the access log goes, if it is kept.
    pub access_log: Option<Destination>,
    /// Where every observation is recorded, if it is.
    pub record: Option<PathBuf>,
    /// Models that configuration names: they always have a label of their own.
    pub known_models: Vec<String>,
    /// How many models have a label of their own; what comes after them is `other`.
    pub max_models: usize,
    /// What is known of the upstreams, for exports in the words of OpenTelemetry's conventions.
    pub upstreams: Vec<UpstreamFacts>,
    /// What clients speak.
    pub scheme: Scheme,
    /// A stream silent for longer than this is stalled.
    pub stall_after: Duration,
    /// How many exchanges in flight send pulses while they run: as many as the in-flight table
    /// lists. Those beyond it send one pulse at their end.
    pub max_pulsing: usize,
    /// Where traces and metrics are sent, if they are.
    pub otlp: Option<OtlpConfig>,
    /// What is worked out from observations.
    pub observatory: ObservatoryConfig,
    /// The folder in which what is worked out outlives a restart, if it is to.
    pub state_dir: Option<PathBuf>,
    /// How long shutting down may take to hand on what is queued and to write it.
    pub flush_timeout: Duration,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            access_log: None,
            record: None,
            known_models: Vec::new(),
            max_models: 64,
            upstreams: Vec::new(),
            scheme: Scheme::Http,
            stall_after: Duration::from_secs(1),
            max_pulsing: 16_384,
            otlp: None,
            observatory: ObservatoryConfig::default(),
            state_dir: None,
            flush_timeout: Duration::from_secs(5),
        }
    }
}

/// What is known of an upstream beside what comes from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamFacts {
    /// Its name in records.
    pub name: Box<str>,
    /// Whose kind of API it has, as OpenTelemetry's `gen_ai.provider.name` names it; absent where the
    /// dialect of a request is to tell.
    pub provider: Option<Box<str>>,
    /// The host.
    pub address: Box<str>,
    /// The port.
    pub port: u16,
}

/// The scheme of the URLs that clients ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Without encryption.
    #[default]
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// The scheme as URLs write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Where lines are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file, which is appended to.
    File(PathBuf),
}

impl FromStr for Destination {
    type Err = Infallible;

    /// `-` is standard output, anything else a path.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "-" => Self::Stdout,
            path => Self::File(path.into()),
        })
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}
