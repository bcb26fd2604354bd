//! Everything that is held of one scope.

use std::collections::VecDeque;
use std::time::Duration;

use weir_core::gaps::Bins;

use crate::scope::Window;
use crate::time::Moment;

use super::budget::Budget;
use super::counts::{Count, Counts, Ring};
use super::figures::{
    Distribution, Figures, Goodput, Latencies, Lengths, Requests, Throughput, Tokens, quantiles,
};
use super::histogram::{Exact, Histogram};
use super::measure::Measure;
use super::sparkline::{GRAIN_S, POINTS, Peaks, Sparklines};
use super::track::{SLOT_S, SLOTS_A_MINUTE, Track};

type Recent = Ring<60, SLOT_S>;
type History = Ring<POINTS, GRAIN_S>;

#[derive(Debug)]
pub(super) struct Series {
    tracks: [Track; Measure::ALL.len()],
    recent: Recent,
    history: History,
    peaks: VecDeque<Peaks>,
    /// When something was last recorded.
    pub(super) active: Moment,
}

impl Series {
    /// Bytes that one holds beside its bins.
    pub(super) const FIXED_BYTES: usize = size_of::<Self>()
        + Measure::ALL.len() * (Track::FIXED_BYTES - size_of::<Track>())
        + Recent::BYTES
        + History::BYTES
        + POINTS * size_of::<Peaks>();

    pub(super) fn new(now: Moment) -> Self {
        Self {
            tracks: std::array::from_fn(|_| Track::new()),
            recent: Ring::new(now),
            history: Ring::new(now),
            peaks: VecDeque::with_capacity(POINTS),
            active: now,
        }
    }

    /// Moves the counts on to a moment.
    pub(super) fn advance(&mut self, now: Moment) {
        self.recent.advance(now);
        self.history.advance(now);
    }

    /// Closes a slot, and the minute and the point where they are over with it.
    pub(super) fn close(&mut self, slot: u64, budget: &mut Budget) {
        let minute_ends = (slot + 1).is_multiple_of(SLOTS_A_MINUTE);
        for track in &mut self.tracks {
            track.close(minute_ends, budget);
        }
        if (slot + 1).is_multiple_of(SLOTS_A_POINT) {
            self.close_point(slot / SLOTS_A_POINT);
        }
    }

    fn close_point(&mut self, point: u64) {
        let (ttft, itl) = (self.p95(Measure::Ttft), self.p95(Measure::Itl));
        if ttft.or(itl).is_some() {
            self.peaks.push_back(Peaks { point, ttft, itl });
        }
        while self.peaks.front().is_some_and(|peaks| peaks.point + POINTS as u64 <= point) {
            self.peaks.pop_front();
        }
    }

    /// Of the slots of a point that was just closed.
    fn p95(&self, measure: Measure) -> Option<f64> {
        let slots = self.tracks[measure as usize].slots();
        // What is put together here is gone again at once.
        let mut budget = Budget::new(usize::MAX);
        let mut sum = Histogram::default();
        for slot in slots.iter().rev().take(SLOTS_A_POINT as usize) {
            sum.merge(slot, &mut budget);
        }
        let [bin] = quantiles([&sum, &Histogram::default()], sum.exact.binned, [0.95]);
        let unit = measure.raw();
        bin.map(|bin| unit.middle(bin).min(unit.told(sum.exact.max as f64)))
    }

    /// Forgets all values, after a pause that outlasts every window.
    pub(super) fn clear(&mut self, budget: &mut Budget) {
        for track in &mut self.tracks {
            budget.resize(track.bytes(), 0);
            *track = Track::new();
        }
        self.peaks.clear();
    }

    /// Records a raw value in the open slot.
    pub(super) fn record(&mut self, measure: Measure, raw: u64, budget: &mut Budget) {
        self.tracks[measure as usize].open().record(measure.raw().bin(raw), raw, budget);
    }

