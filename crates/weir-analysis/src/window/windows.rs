//! All series, and what is recorded in them.

use weir_core::exchange::{Exchange, Pulse};
use weir_core::observation::Tick;

use crate::scope::{Scope, Window};
use crate::time::Moment;

use super::budget::{Budget, Memory};
use super::counts::{Count, Ring};
use super::crowd::CrowdWatch;
use super::ended::Ended;
use super::figures::Figures;
use super::goodput::Judgement;
use super::measure::Measure;
use super::registry::Registry;
use super::series::Series;
use super::sparkline::Sparklines;
use super::track::SLOT_S;

/// What the windows may hold, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowsConfig {
    /// Bytes that all series may hold together; the slack of lists may pass it by an eighth. The series over all is held in any case (about 0.1 MB
    /// without its bins).
    pub memory: usize,
    /// Models told apart, beside `unknown` and `other`; upstreams likewise.
    pub max_models: usize,
    /// Models that have a place in any case.
    pub known_models: Vec<Box<str>>,
    /// When observing began. Rates never divide by time before this.
    pub started: Moment,
}

/// The sliding windows of everything that was observed.
///
/// Time is that of what is recorded, and never goes back: what comes late counts where it belongs, as
/// far as it is counted, while its values are those of the open slot.
#[derive(Debug)]
pub struct Windows {
    pub(super) overall: Series,
    pub(super) models: Registry,
    pub(super) upstreams: Registry,
    budget: Budget,
    watch: CrowdWatch,
    started: Moment,
    now: Moment,
}

/// Slots after which nothing is left in any window.
const FORGOTTEN: u64 = 3_600 / SLOT_S;

impl Windows {
    /// Without anything in them.
    pub fn new(config: WindowsConfig) -> Self {
        let WindowsConfig { memory, max_models, known_models, started } = config;
        let mut budget = Budget::new(memory);
        budget.resize(0, Series::FIXED_BYTES);
        Self {
            overall: Series::new(started),
            models: Registry::new(max_models, known_models.into_iter()),
            upstreams: Registry::new(max_models, std::iter::empty()),
            budget,
            watch: CrowdWatch::default(),
            started,
            now: started,
        }
    }

    /// Records an exchange that ended. One that was answered with success opens the series of its model.
    pub fn exchange(&mut self, exchange: &Exchange, ended: Moment, judged: Judgement) {
        self.advance(ended);
        let told = Ended::new(exchange, ended, judged);
        let opens = exchange.status.is_some_and(|status| (200..300).contains(&status));
        let model = exchange.request.model.as_deref();
        self.each(model, Some(&exchange.upstream), opens, |series, budget| told.record(series, budget));
    }

    /// Records what a stream has put out. Output opens the series of its model, too: a stream may run for
    /// long before its exchange is over.
    pub fn pulse(&mut self, pulse: &Pulse, at: Moment) {
        self.advance(at);
        let upstream = pulse.upstream.as_deref();
        self.each(pulse.model.as_deref(), upstream, pulse.tokens > 0, |series, budget| {
            series.count(at, Count::OutputTokens, pulse.tokens);
            let gaps = [(Measure::Itl, &pulse.gaps.itl), (Measure::InterChunk, &pulse.gaps.inter_chunk)];
            for (measure, bins) in gaps {
                if bins.count > 0 {
                    // The grid is that of the gaps' bins, and goes on where those end.
                    series.record_gaps(measure, bins, bins.slots.iter().copied(), budget);
                }
            }
        });
    }

    /// Takes note of the time and of what is in flight.
    pub fn tick(&mut self, now: Moment, tick: &Tick) {
        self.advance(now);
        let Some(crowd) = self.watch.tick(now, tick) else { return };
        self.overall.count(now, Count::WatchedNs, crowd.watched_ns);
        self.overall.count(now, Count::InFlightNs, crowd.in_flight_ns);
        self.overall.count(now, Count::WaitingNs, crowd.waiting_ns);
    }

    /// The figures of a window that ends with what was recorded last. `None` for a scope that is not told
    /// apart, and where nothing is in the window.
    pub fn figures(&self, scope: &Scope, window: Window) -> Option<Figures> {
        self.find(scope)?.figures(window, self.now, self.started)
    }

    /// Every scope that is told apart: over all, the models and the upstreams, by name.
    pub fn scopes(&self) -> Vec<Scope> {
        let models = self.models.names().map(|name| Scope::Model(name.into()));
        let upstreams = self.upstreams.names().map(|name| Scope::Upstream(name.into()));
        std::iter::once(Scope::Overall).chain(models).chain(upstreams).collect()
    }

    /// The last hour in fine grain. `None` for a scope that is not told apart.
    pub fn sparklines(&self, scope: &Scope) -> Option<Sparklines> {
        Some(self.find(scope)?.sparklines(self.now, self.started))
    }

    /// What they hold, and what found no room.
    pub fn memory(&self) -> Memory {
        let (models, upstreams) = (&self.models, &self.upstreams);
        self.budget.reading(models.turned_away + upstreams.turned_away, models.dropped + upstreams.dropped)
    }

    fn find(&self, scope: &Scope) -> Option<&Series> {
        match scope {
            Scope::Overall => Some(&self.overall),
            Scope::Model(name) => self.models.find(name),
            Scope::Upstream(name) => self.upstreams.find(name),
        }
    }

    /// Has every series recorded in that something belongs to.
    fn each(
        &mut self,
        model: Option<&str>,
        upstream: Option<&str>,
        opens: bool,
        record: impl Fn(&mut Series, &mut Budget),
    ) {
        let Self { overall, models, upstreams, budget, now, .. } = self;
        record(overall, budget);
        if let Some(series) = models.place(model, opens, *now, budget) {
            record(series, budget);
        }
        // Upstreams are named by the configuration, not by clients.
        if let Some(series) = upstreams.place(upstream, true, *now, budget) {
            record(series, budget);
        }
    }

    /// Closes the slots that are over at `now`.
    fn advance(&mut self, now: Moment) {
        if now <= self.now {
            return;
        }
        let (from, to) = (Ring::<1, SLOT_S>::slot(self.now), Ring::<1, SLOT_S>::slot(now));
        self.now = now;
        if from == to {
            return;
        }
        let Self { overall, models, upstreams, budget, .. } = self;
        for series in std::iter::once(overall).chain(models.all_mut()).chain(upstreams.all_mut()) {
            if to - from > FORGOTTEN {
                series.clear(budget);
            } else {
                (from..to).for_each(|slot| series.close(slot, budget));
            }
            series.advance(now);
        }
        budget.settle();
    }
}
