//! One hour of history in fine grain, for small charts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Moment;

use super::counts::{Count, Counts};
use super::figures::{at_once, rate, share};

/// Length of a point in seconds.
pub(super) const GRAIN_S: u64 = 15;

/// As many points are kept, the one that is not over included.
pub(super) const POINTS: usize = 240;

/// The last hour in points of `grain_s` seconds, the oldest first, without the one that is not over.
/// Every list has one entry a point; an entry is absent where nothing was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sparklines {
    /// Length of a point in seconds.
    pub grain_s: u64,
    /// When the first point begins.
    pub from: Moment,
    /// Requests that ended, a second.
    pub rps: Vec<Option<f64>>,
    /// Output tokens a second.
    pub output_tps: Vec<Option<f64>>,
    /// 95th percentile of TTFT in seconds.
    pub ttft_p95_s: Vec<Option<f64>>,
    /// 95th percentile of the gap per token in seconds.
    pub itl_p95_s: Vec<Option<f64>>,
    /// Exchanges waiting for admission, in the mean.
    pub queue_depth: Vec<Option<f64>>,
    /// Admitted exchanges, in the mean.
    pub in_flight: Vec<Option<f64>>,
    /// Errors as a share of the exchanges that count for the error rate (0 to 1).
    pub error_share: Vec<Option<f64>>,
    /// Requests that met every limit, a second; absent where none was judged.
    pub goodput_rps: Vec<Option<f64>>,
}

/// The quantiles of one point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peaks {
    /// Which point.
    pub(super) point: u64,
    /// 95th percentile of TTFT in seconds.
    pub(super) ttft: Option<f64>,
    /// 95th percentile of the gap per token in seconds.
    pub(super) itl: Option<f64>,
}

impl Sparklines {
    /// Without points yet.
    pub(super) fn new(first: u64) -> Self {
        Self {
            grain_s: GRAIN_S,
            from: Moment(first.saturating_mul(GRAIN_S * 1_000_000_000)),
            ..Self::default()
        }
    }

    /// Adds a point of which so many seconds were observed.
    pub(super) fn push(&mut self, counts: &Counts, peaks: Option<&Peaks>, span_s: f64) {
        let (requests, errors) = (counts.of(Count::Requests), counts.of(Count::Errors));
        let answered = counts.of(Count::Answered);
        self.rps.push(rate(requests, span_s));
        self.output_tps.push(rate(counts.of(Count::OutputTokens), span_s));
        self.ttft_p95_s.push(peaks.and_then(|peaks| peaks.ttft));
        self.itl_p95_s.push(peaks.and_then(|peaks| peaks.itl));
        self.queue_depth.push(at_once(counts, Count::WaitingNs, Count::QueuedNs, span_s));
        self.in_flight.push(at_once(counts, Count::InFlightNs, Count::BusyNs, span_s));
        self.error_share.push(share(errors as f64, answered as f64));
        let judged = counts.of(Count::Judged) > 0;
        self.goodput_rps.push(rate(counts.of(Count::Good), span_s).filter(|_| judged));
    }
}
