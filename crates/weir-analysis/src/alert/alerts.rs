//! All alerts of a set of rules.

use std::collections::BTreeMap;
use std::time::Duration;

use super::baseline::Baselines;
use super::judge::{Figures, judge};
use super::keep;
use super::rules::{Rule, Rules};
use super::signal::{Signal, Signals};
use super::status::{Acknowledgement, AlertState, AlertStatus, Cause, Notes, Transition};
use super::track::{Change, Track};
use crate::saved::{Row, SavedRow};
use crate::scope::Scope;
use crate::time::Moment;

/// Between two evaluations a condition counts as held, but for no longer than this: whoever slept longer
/// knows nothing of the time between.
const MAX_STEP: Duration = Duration::from_secs(10);

/// What someone writes about an alert may be this long.
const MAX_NOTE_BYTES: usize = 256;

/// The alerts of a set of rules, and where each of them stands.
#[derive(Clone, Debug)]
pub struct Alerts {
    rules: Rules,
    /// In the order of the rules.
    tracks: Vec<Track>,
    baselines: Baselines,
    evaluated: Option<Moment>,
    /// Rows that are to go.
    gone: Vec<Row>,
    broken: u64,
}

impl Alerts {
    /// Alerts that are all inactive.
    pub fn new(rules: Rules) -> Self {
        Self {
            tracks: vec![Track::default(); rules.rules().len()],
            baselines: Baselines::new(&rules),
            rules,
            evaluated: None,
            gone: Vec::new(),
            broken: 0,
        }
    }

    /// The rules.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Judges every condition, and says what changed, in the order of the rules. To be called once a second.
    pub fn evaluate(&mut self, now: Moment, signals: &dyn Signals) -> Vec<Transition> {
        let step = self.evaluated.map_or(Duration::ZERO, |before| now.since(before).min(MAX_STEP));
        self.evaluated = Some(now);
        self.baselines.sample(now, signals);
        let live = Live { signals, baselines: &self.baselines, now };
        let mut transitions = Vec::new();
        for (rule, track) in self.rules.rules().iter().zip(&mut self.tracks) {
            let changes = track.step(rule, judge(&rule.condition, &live), step, now);
            transitions.extend(changes.into_iter().map(|change| transition(rule, track, change, now)));
        }
        transitions
    }

    /// All about every alert, in the order of the rules.
    pub fn list(&self) -> Vec<AlertStatus> {
        self.rules.rules().iter().zip(&self.tracks).map(|(rule, track)| status(rule, track)).collect()
    }

    /// Keeps an alert's actions from being begun until a moment. False: there is no such alert.
    pub fn silence(&mut self, name: &str, until: Moment) -> bool {
        self.with(name, |track| track.handling.silenced_until = Some(until))
    }

    /// Ends a silence. False: there is no such alert.
    pub fn unsilence(&mut self, name: &str) -> bool {
        self.with(name, |track| track.handling.silenced_until = None)
    }

    /// Takes note that someone looks after an alert, until it is inactive again. False: there is no such
    /// alert, or it is inactive.
    pub fn acknowledge(&mut self, name: &str, at: Moment, note: &str) -> bool {
        let note = note[..note.floor_char_boundary(MAX_NOTE_BYTES)].into();
        let mut taken = false;
        self.with(name, |track| {
            taken = track.state != AlertState::Inactive;
            if taken {
                track.handling.acknowledged = Some(Acknowledgement { at, note });
            }
        });
        taken
    }

    fn with(&mut self, name: &str, change: impl FnOnce(&mut Track)) -> bool {
        let place = self.rules.rules().iter().position(|rule| *rule.name == *name);
        let Some(track) = place.and_then(|place| self.tracks.get_mut(place)) else { return false };
        change(track);
        track.changed = true;
        true
    }

