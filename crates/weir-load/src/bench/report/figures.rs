//! All figures of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::goodput::{Goodput, GoodputLimits};
use super::numbers::Summary;
use super::peaks::Peaks;
use crate::bench::run::{End, Outcome, Sample};
use crate::bench::semantics::{Length, Semantics, View};

/// A gap between two events with output that is longer than this is a stall.
const STALL_S: f64 = 1.0;

/// How figures are to be read out of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Whose definitions they follow.
    pub semantics: Semantics,
    /// What makes an answer good.
    pub goodput: GoodputLimits,
    /// The percentiles to tell, in percent.
    pub percents: Vec<f64>,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { semantics: Semantics::Weir, goodput: GoodputLimits::default(), percents: vec![99.0] }
    }
}

/// All figures of a run. Latencies are those of successful requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Whose definitions they follow.
    pub semantics: Semantics,
    /// From the start until the last request had ended.
    pub duration_s: f64,
    /// Requests by how they ended.
    pub counts: Counts,
    /// Requests and tokens per second.
    pub throughput: Throughput,
    /// Tokens and where their numbers come from.
    pub lengths: Lengths,
    /// Times from sending.
    pub latencies: Latencies,
    /// Times to the first token and to the end, from when the request was due: the wait before it was sent is in.
    pub from_intended: Latencies,
    /// How late requests were sent; all that were.
    pub lateness: Option<Summary>,
    /// Answers that were good enough, where there are limits.
    pub goodput: Option<Goodput>,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// Long silences.
    pub stalls: Stalls,
    /// The server's own word for its queue, where it tells.
    pub server_queue: Option<Summary>,
}

/// Requests by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Sent in all.
    pub sent: u64,
    /// Successful.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Left by their client, as the data set said.
    pub left: u64,
    /// Cut off by the end of the run.
    pub cancelled: u64,
    /// Due, but held back until the time was up.
    pub overdue: u64,
    /// Turns of conversations that were not sent, as the turn before failed.
    pub unsent_turns: u64,
}

/// Requests and tokens per second of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Successful requests.
    pub requests_per_s: f64,
    /// Output tokens of successful requests.
    pub output_tokens_per_s: f64,
    /// Tokens of their prompts and answers.
    pub total_tokens_per_s: f64,
    /// Output tokens in the busiest second; absent without a success.
    pub peak_output_tokens_per_s: Option<f64>,
    /// The most requests at once; absent without a success.
    pub peak_concurrent: Option<u64>,
}

/// Tokens of successful requests and where their numbers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Tokens of prompts.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Tokens of prompts that came out of a cache, where the server tells.
    pub cached: Option<u64>,
    /// Tokens of answers that are reasoning, where the server tells.
    pub reasoning: Option<u64>,
    /// Prompts whose length the server did not tell, so that the data set's stands for it.
    pub input_from_data_set: u64,
    /// Prompts whose length nobody knows; they count for nothing.
    pub input_unknown: u64,
    /// Answers whose length is the sum of what events told.
    pub output_told: u64,
    /// Answers whose events were counted, for want of anything better.
    pub output_counted: u64,
    /// Answers whose length nobody knows; they count for nothing.
    pub output_unknown: u64,
}

/// Latencies; what no request has is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Time to the first token.
    pub ttft: Option<Summary>,
    /// Time per output token after the first.
    pub tpot: Option<Summary>,
    /// Between tokens, of all requests together.
    pub itl: Option<Summary>,
    /// Time to the end.
    pub e2el: Option<Summary>,
}

/// Silences of more than a second between events with output, in all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// Requests with one or more.
    pub requests: u64,
    /// The longest.
    pub longest_s: Option<f64>,
}

impl Figures {
    /// Reads them out of a run.
    pub fn of(outcome: &Outcome, reading: &Reading) -> Self {
        let semantics = reading.semantics;
        let views: Vec<(&Sample, View)> = outcome
            .samples
            .iter()
            .map(|sample| (sample, semantics.view(sample)))
            .filter(|(_, view)| view.is_success)
            .collect();
        let duration_s = outcome.duration.as_secs_f64();
        let counts = Counts::of(outcome, views.len() as u64);
        let lengths = Lengths::of(&views);
        let lateness = outcome.samples.iter().map(|sample| sample.times.lateness_ns() as f64 / 1e9);
        let queues = outcome.samples.iter().filter_map(|sample| sample.server.queue_time_ms);
        Figures {
            semantics,
            duration_s,
            counts,
            throughput: Throughput::of(&views, &lengths, duration_s, semantics),
            lengths,
            latencies: Latencies::from_sending(&views, &reading.percents),
            from_intended: Latencies::from_intended(&views, &reading.percents),
            lateness: Summary::of(lateness.collect(), &reading.percents),
            goodput: goodput(&views, &reading.goodput, &counts, duration_s),
            errors: errors(outcome, semantics),
            stalls: Stalls::of(&outcome.samples),
            server_queue: Summary::of(queues.map(|millis| millis / 1e3).collect(), &reading.percents),
        }
    }
}

