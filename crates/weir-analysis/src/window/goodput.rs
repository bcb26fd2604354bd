//! Goodput: which exchanges met every limit on their latency, by their exact values. The rule is that of
//! `vllm bench serve --goodput`: a value that equals its limit meets it, and an answer of one token has a
//! TPOT of 0.

use std::time::Duration;

use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;
use weir_core::timeline::Offset;

/// Limits on the latencies of one exchange. Without a limit a latency is not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyLimits {
    /// Time to first token as the client sees it.
    pub ttft: Option<Duration>,
    /// Mean gap per token of the exchange, as it flowed.
    pub itl: Option<Duration>,
    /// Time per output token after the first; see [`Exchange::tpot`].
    pub tpot: Option<Duration>,
    /// End to end; see [`Timeline::e2e`](weir_core::timeline::Timeline::e2e).
    pub e2e: Option<Duration>,
    /// Time spent waiting for admission.
    pub queue_wait: Option<Duration>,
}

/// What the windows are told of an exchange by whoever knows the objectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it met every limit: what [`LatencyLimits::verdict`] says. Absent: it is left out.
    pub met: Option<bool>,
    /// Whether it counts at all. By the rule it does if it completed, or failed through a fault of the
    /// server's side; a refusal or a client that left does not.
    pub counts: bool,
    /// Whether it was an error, by the error rate's rule. Absent: it does not count for that.
    pub error: Option<bool>,
}

impl LatencyLimits {
    /// Whether an exchange met every limit. One that did not complete did not, nor did a stream that
    /// completed without a token where there is a limit on tokens. A limit on what an exchange does not
    /// have (an answer that is no stream has no TTFT) is passed over; `None` if no limit is left.
    pub fn verdict(&self, exchange: &Exchange) -> Option<bool> {
        let limits = [
            (self.ttft, exchange.timeline.ttft()),
            (self.itl, itl(exchange)),
            (self.tpot, tpot(exchange)),
            (self.e2e, exchange.timeline.e2e()),
            (self.queue_wait, exchange.timeline.queue_wait()),
        ];
        if limits.iter().all(|(limit, _)| limit.is_none()) {
            return None;
        }
        let tokens_are_limited = self.ttft.or(self.itl).or(self.tpot).is_some();
        let empty = exchange.answer.stream && exchange.timeline.ttft().is_none();
        if exchange.outcome != Outcome::Completed || (empty && tokens_are_limited) {
            return Some(false);
        }
        let judged = limits.iter().filter_map(|&(limit, value)| Some(value?.as_duration() <= limit?));
        judged.reduce(|all, met| all && met)
    }
}

fn itl(exchange: &Exchange) -> Option<Offset> {
    let output = exchange.answer.output.as_ref()?;
    output.gaps.itl.mean().or_else(|| (output.tokens == 1).then_some(Offset(0)))
}

/// Rounded to nanoseconds, so that a value that equals its limit is not thought above it.
fn tpot(exchange: &Exchange) -> Option<Offset> {
    if exchange.answer.tokens.is_some_and(|tokens| tokens.count == 1) {
        return Some(Offset(0));
    }
    exchange.tpot().map(|seconds| Offset((seconds * 1e9).round() as u64))
}
