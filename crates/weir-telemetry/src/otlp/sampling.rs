//! Decides which exchanges become spans, when it is known how they ended.

use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;

use super::config::Sampling;

impl Sampling {
    /// Whether an exchange is kept: what is remarkable by itself, and a part of the rest. Of a trace
    /// that its client does not keep, only what is remarkable.
    pub(crate) fn keeps(&self, exchange: &Exchange) -> bool {
        let Some(place) = &exchange.trace else { return false };
        let asked_for = place.parent.as_ref().is_none_or(|parent| parent.sampled);
        self.is_remarkable(exchange) || (asked_for && place.trace_id.is_within(self.ratio))
    }

    fn is_remarkable(&self, exchange: &Exchange) -> bool {
        let went_well = matches!(exchange.outcome, Outcome::Completed | Outcome::Upgraded);
        let failed = !went_well || exchange.error_type.is_some();
        let first = exchange.timeline.ttft().unwrap_or_else(|| exchange.duration());
        let slow = self.slow.is_some_and(|slow| first.as_duration() > slow);
        let output = exchange.answer.output.as_ref();
        let stalled = output.is_some_and(|output| output.upstream_stalls.count > 0);
        (self.errors && failed) || slow || (self.stalls && stalled)
    }
}
