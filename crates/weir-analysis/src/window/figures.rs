//! The figures of one window of one scope, as they are told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counts::{Count, Counts};
use super::histogram::Histogram;
use super::measure::Unit;

/// What one window of one scope has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// How much of the window there is, in seconds: since its oldest slot began, or since the start.
    pub span_s: f64,
    /// Exchanges that ended.
    pub requests: Requests,
    /// Latencies, in seconds.
    pub latency: Latencies,
    /// Of each exchange: tokens, and tokens a second.
    pub lengths: Lengths,
    /// Tokens by when they flowed.
    pub tokens: Tokens,
    /// How much went on at once, and what came of it.
    pub throughput: Throughput,
    /// Absent where goodput was asked of no exchange.
    pub goodput: Option<Goodput>,
}

/// Exchanges that ended in the window. Rates are absent in the first second after the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// How many, however they ended.
    pub count: u64,
    /// How many a second.
    pub per_s: Option<f64>,
    /// Those that were errors by the rule of the error rate.
    pub errors: u64,
    /// Errors as a share of those that count for the error rate (0 to 1); see [`crate::slo::sides`].
    pub error_share: Option<f64>,
    /// Those that their client left.
    pub abandoned: u64,
}

/// Latencies, in seconds. Each is absent where nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// Time to first token as the client sees it, of every exchange that had one.
    pub ttft: Option<Distribution>,
    /// Time to first token from the hand-over to the upstream.
    pub upstream_ttft: Option<Distribution>,
    /// Gap per token, by when it flowed.
    pub itl: Option<Distribution>,
    /// Gap between chunks, by when it flowed.
    pub inter_chunk: Option<Distribution>,
    /// Time per output token after the first, of each exchange.
    pub tpot: Option<Distribution>,
    /// End to end, of exchanges that completed.
    pub e2e: Option<Distribution>,
    /// Wait for admission, of those admitted.
    pub queue_wait: Option<Distribution>,
}

/// Figures of each exchange. Each is absent where nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lengths {
    /// Input tokens of an exchange, as reported.
    pub input_tokens: Option<Distribution>,
    /// Output tokens of an exchange.
    pub output_tokens: Option<Distribution>,
    /// Tokens a second of an exchange after its first token.
    pub tps: Option<Distribution>,
}

/// A distribution: the count, mean and greatest exact, the quantiles by nearest rank within 1 % (times
/// below 62.5 µs: within 0.5 µs).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The median. Quantiles are absent where no value found room in a bin.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The greatest. Of gaps: within 1 % where the greatest of their stream came before the window.
    pub max: f64,
}

/// Tokens by when they flowed. Output that its stream told of flows when it came; tokens that only the
/// end tells of lie evenly between the first and the last token, or at the end if it was no stream. Input
/// counts when the first token came, or at the end without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Input tokens, where they were reported.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens a second.
    pub input_per_s: Option<f64>,
    /// Output tokens a second.
    pub output_per_s: Option<f64>,
}

/// How much went on at once, and what came of it. Over all it is the mean over time, from the gauges of
/// admission, up to the second. Of a model or an upstream it is known from exchanges that ended: the time that each spent,
/// laid where it was spent, so it lags for those that still run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Admitted exchanges at once, in the mean.
    pub concurrency: Option<f64>,
    /// Exchanges waiting for admission at once, in the mean.
    pub queue_depth: Option<f64>,
    /// What the mean concurrency would give if each exchange put out its tokens at the mean rate all the
    /// time, in tokens a second.
    pub theoretical_tps: Option<f64>,
    /// Output tokens a second.
    pub effective_tps: Option<f64>,
    /// Effective by theoretical: less than one where exchanges wait for their first token.
    pub effective_share: Option<f64>,
}

/// Exchanges that met every limit, by when they ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goodput {
    /// How many a second.
    pub requests_per_s: Option<f64>,
    /// Their output tokens a second.
    pub tokens_per_s: Option<f64>,
    /// How many they are of those that count (0 to 1).
    pub attainment: Option<f64>,
}

/// A rate over less than this says nothing.
const SHORTEST_SPAN_S: f64 = 1.0;

/// So many a second.
pub(super) fn rate(n: u64, span_s: f64) -> Option<f64> {
    (span_s >= SHORTEST_SPAN_S).then(|| n as f64 / span_s)
}

