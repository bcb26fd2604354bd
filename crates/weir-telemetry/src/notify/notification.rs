//! What is told.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_core::exchange::WallTime;

/// An alert that fires, or no longer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The name of the alert.
    pub alert: String,
    /// Whether it fires.
    pub status: Status,
    /// How bad it is, such as `critical`, `warning` or `info`.
    pub severity: String,
    /// One line for people.
    pub summary: String,
    /// What is watched, for people.
    pub condition: String,
    /// What it was found to be, with its unit.
    pub value: String,
    /// What tells this alert from others of the same name.
    pub labels: BTreeMap<String, String>,
    /// What else is to be said.
    pub annotations: BTreeMap<String, String>,
    /// Since when it fires.
    pub starts_at: WallTime,
    /// Since when it no longer does.
    pub ends_at: Option<WallTime>,
}

/// Whether an alert fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It does.
    Firing,
    /// It did, and no longer does.
    Resolved,
}

impl Notification {
    /// The label set of the alert: its own labels, its severity, and its name, as others of that name do not
    /// stand.
    pub(super) fn label_set(&self) -> BTreeMap<&str, &str> {
        let mut labels = BTreeMap::new();
        if !self.severity.is_empty() {
            labels.insert("severity", &*self.severity);
        }
        labels.extend(self.labels.iter().map(|(name, value)| (&**name, &**value)));
        labels.insert("alertname", &*self.alert);
        labels
    }

    /// What is said of it. A text of its own goes before one of the same name made here.
    pub(super) fn all_annotations(&self) -> BTreeMap<&str, &str> {
        let own = [("summary", &self.summary), ("condition", &self.condition), ("value", &self.value)];
        let mut all: BTreeMap<_, _> = own
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, &**text))
            .collect();
        all.extend(self.annotations.iter().map(|(name, text)| (&**name, &**text)));
        all
    }
}