impl Counts {
    fn of(outcome: &Outcome, completed: u64) -> Self {
        let ended = |end: &End| outcome.samples.iter().filter(|sample| sample.end == *end).count() as u64;
        let (sent, left, cancelled) =
            (outcome.samples.len() as u64, ended(&End::Left), ended(&End::Cancelled));
        Counts {
            sent,
            completed,
            failed: sent - completed - left - cancelled,
            left,
            cancelled,
            overdue: outcome.unsent.overdue,
            unsent_turns: outcome.unsent.turns,
        }
    }
}

impl Throughput {
    fn of(views: &[(&Sample, View)], lengths: &Lengths, duration_s: f64, semantics: Semantics) -> Self {
        let samples: Vec<&Sample> = views.iter().map(|(sample, _)| *sample).collect();
        let peaks = Peaks::of(&samples, semantics);
        Throughput {
            requests_per_s: per(views.len() as u64, duration_s),
            output_tokens_per_s: per(lengths.output, duration_s),
            total_tokens_per_s: per(lengths.input + lengths.output, duration_s),
            peak_output_tokens_per_s: peaks.map(|peaks| peaks.tokens_per_s),
            peak_concurrent: peaks.map(|peaks| peaks.concurrent),
        }
    }
}

impl Lengths {
    fn of(views: &[(&Sample, View)]) -> Self {
        let mut lengths = Lengths::default();
        for (sample, view) in views {
            lengths.input += view.input.tokens().unwrap_or(0);
            lengths.output += view.output.tokens().unwrap_or(0);
            match view.input {
                Length::DataSet(_) => lengths.input_from_data_set += 1,
                Length::Unknown => lengths.input_unknown += 1,
                Length::Usage(_) | Length::Told(_) | Length::Counted(_) => {}
            }
            match view.output {
                Length::Told(_) => lengths.output_told += 1,
                Length::Counted(_) => lengths.output_counted += 1,
                Length::Unknown => lengths.output_unknown += 1,
                Length::Usage(_) | Length::DataSet(_) => {}
            }
            add(&mut lengths.cached, sample.usage.cached);
            add(&mut lengths.reasoning, sample.usage.reasoning);
        }
        lengths
    }
}

impl Latencies {
    fn from_sending(views: &[(&Sample, View)], percents: &[f64]) -> Self {
        let of = |value: fn(&View) -> Option<f64>| {
            Summary::of(views.iter().filter_map(|(_, view)| value(view)).collect(), percents)
        };
        let itls = views.iter().flat_map(|(_, view)| view.itls_s.iter().copied()).collect();
        Latencies {
            ttft: of(|view| view.ttft_s),
            tpot: of(|view| view.tpot_s),
            itl: Summary::of(itls, percents),
            e2el: of(|view| view.e2e_s),
        }
    }

    fn from_intended(views: &[(&Sample, View)], percents: &[f64]) -> Self {
        let of = |value: fn(&View) -> Option<f64>| {
            let late = |(sample, view): &(&Sample, View)| {
                value(view).map(|value| value + sample.times.lateness_ns() as f64 / 1e9)
            };
            Summary::of(views.iter().filter_map(late).collect(), percents)
        };
        Latencies { ttft: of(|view| view.ttft_s), e2el: of(|view| view.e2e_s), ..Latencies::default() }
    }
}

impl Stalls {
    fn of(samples: &[Sample]) -> Self {
        let mut stalls = Stalls::default();
        for sample in samples {
            let outputs: Vec<u64> = sample
                .arrivals
                .iter()
                .filter(|arrival| arrival.output.is_some())
                .map(|arrival| arrival.at_ns)
                .collect();
            let before = stalls.count;
            for pair in outputs.windows(2) {
                let gap_s = pair[1].saturating_sub(pair[0]) as f64 / 1e9;
                if gap_s > STALL_S {
                    stalls.count += 1;
                    stalls.longest_s = Some(stalls.longest_s.map_or(gap_s, |longest| longest.max(gap_s)));
                }
            }
            stalls.requests += u64::from(stalls.count > before);
        }
        stalls
    }
}

fn goodput(
    views: &[(&Sample, View)],
    limits: &GoodputLimits,
    counts: &Counts,
    duration_s: f64,
) -> Option<Goodput> {
    if limits.is_empty() {
        return None;
    }
    let good = views.iter().filter(|(_, view)| limits.is_met(view)).count() as u64;
    let judged = counts.completed + counts.failed;
    let attainment = (judged > 0).then(|| good as f64 / judged as f64);
    Some(Goodput { good, per_s: per(good, duration_s), attainment })
}

/// Failures by class. What the semantics take for a success is none.
fn errors(outcome: &Outcome, semantics: Semantics) -> BTreeMap<String, u64> {
    let mut errors = BTreeMap::new();
    for sample in &outcome.samples {
        if semantics.is_success(sample) || matches!(sample.end, End::Left | End::Cancelled) {
            continue;
        }
        // A complete answer fails where it has no token by another's rule.
        let class = if sample.end == End::Complete { "no_token".into() } else { sample.end.name() };
        *errors.entry(class.into_owned()).or_default() += 1;
    }
    errors
}

fn per(count: u64, duration_s: f64) -> f64 {
    if duration_s > 0.0 { count as f64 / duration_s } else { 0.0 }
}

fn add(sum: &mut Option<u64>, value: Option<u64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0) + value);
    }
}
