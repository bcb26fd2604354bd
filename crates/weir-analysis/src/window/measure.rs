//! What is measured of each exchange or gap, and in which unit.

use weir_core::gaps::grid::grains;

use super::grid;

/// What there is a distribution of: one value an exchange, or one a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Time to first token as the client sees it.
    Ttft,
    /// Time to first token since the request was dispatched.
    UpstreamTtft,
    /// Inter-token latency.
    Itl,
    /// The gap from one chunk to the next.
    InterChunk,
    /// Time per output token after the first.
    Tpot,
    /// Tokens per second of one stream.
    Tps,
    /// Received to last token.
    E2e,
    /// Wait for admission.
    QueueWait,
    /// Prompt tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 10] = [
        Self::Ttft,
        Self::UpstreamTtft,
        Self::Itl,
        Self::InterChunk,
        Self::Tpot,
        Self::Tps,
        Self::E2e,
        Self::QueueWait,
        Self::InputTokens,
        Self::OutputTokens,
    ];

    /// The name as it stands in conditions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::UpstreamTtft => "upstream_ttft",
            Self::Itl => "itl",
            Self::InterChunk => "inter_chunk",
            Self::Tpot => "tpot",
            Self::Tps => "tps",
            Self::E2e => "e2e",
            Self::QueueWait => "queue_wait",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
        }
    }

    /// What its raw values mean.
    pub(super) const fn raw(self) -> Unit {
        match self {
            Self::Tps => Unit::Rate,
            Self::InputTokens | Self::OutputTokens => Unit::Tokens,
            _ => Unit::Time,
        }
    }
}

/// What the raw values of a histogram mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nanoseconds; a grain is 1/1024 ms.
    Time,
    /// Tokens; each is a grain.
    Tokens,
    /// Millionths of a token a second; a grain is 1/1024 token a second.
    Rate,
}

impl Unit {
    /// The bin of a raw value.
    pub(super) const fn bin(self, raw: u64) -> u16 {
        grid::bin(match self {
            Self::Time => grains(raw),
            Self::Tokens => raw,
            Self::Rate => raw.saturating_mul(16) / 15_625,
        })
    }

    /// The middle of a bin, in seconds, tokens or tokens a second. Tokens are whole: a bin of one is
    /// that number.
    pub(super) fn middle(self, bin: u16) -> f64 {
        let (first, width) = grid::extent(bin);
        match self {
            Self::Time => (first as f64 + width as f64 / 2.0) / 1_024_000.0,
            Self::Tokens => first as f64 + (width - 1) as f64 / 2.0,
            Self::Rate => (first as f64 + width as f64 / 2.0) / 1_024.0,
        }
    }

    /// A raw value, in seconds, tokens or tokens a second.
    pub(super) fn told(self, raw: f64) -> f64 {
        match self {
            Self::Time => raw / 1e9,
            Self::Tokens => raw,
            Self::Rate => raw / 1e6,
        }
    }
}
