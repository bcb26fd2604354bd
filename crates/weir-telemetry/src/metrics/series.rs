//! What is counted of the exchanges that share their labels.

use weir_core::exchange::{Exchange, Stalls};
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::timeline::{Mark, Offset};
use weir_core::usage::Provenance;

use super::bounds::{LATENCY, OVERHEAD, PER_TOKEN, SPEED};
use super::exemplar::Witness;
use super::histogram::Histogram;

/// The provenances, in the order of their declaration.
pub(super) const PROVENANCES: [Provenance; 5] = [
    Provenance::Reported,
    Provenance::EngineTimings,
    Provenance::TokenIds,
    Provenance::Logprobs,
    Provenance::CountedChunks,
];

/// Everything that is counted of one model at one upstream in one dialect.
#[derive(Debug)]
pub(super) struct Series {
    /// By [`Outcome`].
    pub(super) outcomes: [u64; Outcome::ALL.len()],
    /// By [`ErrorType`].
    pub(super) errors: [u64; ErrorType::ALL.len()],
    pub(super) times: Times,
    pub(super) tokens: Tokens,
    pub(super) volume: Volume,
    pub(super) upstream_stalls: StallSum,
    pub(super) downstream_stalls: StallSum,
}

/// How long things took.
#[derive(Debug)]
pub(super) struct Times {
    pub(super) ttft: Histogram,
    pub(super) upstream_ttft: Histogram,
    pub(super) ttfa: Histogram,
    pub(super) tpot: Histogram,
    pub(super) tps: Histogram,
    pub(super) e2e: Histogram,
    pub(super) duration: Histogram,
    pub(super) queue_wait: Histogram,
    pub(super) overhead: Histogram,
}

/// Token counts; absent until one was told.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) input: Option<u64>,
    /// By [`Provenance`].
    pub(super) output: [Option<u64>; PROVENANCES.len()],
    pub(super) cached_input: Option<u64>,
    pub(super) reasoning: Option<u64>,
}

/// Bytes and events.
#[derive(Debug, Default)]
pub(super) struct Volume {
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    pub(super) events: u64,
    pub(super) broken_events: u64,
    pub(super) oversized_events: u64,
}

/// Stalls, summed over exchanges.
#[derive(Debug, Default)]
pub(super) struct StallSum {
    pub(super) count: u64,
    pub(super) total: Offset,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            outcomes: [0; Outcome::ALL.len()],
            errors: [0; ErrorType::ALL.len()],
            times: Times::default(),
            tokens: Tokens::default(),
            volume: Volume::default(),
            upstream_stalls: StallSum::default(),
            downstream_stalls: StallSum::default(),
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        let latency = || Histogram::new(LATENCY);
        Self {
            ttft: latency(),
            upstream_ttft: latency(),
            ttfa: latency(),
            tpot: Histogram::new(PER_TOKEN),
            tps: Histogram::new(SPEED),
            e2e: latency(),
            duration: latency(),
            queue_wait: latency(),
            overhead: Histogram::new(OVERHEAD),
        }
    }
}

impl Series {
    /// Counts an exchange. `witness` is its place in a trace that is kept.
    pub(super) fn add(&mut self, exchange: &Exchange, witness: Option<&Witness>) {
        self.outcomes[exchange.outcome as usize] += 1;
        if let Some(error_type) = exchange.error_type {
            self.errors[error_type as usize] += 1;
        }
        self.times.add(exchange, witness);
        self.tokens.add(exchange);
        self.volume.add(exchange);
        if let Some(output) = &exchange.answer.output {
            self.upstream_stalls.add(&output.upstream_stalls);
            self.downstream_stalls.add(&output.downstream_stalls);
        }
    }
}

impl Times {
    fn add(&mut self, exchange: &Exchange, witness: Option<&Witness>) {
        let timeline = &exchange.timeline;
        self.ttft.observe_time(timeline.ttft(), witness);
        self.upstream_ttft.observe_time(timeline.upstream_ttft(), witness);
        self.ttfa.observe_time(timeline.at(Mark::FirstAnswer), witness);
        self.tpot.observe_some(exchange.tpot(), witness);
        self.tps.observe_some(exchange.tps(), witness);
        if exchange.outcome == Outcome::Completed {
            self.e2e.observe_time(timeline.e2e(), witness);
        }
        self.duration.observe_time(Some(exchange.duration()), witness);
        self.queue_wait.observe_time(timeline.queue_wait(), witness);
        self.overhead.observe_time(exchange.overhead(), witness);
    }
}

impl Tokens {
    fn add(&mut self, exchange: &Exchange) {
        if let Some(usage) = &exchange.answer.usage {
            add(&mut self.input, usage.input);
            add(&mut self.cached_input, usage.cached_input);
            add(&mut self.reasoning, usage.reasoning);
        }
        if let Some(tokens) = exchange.answer.tokens {
            add(&mut self.output[tokens.provenance as usize], Some(tokens.count));
        }
    }
}

impl Volume {
    fn add(&mut self, exchange: &Exchange) {
        self.request_bytes += exchange.request.bytes;
        self.response_bytes += exchange.answer.bytes;
        self.events += exchange.answer.scan.events;
        self.broken_events += exchange.answer.scan.broken;
        self.oversized_events += exchange.answer.scan.oversized;
    }
}

impl StallSum {
    fn add(&mut self, stalls: &Stalls) {
        self.count += u64::from(stalls.count);
        self.total.0 = self.total.0.saturating_add(stalls.total.0);
    }
}

fn add(sum: &mut Option<u64>, count: Option<u64>) {
    if let Some(count) = count {
        *sum = Some(sum.unwrap_or(0).saturating_add(count));
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorType, Outcome, PROVENANCES};

    #[test]
    fn lists_stand_in_the_order_of_declaration() {
        assert!(Outcome::ALL.iter().enumerate().all(|(i, &o)| o as usize == i));
        assert!(ErrorType::ALL.iter().enumerate().all(|(i, &e)| e as usize == i));
        assert!(PROVENANCES.iter().enumerate().all(|(i, &p)| p as usize == i));
    }
}
