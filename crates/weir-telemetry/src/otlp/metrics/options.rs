//! How metrics are told by OTLP.

/// How metrics are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MetricOptions {
    /// By which buckets.
    pub(crate) histograms: HistogramKind,
    /// Since when.
    pub(crate) temporality: Temporality,
    /// By which names of the GenAI conventions.
    pub(crate) genai: GenAiNames,
}

/// By which buckets histograms are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistogramKind {
    /// Exponential ones: quantiles to within a few percent, whatever the range.
    #[default]
    Exponential,
    /// Those of the metrics page.
    Explicit,
}

/// Since when counts are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Temporality {
    /// Since the process began.
    #[default]
    Cumulative,
    /// Since the last export, save for what goes up and down.
    Delta,
    /// The same, save for what is counted elsewhere and only read, too.
    LowMemory,
}

/// By which version of the GenAI conventions metrics are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GenAiNames {
    /// Version 1.41, which backends know.
    #[default]
    V1_41,
    /// The version that is not released yet.
    Next,
    /// Both, each metric once by each name.
    Both,
}

impl GenAiNames {
    /// Whether version 1.41 is told.
    pub(crate) const fn has_v1_41(self) -> bool {
        matches!(self, Self::V1_41 | Self::Both)
    }

    /// Whether the next version is told.
    pub(crate) const fn has_next(self) -> bool {
        matches!(self, Self::Next | Self::Both)
    }
}