    /// Goes on with other rules. Alerts whose name and condition are as before keep their state; the others
    /// begin anew, and those that fired are told to be over. A silence stays with the name.
    pub fn replace(&mut self, rules: Rules, now: Moment) -> Vec<Transition> {
        let before = std::mem::replace(&mut self.rules, rules);
        let tracks = std::mem::take(&mut self.tracks);
        let mut old: BTreeMap<&str, (&Rule, Track)> =
            before.rules().iter().zip(tracks).map(|(rule, track)| (&*rule.name, (rule, track))).collect();
        let mut transitions = Vec::new();
        for rule in self.rules.rules() {
            self.tracks.push(match old.remove(&*rule.name) {
                Some((before, track)) if before.condition == rule.condition => track,
                Some((before, mut track)) => {
                    transitions.extend(end(before, &track, now));
                    track.handling.acknowledged = None;
                    Track { handling: track.handling, changed: true, ..Track::default() }
                }
                None => Track::default(),
            });
        }
        for (name, (rule, track)) in old {
            transitions.extend(end(rule, &track, now));
            self.gone.push(keep::gone(name));
        }
        self.baselines.replace(&self.rules);
        transitions
    }

    /// The rows that changed since they were last asked for.
    pub fn rows(&mut self) -> Vec<Row> {
        let mut rows = std::mem::take(&mut self.gone);
        for (rule, track) in self.rules.rules().iter().zip(&mut self.tracks) {
            if std::mem::take(&mut track.changed) {
                rows.push(keep::row(rule, track));
            }
        }
        rows.extend(self.baselines.rows());
        rows
    }

    /// Takes up what a store held, before the first evaluation: firing alerts fire on without a word,
    /// pending ones go on from what they had. Rows of alerts that there are no rules of go.
    pub fn restore(&mut self, saved: &[SavedRow], now: Moment) {
        for saved in saved.iter().filter(|saved| saved.table == keep::TABLE) {
            let Some(place) = self.rules.rules().iter().position(|rule| *rule.name == *saved.key) else {
                self.gone.push(keep::gone(&saved.key));
                continue;
            };
            match keep::track(&self.rules.rules()[place], saved, now) {
                Some(track) => self.tracks[place] = track,
                None => self.broken += 1,
            }
        }
        self.baselines.restore(saved, now);
    }

    /// How many rows could not be read.
    pub const fn broken_rows(&self) -> u64 {
        self.broken + self.baselines.broken()
    }
}

/// Signals as they are, and as they usually are.
struct Live<'a> {
    signals: &'a dyn Signals,
    baselines: &'a Baselines,
    now: Moment,
}

impl Figures for Live<'_> {
    fn value(&self, signal: &Signal, scope: &Scope) -> Option<f64> {
        self.signals.read(signal, scope)
    }

    fn baseline(&self, signal: &Signal, scope: &Scope) -> Option<f64> {
        self.baselines.value(signal, scope, self.now)
    }
}

fn transition(rule: &Rule, track: &Track, change: Change, now: Moment) -> Transition {
    let Change { from, to, cause } = change;
    let Notes { labels, annotations } = Notes::of(rule);
    Transition {
        alert: rule.name.clone(),
        severity: rule.severity,
        condition: rule.condition.to_string().into(),
        from,
        to,
        cause,
        at: now,
        reading: track.readings.first().cloned(),
        labels,
        annotations,
        actions: rule.actions.clone(),
        silenced: track.is_silenced(now),
    }
}

/// That an alert is over since its rule is; `None`: it did not fire.
fn end(rule: &Rule, track: &Track, now: Moment) -> Option<Transition> {
    let change = Change { from: track.state, to: AlertState::Inactive, cause: Cause::RuleGone };
    (track.state == AlertState::Firing).then(|| transition(rule, track, change, now))
}

fn status(rule: &Rule, track: &Track) -> AlertStatus {
    AlertStatus {
        name: rule.name.clone(),
        severity: rule.severity,
        condition: rule.condition.to_string().into(),
        actions: rule.actions.clone(),
        notes: Notes::of(rule),
        state: track.state,
        since: track.since,
        no_data: track.no_data,
        readings: track.readings.clone(),
        last_resolved_at: track.last_resolved_at,
        handling: track.handling.clone(),
        transitions: track.past.clone(),
    }
}
