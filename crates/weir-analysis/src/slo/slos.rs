//! All SLOs of a process, fed by what was observed.

use weir_core::exchange::{Exchange, Pulse};

use super::budget::{Budget, Periods};
use super::burn::BurnWindow;
use super::classes::{AllowedShares, ClassCounts, ErrorClasses};
use super::config::{SloConfig, tighten};
use super::event::Judged;
use super::keep::{Kept, restore};
use super::sides::{Event, OwnRefusals};
use super::status::SloStatus;
use crate::saved::{Row, SavedRow};
use crate::time::Moment;
use crate::window::goodput::{Judgement, LatencyLimits};

/// Every SLO with its budget, and the classes of errors.
///
/// It goes by the moments that it is told. They may jump ahead by any time, and back by a little.
#[derive(Clone, Debug)]
pub struct Slos {
    slos: Vec<Kept>,
    own: OwnRefusals,
    classes: ClassCounts,
    allowed: AllowedShares,
    started: Moment,
    now: Moment,
    uncounted: Uncounted,
    outdated: Vec<Row>,
}

/// What could not be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncounted {
    /// Observations older than what is counted goes back.
    pub late: u64,
    /// Saved rows that could not be read, or lie in the future.
    pub broken_rows: u64,
}

impl Slos {
    /// SLOs that nothing was observed for. Their names differ.
    pub fn new(configs: Vec<SloConfig>, own: OwnRefusals, started: Moment) -> Self {
        let kept = |config| Kept::new(Budget::new(config, started), own);
        Self {
            slos: configs.into_iter().map(kept).collect(),
            own,
            classes: ClassCounts::new(started, Periods::of(started).minute),
            allowed: AllowedShares::default(),
            started,
            now: started,
            uncounted: Uncounted::default(),
            outdated: Vec::new(),
        }
    }

    /// The same with these shares allowed to the classes of errors.
    pub fn allowing(self, allowed: AllowedShares) -> Self {
        Self { allowed, ..self }
    }

    /// Counts an exchange that ended at this moment.
    pub fn exchange(&mut self, exchange: &Exchange, ended: Moment) {
        self.now = self.now.max(ended);
        let at = Periods::of(ended);
        let judged = Judged::new(exchange, self.own);
        let model = exchange.request.model.as_deref();
        let mut counted = self.classes.exchange(exchange.outcome, exchange.error_type, at.minute);
        for slo in &mut self.slos {
            counted &= slo.budget.exchange(&judged, model, at);
        }
        self.uncounted.late += u64::from(!counted);
    }

    /// Counts the gaps of a pulse that was taken at this moment.
    pub fn pulse(&mut self, pulse: &Pulse, at: Moment) {
        self.now = self.now.max(at);
        let periods = Periods::of(at);
        let mut counted = true;
        for slo in &mut self.slos {
            counted &= slo.budget.gaps(&pulse.gaps.itl, pulse.model.as_deref(), periods);
        }
        self.uncounted.late += u64::from(!counted);
    }

    /// Time has come this far.
    pub fn tick(&mut self, now: Moment) {
        self.now = self.now.max(now);
        let periods = Periods::of(self.now);
        self.classes.tick(periods.minute);
        for slo in &mut self.slos {
            slo.budget.tick(periods);
        }
    }

    /// How every SLO stands, in the order of configuration.
    pub fn status(&self, now: Moment) -> Vec<SloStatus> {
        self.slos.iter().map(|slo| slo.budget.status(now)).collect()
    }

    /// How fast the budget of an SLO burns over a window that ends at the latest moment told of. Absent
    /// for a name that no SLO has, and for a window without events.
    pub fn burn(&self, name: &str, window: BurnWindow) -> Option<f64> {
        self.budget(name)?.burn(window, self.now).burn
    }

    /// What is left of the error budget of an SLO, from 1 down. Absent for a name that no SLO has, and
    /// without events.
    pub fn remaining(&self, name: &str) -> Option<f64> {
        self.budget(name)?.remaining(self.now)
    }

    fn budget(&self, name: &str) -> Option<&Budget> {
        self.slos.iter().map(|slo| &slo.budget).find(|budget| &*budget.config.name == name)
    }

    /// The classes of errors.
    pub fn classes(&self, now: Moment) -> ErrorClasses {
        self.classes.status(&self.allowed, now, Periods::of(now).minute)
    }

    /// The strictest limits that are asked of exchanges with this model: by SLOs for every model, and by
    /// those for this one.
    pub fn latency_limits(&self, model: Option<&str>) -> LatencyLimits {
        let mut limits = LatencyLimits::default();
        for config in self.slos.iter().map(|slo| &slo.budget.config).filter(|config| config.covers(model)) {
            tighten(&mut limits, config.objective);
        }
        limits
    }

    /// Whether an exchange counts for goodput: whatever counts for availability does. Faults of clients,
    /// and clients that left, do not.
    pub fn counts_for_goodput(&self, exchange: &Exchange) -> bool {
        Judged::new(exchange, self.own).availability().is_some()
    }

    /// What the windows are to know of an exchange: whether it met every limit on its latency, and whether
    /// it was an error.
    pub fn judge(&self, exchange: &Exchange) -> Judgement {
        let error = Judged::new(exchange, self.own).error_rate();
        Judgement {
            met: self.latency_limits(exchange.request.model.as_deref()).verdict(exchange),
            counts: self.counts_for_goodput(exchange),
            error: error.map(|event| event == Event::Bad),
        }
    }

    /// What changed since the last call, to be written down: no more than 5,041 rows an SLO stand at once.
    pub fn rows(&mut self) -> Vec<Row> {
        let mut rows = std::mem::take(&mut self.outdated);
        for slo in &mut self.slos {
            slo.rows(&mut rows);
        }
        rows
    }

    /// Takes up what was written down before a restart. Rows that cannot be read are counted and let alone.
    pub fn restore(&mut self, saved: &[SavedRow]) {
        let restored = restore(&mut self.slos, saved, self.started);
        self.uncounted.broken_rows += restored.broken;
        self.outdated.extend(restored.outdated);
    }

    /// What could not be counted.
    pub const fn uncounted(&self) -> Uncounted {
        self.uncounted
    }
}
