//! What an exchange that is over adds to every series it belongs to, worked out once.

use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;
use weir_core::timeline::{Mark, Offset};
use weir_core::usage::Provenance;

use crate::time::Moment;

use super::budget::Budget;
use super::counts::Count;
use super::goodput::Judgement;
use super::measure::Measure;
use super::series::Series;

/// A stretch of time.
type Stretch = (Moment, Moment);

pub(super) struct Ended {
    at: Moment,
    values: [(Measure, Option<u64>); 8],
    abandoned: bool,
    busy: Option<Stretch>,
    queued: Option<Stretch>,
    input: (Moment, u64),
    /// Output tokens that no pulse told of, and when they flowed.
    untold: (Stretch, u64),
    judged: Judgement,
    output_tokens: u64,
}

impl Ended {
    pub(super) fn new(exchange: &Exchange, at: Moment, judged: Judgement) -> Self {
        let timeline = &exchange.timeline;
        let moment =
            |offset: Offset| at.minus(Offset(exchange.duration().0.saturating_sub(offset.0)).as_duration());
        let mark = |mark: Mark| timeline.at(mark).map(moment);
        let first_token = mark(Mark::FirstToken).unwrap_or(at);
        let tokens = exchange.answer.tokens;
        let told = exchange.answer.output.as_ref().map_or(0, |output| output.tokens);
        let counted = tokens.filter(|tokens| tokens.provenance != Provenance::CountedChunks);
        Self {
            at,
            values: values(exchange),
            abandoned: abandoned(exchange.outcome),
            busy: mark(Mark::Admitted).map(|admitted| (admitted, at)),
            queued: mark(Mark::Queued).map(|queued| (queued, mark(Mark::Admitted).unwrap_or(at))),
            input: (first_token, input(exchange).unwrap_or(0)),
            untold: (
                (first_token, mark(Mark::LastToken).unwrap_or(at)),
                counted.map_or(0, |tokens| tokens.count.saturating_sub(told)),
            ),
            judged,
            output_tokens: tokens.map_or(0, |tokens| tokens.count),
        }
    }

    /// Adds it to a series.
    pub(super) fn record(&self, series: &mut Series, budget: &mut Budget) {
        for (measure, value) in self.values {
            if let Some(raw) = value {
                series.record(measure, raw, budget);
            }
        }
        let good = self.judged.counts && self.judged.met == Some(true);
        for (count, n) in [
            (Count::Requests, 1),
            (Count::Answered, self.judged.error.is_some().into()),
            (Count::Errors, (self.judged.error == Some(true)).into()),
            (Count::Abandoned, self.abandoned.into()),
            (Count::Judged, (self.judged.counts && self.judged.met.is_some()).into()),
            (Count::Good, good.into()),
            (Count::GoodTokens, if good { self.output_tokens } else { 0 }),
        ] {
            if n > 0 {
                series.count(self.at, count, n);
            }
        }
        series.count(self.input.0, Count::InputTokens, self.input.1);
        for (stretch, count) in [(self.busy, Count::BusyNs), (self.queued, Count::QueuedNs)] {
            if let Some((from, to)) = stretch.filter(|(from, to)| to > from) {
                series.spread(from, to, count, to.0 - from.0);
            }
        }
        let ((from, to), untold) = self.untold;
        if untold > 0 {
            series.spread(from, to, Count::OutputTokens, untold);
        }
    }
}

/// Raw values in the unit of each measure. Gaps are told by pulses.
fn values(exchange: &Exchange) -> [(Measure, Option<u64>); 8] {
    let timeline = &exchange.timeline;
    let completed = exchange.outcome == Outcome::Completed;
    let nanos = |offset: Offset| offset.0;
    [
        (Measure::Ttft, timeline.ttft().map(nanos)),
        (Measure::UpstreamTtft, timeline.upstream_ttft().map(nanos)),
        (Measure::Tpot, exchange.tpot().map(|seconds| (seconds * 1e9).round() as u64)),
        (Measure::Tps, exchange.tps().map(|rate| (rate * 1e6).round() as u64)),
        (Measure::E2e, timeline.e2e().filter(|_| completed).map(nanos)),
        (Measure::QueueWait, timeline.queue_wait().map(nanos)),
        (Measure::InputTokens, input(exchange)),
        (Measure::OutputTokens, exchange.answer.tokens.map(|tokens| tokens.count)),
    ]
}

fn input(exchange: &Exchange) -> Option<u64> {
    exchange.answer.usage.and_then(|usage| usage.input)
}

const fn abandoned(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::ClientGoneBeforeFirstToken | Outcome::ClientGoneMidStream)
}
