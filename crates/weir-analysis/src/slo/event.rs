//! What event an exchange is for an SLO.

use std::time::Duration;

use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;
use weir_core::timeline::Mark;

use super::config::Objective;
use super::sides::{Event, OwnRefusals, Sides, sides};

/// An exchange with what every SLO asks of it.
pub(super) struct Judged<'a> {
    exchange: &'a Exchange,
    sides: Sides,
    own: OwnRefusals,
}

impl<'a> Judged<'a> {
    pub(super) fn new(exchange: &'a Exchange, own: OwnRefusals) -> Self {
        Self { exchange, sides: sides(exchange.outcome, exchange.error_type), own }
    }

    /// The event that it is; `None` where it does not count.
    pub(super) fn event(&self, objective: Objective) -> Option<Event> {
        match objective {
            Objective::Ttft(limit) => self.ttft(limit),
            // Its gaps came in pulses.
            Objective::Itl(_) => None,
            Objective::Tpot(limit) => {
                self.exchange.tpot().map(|tpot| Event::good_if(tpot <= limit.as_secs_f64()))
            }
            Objective::E2e(limit) => self.e2e(limit),
            Objective::QueueWait(limit) => self.queue_wait(limit),
            Objective::ErrorRate => self.error_rate(),
            Objective::Availability => self.availability(),
        }
    }

    /// The event that it is for availability.
    pub(super) const fn availability(&self) -> Option<Event> {
        self.sides.availability.event(self.own)
    }

    /// The event that it is for the error rate.
    pub(super) const fn error_rate(&self) -> Option<Event> {
        self.sides.error_rate.event(self.own)
    }

    /// A stream whose first token never came is bad if the server's side failed it, and if its client left
    /// after the limit.
    fn ttft(&self, limit: Duration) -> Option<Event> {
        let exchange = self.exchange;
        if let Some(ttft) = exchange.timeline.ttft() {
            return Some(Event::good_if(ttft.as_duration() <= limit));
        }
        // Of an answer that could not be read in time it is not known whether the token came.
        let untimed = exchange.answer.unpacked.is_some_and(|unpacked| !unpacked.is_timed());
        if !exchange.request.stream || untimed {
            return None;
        }
        self.never(Duration::ZERO, limit)
    }

    /// An answer that never came to its end is bad if the server's side failed it, and if its client left
    /// after the limit. What is no request to a model and carried no token does not count.
    fn e2e(&self, limit: Duration) -> Option<Event> {
        let timeline = &self.exchange.timeline;
        let generic = self.exchange.request.dialect == Dialect::Other && timeline.ttft().is_none();
        match self.availability() {
            _ if generic => None,
            Some(Event::Good) => timeline.e2e().map(|e2e| Event::good_if(e2e.as_duration() <= limit)),
            _ => self.never(Duration::ZERO, limit),
        }
    }

    /// A wait that did not end in admission is bad if Weir turned the request away, and if its client left
    /// after the limit.
    fn queue_wait(&self, limit: Duration) -> Option<Event> {
        let timeline = &self.exchange.timeline;
        if let Some(wait) = timeline.queue_wait() {
            return Some(Event::good_if(wait.as_duration() <= limit));
        }
        let queued = timeline.at(Mark::Queued)?;
        self.never(queued.as_duration(), limit)
    }

    /// For what was waited for since `from` and never came.
    fn never(&self, from: Duration, limit: Duration) -> Option<Event> {
        let left = matches!(
            self.exchange.outcome,
            Outcome::ClientGoneBeforeFirstToken | Outcome::ClientGoneMidStream
        );
        let waited = self.exchange.duration().as_duration().saturating_sub(from);
        let bad = self.availability() == Some(Event::Bad) || (left && waited > limit);
        bad.then_some(Event::Bad)
    }
}