    /// Records gaps in the open slot: `folded` are their bins, which are those of this grid.
    pub(super) fn record_gaps(
        &mut self,
        measure: Measure,
        gaps: &Bins,
        folded: impl Iterator<Item = (u16, u32)>,
        budget: &mut Budget,
    ) {
        let open = self.tracks[measure as usize].open();
        let mut last = None;
        for (bin, n) in folded {
            open.count(bin, n, budget);
            last = Some(bin);
        }
        // The greatest is that of the whole stream: it may have come before these gaps did.
        let unit = measure.raw();
        let max = match last {
            Some(last) if unit.bin(gaps.max_ns) != last => gaps.max_ns.min((unit.middle(last) * 1e9) as u64),
            _ => gaps.max_ns,
        };
        open.exact.add(Exact { count: gaps.count, binned: 0, sum: gaps.sum_ns, max });
    }

    /// Counts at a moment.
    pub(super) fn count(&mut self, at: Moment, count: Count, n: u64) {
        self.recent.add(at, count, n);
        self.history.add(at, count, n);
    }

    /// Spreads an amount evenly over a stretch of time.
    pub(super) fn spread(&mut self, from: Moment, to: Moment, count: Count, amount: u64) {
        self.recent.spread(from, to, count, amount);
        self.history.spread(from, to, count, amount);
    }

    /// The figures of a window that ends now. `None` if nothing is in it.
    pub(super) fn figures(&self, window: Window, now: Moment, started: Moment) -> Option<Figures> {
        let (counts, begun) = self.counts(window, now);
        let span_s = now.since(begun.max(started)).as_secs_f64();
        let distribution =
            |measure: Measure| Distribution::new(self.tracks[measure as usize].window(window), measure.raw());
        let latency = Latencies {
            ttft: distribution(Measure::Ttft),
            upstream_ttft: distribution(Measure::UpstreamTtft),
            itl: distribution(Measure::Itl),
            inter_chunk: distribution(Measure::InterChunk),
            tpot: distribution(Measure::Tpot),
            e2e: distribution(Measure::E2e),
            queue_wait: distribution(Measure::QueueWait),
        };
        let lengths = Lengths {
            input_tokens: distribution(Measure::InputTokens),
            output_tokens: distribution(Measure::OutputTokens),
            tps: distribution(Measure::Tps),
        };
        if counts.is_idle() && latency.itl.is_none() && latency.inter_chunk.is_none() {
            return None;
        }
        Some(Figures {
            span_s,
            requests: Requests::new(&counts, span_s),
            tokens: Tokens::new(&counts, span_s),
            throughput: Throughput::new(&counts, span_s, lengths.tps.as_ref()),
            goodput: Goodput::new(&counts, span_s),
            latency,
            lengths,
        })
    }

    /// What was counted in a window, and when its oldest slot began.
    fn counts(&self, window: Window, now: Moment) -> (Counts, Moment) {
        let slots_back = match window {
            Window::Minute => SLOTS_A_MINUTE - 1,
            Window::FiveMinutes => 5 * SLOTS_A_MINUTE - 1,
            Window::Hour => {
                let first_minute = now.periods(Duration::from_secs(60)).saturating_sub(59);
                let begun = Moment(0).plus(Duration::from_secs(first_minute.saturating_mul(60)));
                return (self.history.since(History::slot(begun)), begun);
            }
        };
        let first = Recent::slot(now).saturating_sub(slots_back);
        (self.recent.since(first), Moment(0).plus(Duration::from_secs(first.saturating_mul(SLOT_S))))
    }

    /// The last hour in points, from the start on.
    pub(super) fn sparklines(&self, now: Moment, started: Moment) -> Sparklines {
        let open = History::slot(now);
        let first = History::slot(started).max(open.saturating_sub(POINTS as u64 - 1));
        let mut lines = Sparklines::new(first);
        for point in first..open {
            let begun = Moment(0).plus(Duration::from_secs(point * GRAIN_S));
            let ended = begun.plus(Duration::from_secs(GRAIN_S));
            let peaks = self.peaks.binary_search_by_key(&point, |peaks| peaks.point).ok();
            let peaks = peaks.and_then(|at| self.peaks.get(at));
            if let Some(counts) = self.history.at(point) {
                lines.push(counts, peaks, ended.since(begun.max(started)).as_secs_f64());
            }
        }
        lines
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        Self::FIXED_BYTES + self.tracks.iter().map(Track::bytes).sum::<usize>()
    }
}

/// Slots in a point of the history.
const SLOTS_A_POINT: u64 = GRAIN_S / SLOT_S;