/// One number by another.
pub(super) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// How many at once, in the mean: as was seen where anybody looked, else by the time that those who ended
/// had spent.
pub(super) fn at_once(counts: &Counts, seen: Count, spent: Count, span_s: f64) -> Option<f64> {
    let watched = counts.of(Count::WatchedNs);
    if watched > 0 {
        return Some(counts.of(seen) as f64 / watched as f64);
    }
    rate(counts.of(spent), span_s).map(|ns| ns / 1e9)
}

impl Requests {
    pub(super) fn new(counts: &Counts, span_s: f64) -> Self {
        let (count, errors) = (counts.of(Count::Requests), counts.of(Count::Errors));
        let answered = counts.of(Count::Answered);
        Self {
            count,
            per_s: rate(count, span_s),
            errors,
            error_share: share(errors as f64, answered as f64),
            abandoned: counts.of(Count::Abandoned),
        }
    }
}

impl Tokens {
    pub(super) fn new(counts: &Counts, span_s: f64) -> Self {
        let (input, output) = (counts.of(Count::InputTokens), counts.of(Count::OutputTokens));
        Self { input, output, input_per_s: rate(input, span_s), output_per_s: rate(output, span_s) }
    }
}

impl Throughput {
    pub(super) fn new(counts: &Counts, span_s: f64, tps: Option<&Distribution>) -> Self {
        let concurrency = at_once(counts, Count::InFlightNs, Count::BusyNs, span_s);
        let theoretical_tps = concurrency.zip(tps).map(|(concurrency, tps)| concurrency * tps.mean);
        let effective_tps = rate(counts.of(Count::OutputTokens), span_s);
        Self {
            concurrency,
            queue_depth: at_once(counts, Count::WaitingNs, Count::QueuedNs, span_s),
            theoretical_tps,
            effective_tps,
            effective_share: effective_tps
                .zip(theoretical_tps)
                .and_then(|(effective, theoretical)| share(effective, theoretical)),
        }
    }
}

impl Goodput {
    pub(super) fn new(counts: &Counts, span_s: f64) -> Option<Self> {
        let (judged, good) = (counts.of(Count::Judged), counts.of(Count::Good));
        (judged > 0).then(|| Self {
            requests_per_s: rate(good, span_s),
            tokens_per_s: rate(counts.of(Count::GoodTokens), span_s),
            attainment: share(good as f64, judged as f64),
        })
    }
}

impl Distribution {
    /// Of two histograms together. `None` if nothing is in them.
    pub(super) fn new(parts: [&Histogram; 2], unit: Unit) -> Option<Self> {
        let mut exact = parts[0].exact;
        exact.add(parts[1].exact);
        if exact.count == 0 {
            return None;
        }
        let max = unit.told(exact.max as f64);
        let [p50, p90, p95, p99] = quantiles(parts, exact.binned, [0.5, 0.9, 0.95, 0.99])
            .map(|bin| bin.map(|bin| unit.middle(bin).min(max)));
        let mean = unit.told(exact.sum as f64 / exact.count as f64);
        Some(Self { count: exact.count, mean, p50, p90, p95, p99, max })
    }
}

/// The bins of rising quantiles by nearest rank, of two histograms with `total` values in bins.
pub(super) fn quantiles<const N: usize>(
    parts: [&Histogram; 2],
    total: u64,
    wanted: [f64; N],
) -> [Option<u16>; N] {
    let mut found = [None; N];
    let mut ranks = wanted.map(|q| ((q * total as f64).ceil() as u64).clamp(1, total.max(1))).into_iter();
    let mut places = found.iter_mut();
    let (mut rank, mut place) = (ranks.next(), places.next());
    let mut below = 0;
    let (mut left, mut right) = (parts[0].bins.iter().peekable(), parts[1].bins.iter().peekable());
    while let Some(bin) = left.peek().into_iter().chain(right.peek()).map(|entry| entry.0).min() {
        for side in [left.next_if(|entry| entry.0 == bin), right.next_if(|entry| entry.0 == bin)] {
            below += side.map_or(0, |(_, n)| u64::from(n));
        }
        while rank.is_some_and(|rank| rank <= below) {
            if let Some(place) = place {
                *place = Some(bin);
            }
            (rank, place) = (ranks.next(), places.next());
        }
        if rank.is_none() {
            break;
        }
    }
    found
}
