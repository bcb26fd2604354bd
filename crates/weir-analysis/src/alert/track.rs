//! The states that one alert goes through.

use std::collections::VecDeque;
use std::time::Duration;

use super::judge::Judged;
use super::rules::Rule;
use super::status::{AlertState, Cause, Handling, PastTransition, Reading};
use crate::time::Moment;

/// How many changes are remembered.
const MAX_PAST: usize = 16;

/// After a restart, figures are missing at first. A firing alert fires on for this long without any.
pub(super) const RESTART_GRACE: Duration = Duration::from_secs(120);

/// One alert.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Track {
    pub(super) state: AlertState,
    /// When it went into its state.
    pub(super) since: Option<Moment>,
    /// Pending: how long the condition has held. Firing: how long it has not held, if it does not.
    pub(super) run: Option<Duration>,
    /// How long it may fire on without data, since it was restored.
    pub(super) grace: Duration,
    /// It began to fire while silenced, and nobody was told.
    pub(super) untold: bool,
    pub(super) last_resolved_at: Option<Moment>,
    pub(super) handling: Handling,
    pub(super) past: VecDeque<PastTransition>,
    /// What was read last.
    pub(super) readings: Vec<Reading>,
    pub(super) no_data: bool,
    /// Since its row was last asked for.
    pub(super) changed: bool,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) from: AlertState,
    pub(super) to: AlertState,
    pub(super) cause: Cause,
}

impl Track {
    /// Moves on by one evaluation, `step` after the one before.
    pub(super) fn step(&mut self, rule: &Rule, judged: Judged, step: Duration, now: Moment) -> Vec<Change> {
        let Judged { holds, readings } = judged;
        self.readings = readings;
        self.no_data = holds.is_none();
        let mut changes = Vec::new();
        match self.state {
            AlertState::Inactive | AlertState::Pending => self.rise(rule, holds, step, now, &mut changes),
            AlertState::Firing => self.fall(rule, holds, step, now, &mut changes),
        }
        self.tell_late(now, &mut changes);
        changes
    }

    /// Towards firing, and back if the condition ceases to hold before.
    fn rise(
        &mut self,
        rule: &Rule,
        holds: Option<bool>,
        step: Duration,
        now: Moment,
        changes: &mut Vec<Change>,
    ) {
        if holds != Some(true) {
            if self.state == AlertState::Pending {
                let cause = if holds.is_none() { Cause::NoData } else { Cause::Cleared };
                changes.push(self.change(AlertState::Inactive, cause, now));
            }
            return;
        }
        let held = match self.run {
            Some(run) if self.state == AlertState::Pending => run.saturating_add(step),
            _ => Duration::ZERO,
        };
        if held >= rule.condition.held() {
            let cause = if self.state == AlertState::Pending { Cause::Held } else { Cause::Met };
            changes.push(self.change(AlertState::Firing, cause, now));
            return;
        }
        if self.state == AlertState::Inactive {
            changes.push(self.change(AlertState::Pending, Cause::Met, now));
        }
        self.run = Some(held);
        self.changed = true;
    }

    /// Away from firing, when the condition has not held for long enough.
    fn fall(
        &mut self,
        rule: &Rule,
        holds: Option<bool>,
        step: Duration,
        now: Moment,
        changes: &mut Vec<Change>,
    ) {
        self.grace = self.grace.saturating_sub(step);
        if holds.is_none() && !self.grace.is_zero() {
            return;
        }
        self.grace = Duration::ZERO;
        if holds == Some(true) {
            self.changed |= self.run.take().is_some();
            return;
        }
        let quiet = self.run.map_or(Duration::ZERO, |run| run.saturating_add(step));
        if quiet >= rule.keep_firing_for {
            let cause = if holds.is_none() { Cause::NoData } else { Cause::Cleared };
            changes.push(self.change(AlertState::Inactive, cause, now));
            return;
        }
        self.run = Some(quiet);
        self.changed = true;
    }

    /// Takes note of silences: one that ends while the alert fires makes up for what was kept back.
    fn tell_late(&mut self, now: Moment, changes: &mut Vec<Change>) {
        let silenced = self.is_silenced(now);
        if !silenced && self.handling.silenced_until.take().is_some() {
            self.changed = true;
        }
        let began = changes.iter().any(|change| change.to == AlertState::Firing);
        if self.state != AlertState::Firing {
            self.untold = false;
        } else if began {
            self.untold = silenced;
        } else if self.untold && !silenced {
            self.untold = false;
            changes.push(self.change(AlertState::Firing, Cause::SilenceEnded, now));
        }
    }

    /// Whether it is silenced at a moment.
    pub(super) fn is_silenced(&self, now: Moment) -> bool {
        self.handling.silenced_until.is_some_and(|until| until > now)
    }

    fn change(&mut self, to: AlertState, cause: Cause, now: Moment) -> Change {
        let from = std::mem::replace(&mut self.state, to);
        if from != to {
            self.since = Some(now);
            self.run = None;
        }
        if from == AlertState::Firing && to != AlertState::Firing {
            self.last_resolved_at = Some(now);
        }
        if to == AlertState::Inactive {
            self.handling.acknowledged = None;
        }
        if self.past.len() == MAX_PAST {
            self.past.pop_front();
        }
        let value = self.readings.first().and_then(|reading| reading.value);
        self.past.push_back(PastTransition { from, to, cause, at: now, value });
        self.changed = true;
        Change { from, to, cause }
    }
}
