//! What is told about alerts: plain data.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::{Rule, Severity};
use super::unit::Unit;
use crate::time::Moment;

/// Where an alert stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// Its condition does not hold.
    #[default]
    Inactive,
    /// Its condition holds, but not for as long as it must.
    Pending,
    /// It fires.
    Firing,
}

/// Why an alert went from one state into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The condition began to hold.
    Met,
    /// It held for as long as it must.
    Held,
    /// It ceased to hold.
    Cleared,
    /// There are no figures any more that could tell.
    NoData,
    /// The rule is gone, or has another condition now.
    RuleGone,
    /// The alert fires still, and is silenced no more: what was kept back is due now.
    SilenceEnded,
}

/// One comparison with the figures it had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The signal, as it stands in conditions.
    pub signal: Box<str>,
    /// What it is counted in.
    pub unit: Unit,
    /// Its value; `None`: there was no figure.
    pub value: Option<f64>,
    /// How it is compared: `>`, `>=`, `<`, `<=`, `==` or `!=`.
    pub comparator: Box<str>,
    /// What it is compared with; `None`: it is a baseline that there is none of yet.
    pub threshold: Option<f64>,
    /// Whether the comparison holds; `None`: it cannot be told.
    pub holds: Option<bool>,
}

/// A change of state, with all that actions need to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transition {
    /// The alert's name.
    pub alert: Box<str>,
    /// How grave it is.
    pub severity: Severity,
    /// Its condition.
    pub condition: Box<str>,
    /// The state it left.
    pub from: AlertState,
    /// The state it is in.
    pub to: AlertState,
    /// Why.
    pub cause: Cause,
    /// When.
    pub at: Moment,
    /// The comparison that decided; `None`: none did.
    pub reading: Option<Reading>,
    /// Its labels, without its name and severity.
    pub labels: BTreeMap<Box<str>, Box<str>>,
    /// Its texts.
    pub annotations: BTreeMap<Box<str>, Box<str>>,
    /// What is to be done, by name.
    pub actions: Vec<Box<str>>,
    /// It is silenced: nothing is begun. What was begun before is ended all the same.
    pub silenced: bool,
}

impl Transition {
    /// Whether the alert has ceased to fire.
    pub fn is_resolved(&self) -> bool {
        self.from == AlertState::Firing && self.to != AlertState::Firing
    }
}

/// A change of state that is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastTransition {
    /// The state it left.
    pub from: AlertState,
    /// The state it went into.
    pub to: AlertState,
    /// Why.
    pub cause: Cause,
    /// When.
    pub at: Moment,
    /// The value that decided.
    pub value: Option<f64>,
}

/// That someone has taken note of an alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledgement {
    /// When.
    pub at: Moment,
    /// What they wrote, such as their name; at most 256 bytes.
    pub note: Box<str>,
}

/// What people did about an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handling {
    /// Until when it is silenced; `None`: it is not.
    pub silenced_until: Option<Moment>,
    /// Who took note of it since it left `inactive`.
    pub acknowledged: Option<Acknowledgement>,
}

/// All about one alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertStatus {
    /// Its name.
    pub name: Box<str>,
    /// How grave it is.
    pub severity: Severity,
    /// Its condition.
    pub condition: Box<str>,
    /// What is done when it fires, by name.
    pub actions: Vec<Box<str>>,
    /// Its labels and texts.
    pub notes: Notes,
    /// Where it stands.
    pub state: AlertState,
    /// Since when; `None`: it has not changed since it was set up.
    pub since: Option<Moment>,
    /// There is no figure that could tell whether the condition holds.
    pub no_data: bool,
    /// What its comparisons read, from left to right. The one that decides stands first.
    pub readings: Vec<Reading>,
    /// When it last ceased to fire.
    pub last_resolved_at: Option<Moment>,
    /// What people did about it.
    pub handling: Handling,
    /// Its last changes, the oldest first.
    pub transitions: VecDeque<PastTransition>,
}

/// Labels and texts of an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notes {
    /// Its labels, without its name and severity.
    pub labels: BTreeMap<Box<str>, Box<str>>,
    /// Its texts: `summary`, `runbook_url` and others.
    pub annotations: BTreeMap<Box<str>, Box<str>>,
}

impl Notes {
    pub(super) fn of(rule: &Rule) -> Self {
        Self { labels: rule.labels.clone(), annotations: rule.annotations.clone() }
    }
}
