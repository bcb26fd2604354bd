//! What is told of an alert, out of what is known of it.

use std::collections::BTreeMap;

use weir_analysis::alert::status::Reading;
use weir_analysis::alert::{AlertState, AlertStatus, Cause, Transition};
use weir_analysis::time::Moment;
use weir_core::exchange::WallTime;
use weir_telemetry::notify::{Notification, Status};

use super::value::in_words;

/// The annotation that tells a scaler how many replicas are asked for.
pub(super) const DESIRED_REPLICAS: &str = "desired_replicas";

/// That an alert fires, and since when it does.
pub(super) fn firing(transition: &Transition, since: Moment) -> Notification {
    Notification {
        alert: transition.alert.to_string(),
        status: Status::Firing,
        severity: transition.severity.as_str().to_owned(),
        summary: summary(transition),
        condition: transition.condition.to_string(),
        value: value(transition),
        labels: texts(&transition.labels),
        annotations: texts(&transition.annotations),
        starts_at: WallTime(since.0),
        ends_at: None,
    }
}

/// That it is over. Labels and severity are those that were told first, whatever the rule says by now:
/// whoever was told knows the alert by them.
pub(super) fn resolved(told: &Notification, at: Moment, by: Option<&Transition>) -> Notification {
    let mut resolved = Notification {
        status: Status::Resolved,
        ends_at: Some(WallTime(at.0).max(told.starts_at)),
        ..told.clone()
    };
    resolved.annotations.remove(DESIRED_REPLICAS);
    if let Some(transition) = by {
        resolved.summary = summary(transition);
        resolved.value = value(transition);
    }
    resolved
}

/// An alert that fires already, as if it had only begun to.
pub(super) fn standing(status: &AlertStatus, at: Moment) -> Transition {
    Transition {
        alert: status.name.clone(),
        severity: status.severity,
        condition: status.condition.clone(),
        from: AlertState::Firing,
        to: AlertState::Firing,
        cause: Cause::Held,
        at,
        reading: status.readings.first().cloned(),
        labels: status.notes.labels.clone(),
        annotations: status.notes.annotations.clone(),
        actions: status.actions.clone(),
        silenced: status.handling.silenced_until.is_some_and(|until| until > at),
    }
}

/// What the rule says of itself, else the figure that decided, else the condition.
fn summary(transition: &Transition) -> String {
    if let Some(text) = transition.annotations.get("summary") {
        return text.to_string();
    }
    match (&transition.reading, value(transition)) {
        (Some(Reading { signal, .. }), value) if !value.is_empty() => format!("{signal} is {value}"),
        _ => transition.condition.to_string(),
    }
}

/// The figure that decided. Empty where there is none.
fn value(transition: &Transition) -> String {
    let told = |reading: &Reading| reading.value.map(|value| in_words(value, reading.unit));
    transition.reading.as_ref().and_then(told).unwrap_or_default()
}

fn texts(texts: &BTreeMap<Box<str>, Box<str>>) -> BTreeMap<String, String> {
    texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}
