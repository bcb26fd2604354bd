//! The one list of metric names: Weir's own, and those of OpenTelemetry's semantic conventions.
//! `docs/metrics.md` defines each; a test holds the two together.

mod conventions;
mod weir;

pub use conventions::*;
pub use weir::*;

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down, and adding it up over label values makes sense.
    UpDown,
    /// It goes up and down.
    Gauge,
    /// Counts by bucket, with sum and count.
    Histogram,
}

impl Kind {
    /// The word of the exposition format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::UpDown | Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// What a metric counts or measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time.
    Seconds,
    /// Bytes of bodies.
    Bytes,
    /// Tokens.
    Tokens,
    /// Speed of generation.
    TokensPerSecond,
    /// Requests by time.
    RequestsPerSecond,
    /// Money.
    Usd,
    /// A part of a whole, or one thing by another of its kind.
    Ratio,
    /// A number of things; OTLP is told which.
    Count(&'static str),
}

impl Unit {
    /// The word of the documentation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::Tokens => "tokens",
            Unit::TokensPerSecond => "tokens/second",
            Unit::RequestsPerSecond => "requests/second",
            Unit::Usd => "usd",
            Unit::Ratio => "ratio",
            Unit::Count(_) => "count",
        }
    }

    /// The unit in UCUM, as OTLP has it.
    pub const fn ucum(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Bytes => "By",
            Unit::Tokens => "{token}",
            Unit::TokensPerSecond => "{token}/s",
            Unit::RequestsPerSecond => "{request}/s",
            Unit::Usd => "{usd}",
            Unit::Ratio => "1",
            Unit::Count(things) => things,
        }
    }
}

/// What a metric is called where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Weir's own name, on the page and, in another spelling, in OTLP.
    Own,
    /// A name of the conventions that is the same in all their versions.
    Convention,
    /// A name of the GenAI conventions, which differs by version. Absent where a version lacks it.
    GenAi {
        /// In version 1.41.
        v1_41: Option<GenAiName>,
        /// In the version that is not released yet.
        next: Option<GenAiName>,
    },
}

/// A name of a version of the GenAI conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenAiName {
    /// The metric.
    pub name: &'static str,
    /// The value of the attribute `gen_ai.token.type`, where one metric stands for two of ours.
    pub token_type: Option<&'static str>,
}

/// A metric with `N` labels.
#[derive(Clone, Copy, Debug)]
pub struct Metric<const N: usize> {
    /// Its name, unit included.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// What it counts or measures.
    pub unit: Unit,
    /// The names of its labels, in the order in which values are given.
    pub labels: &'static [&'static str; N],
    /// One line for the metrics page.
    pub help: &'static str,
    /// What it is called elsewhere.
    pub naming: Naming,
}

/// A metric, whatever the number of its labels.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// What it counts or measures.
    pub unit: Unit,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// One line for the metrics page.
    pub help: &'static str,
    /// What it is called elsewhere.
    pub naming: Naming,
}

impl<const N: usize> Metric<N> {
    /// The same with its number of labels forgotten.
    pub const fn listed(self) -> Listed {
        let Metric { name, kind, unit, labels, help, naming } = self;
        Listed { name, kind, unit, labels, help, naming }
    }
}

/// What OTLP says elsewhere: the version as the scope's, the start as that of every sum.
const NOT_IN_OTLP: [&str; 2] = [BUILD_INFO.name, PROCESS_START_TIME.name];

/// A metric of Weir's own as OTLP names it: without `_total`, `_seconds` and `_ratio`, for its kind and its
/// unit say that, and with a dot behind `weir`. A Collector that exports to Prometheus puts both back, so that
/// the metric is called there as on the page. Absent for what OTLP says elsewhere.
pub fn otlp_name(metric: &Listed) -> Option<String> {
    if NOT_IN_OTLP.contains(&metric.name) {
        return None;
    }
    let name = metric.name.strip_suffix("_total").unwrap_or(metric.name);
    let name = name.strip_suffix("_seconds").or(name.strip_suffix("_ratio")).unwrap_or(name);
    Some(name.replacen('_', ".", 1))
}
