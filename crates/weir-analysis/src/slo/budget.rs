//! The good and the bad events of one SLO, and what follows from them.

use std::time::Duration;

use super::burn::{BurnRule, BurnWindow, RULES};
use super::config::{Objective, SloConfig};
use super::event::Judged;
use super::itl::EdgeLimit;
use super::ring::Ring;
use super::sides::Event;
use super::status::{BudgetStatus, BurnAlert, BurnStatus, SloStatus};
use crate::time::Moment;

/// The budget is one of this time, rolling.
pub(super) const PERIOD: Duration = Duration::from_secs(30 * 86_400);
/// The present burn, by which it is told how long the budget lasts, is that of this window.
const PRESENT: BurnWindow = BurnWindow::Hour;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
/// Three days.
const MINUTES: usize = 4_320;
/// Thirty days.
const HOURS: usize = 720;

/// A moment as the rings count it, worked out once for all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Periods {
    pub(super) minute: u64,
    pub(super) hour: u64,
}

impl Periods {
    pub(super) fn of(moment: Moment) -> Self {
        let minute = moment.periods(MINUTE);
        Self { minute, hour: minute / 60 }
    }
}

/// One SLO with its counts.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    pub(super) config: SloConfig,
    itl: Option<EdgeLimit>,
    /// Good and bad events by the minute.
    pub(super) minutes: Ring<2>,
    /// Good and bad events by the hour.
    pub(super) hours: Ring<2>,
    /// Since when events were counted, restarts not looked at.
    pub(super) since: Moment,
}

impl Budget {
    pub(super) fn new(config: SloConfig, started: Moment) -> Self {
        let itl = match config.objective {
            Objective::Itl(limit) => Some(EdgeLimit::nearest(limit)),
            _ => None,
        };
        let now = Periods::of(started);
        Self {
            config,
            itl,
            minutes: Ring::new(MINUTES, now.minute),
            hours: Ring::new(HOURS, now.hour),
            since: started,
        }
    }

    /// Counts an exchange. False: it ended longer ago than is counted.
    pub(super) fn exchange(&mut self, judged: &Judged<'_>, model: Option<&str>, at: Periods) -> bool {
        if !self.config.covers(model) {
            return true;
        }
        match judged.event(self.config.objective) {
            Some(Event::Good) => self.add([1, 0], at),
            Some(Event::Bad) => self.add([0, 1], at),
            None => true,
        }
    }

    /// Counts gaps, where they are what this SLO is about. False: they are older than is counted.
    pub(super) fn gaps(&mut self, gaps: &weir_core::gaps::Bins, model: Option<&str>, at: Periods) -> bool {
        match self.itl {
            Some(limit) if self.config.covers(model) && gaps.count > 0 => self.add(limit.split(gaps), at),
            _ => true,
        }
    }

    fn add(&mut self, counts: [u64; 2], at: Periods) -> bool {
        let (minute, hour) = (self.minutes.add(at.minute, &counts), self.hours.add(at.hour, &counts));
        minute && hour
    }

    pub(super) fn tick(&mut self, now: Periods) {
        self.minutes.advance(now.minute);
        self.hours.advance(now.hour);
    }

    /// The limit that holds in fact, of a latency.
    pub(super) fn effective_limit(&self) -> Option<Duration> {
        self.itl.map(EdgeLimit::effective).or(self.config.objective.limit())
    }

    pub(super) fn burn(&self, window: BurnWindow, now: Moment) -> BurnStatus {
        let length = window.length();
        let counts = self.minutes.sum(Periods::of(now).minute, window.minutes());
        let covered = now.since(self.since).min(length);
        let bad_share = bad_share(counts);
        BurnStatus {
            window,
            covered_s: covered.as_secs_f64(),
            partial: covered < length,
            good: counts[0],
            bad: counts[1],
            good_share: bad_share.map(|share| 1.0 - share),
            burn: bad_share.and_then(|share| self.burn_of(share)),
        }
    }

    fn budget(&self, now: Moment, present: &BurnStatus) -> BudgetStatus {
        let counts = self.hours.sum(Periods::of(now).hour, HOURS as u64);
        let covered = now.since(self.since).min(PERIOD);
        let bad_share = bad_share(counts);
        let remaining = self.remaining_after(bad_share);
        BudgetStatus {
            covered_s: covered.as_secs_f64(),
            partial: covered < PERIOD,
            good: counts[0],
            bad: counts[1],
            good_share: bad_share.map(|share| 1.0 - share),
            remaining,
            exhausted_in_s: remaining.and_then(|remaining| self.exhausted_in(remaining, present)),
        }
    }

    /// What is left of the budget: see [`BudgetStatus::remaining`].
    pub(super) fn remaining(&self, now: Moment) -> Option<f64> {
        self.remaining_after(bad_share(self.hours.sum(Periods::of(now).hour, HOURS as u64)))
    }

    fn remaining_after(&self, bad_share: Option<f64>) -> Option<f64> {
        bad_share.and_then(|share| self.burn_of(share)).map(|burnt| 1.0 - burnt)
    }

    /// How long the budget lasts at the present burn, in seconds. A burn of 1 or less never uses it up.
    fn exhausted_in(&self, remaining: f64, present: &BurnStatus) -> Option<f64> {
        if remaining <= 0.0 {
            return Some(0.0);
        }
        let enough = present.events() >= self.config.min_events;
        let burn = present.burn.filter(|burn| enough && *burn > 1.0)?;
        Some(remaining * PERIOD.as_secs_f64() / burn)
    }

    /// A share of bad events as a multiple of the share that the budget allows.
    fn burn_of(&self, bad_share: f64) -> Option<f64> {
        let allowed = 1.0 - self.config.target;
        (allowed > 0.0).then(|| bad_share / allowed)
    }

    pub(super) fn status(&self, now: Moment) -> SloStatus {
        let windows: Vec<_> = BurnWindow::ALL.into_iter().map(|window| self.burn(window, now)).collect();
        let alerts: Vec<_> = RULES.iter().map(|rule| self.alert(rule, &windows)).collect();
        let present = self.burn(PRESENT, now);
        let config = &self.config;
        SloStatus {
            name: config.name.clone(),
            objective: config.objective.text(config.target),
            kind: config.objective.as_str().into(),
            model: config.model.clone(),
            target: config.target,
            limit_s: config.objective.limit().map(|limit| limit.as_secs_f64()),
            effective_limit_s: self.effective_limit().map(|limit| limit.as_secs_f64()),
            min_events: config.min_events,
            budget: self.budget(now, &present),
            windows,
            severity: alerts.iter().filter(|alert| alert.firing).map(|alert| alert.severity).max(),
            alerts,
        }
    }

    fn alert(&self, rule: &BurnRule, windows: &[BurnStatus]) -> BurnAlert {
        let above = |window| {
            windows.iter().find(|status| status.window == window).is_some_and(|status| {
                status.events() >= self.config.min_events.max(1)
                    && status.burn.is_some_and(|burn| burn > rule.factor)
            })
        };
        BurnAlert {
            severity: rule.severity,
            long: rule.long,
            short: rule.short,
            factor: rule.factor,
            firing: above(rule.long) && above(rule.short),
        }
    }
}

/// The share of bad events; `None` where there were no events.
fn bad_share([good, bad]: [u64; 2]) -> Option<f64> {
    let events = good.saturating_add(bad);
    (events > 0).then(|| bad as f64 / events as f64)
}

/// The seconds since the Unix epoch at which a period of this many seconds begins.
pub(super) const MINUTE_S: u64 = MINUTE.as_secs();
/// As [`MINUTE_S`], for hours.
pub(super) const HOUR_S: u64 = HOUR.as_secs();
