//! The alerts: those that fire first.

use weir_analysis::alert::status::{Handling, Reading};
use weir_analysis::alert::{AlertState, AlertStatus};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;

use super::figure::{foreign, in_unit, or_absent, time};
use super::page::Page;

/// As many of those that are inactive are shown.
const INACTIVE: usize = 12;

/// As much of an alert's name is shown, of its signal, and of a note.
const NAME: usize = 24;
const SIGNAL: usize = 32;
const NOTE: usize = 24;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    if snapshot.alerts.is_empty() {
        return;
    }
    let mut alerts: Vec<&AlertStatus> = snapshot.alerts.iter().collect();
    // In their own order where they stand alike.
    alerts.sort_by_key(|alert| (rank(alert), std::cmp::Reverse(alert.severity)));
    let quiet = alerts.iter().filter(|alert| alert.state == AlertState::Inactive).count();
    let loud = alerts.len() - quiet;
    page.heading("Alerts");
    let firing = alerts.iter().filter(|alert| alert.state == AlertState::Firing);
    let firing: Vec<String> = firing.map(|alert| foreign(&alert.name, NAME)).collect();
    if !firing.is_empty() {
        page.alarm(&format!("Firing: {}.", firing.join(", ")));
    }
    let shown = alerts.iter().take(loud + INACTIVE);
    let titles = ["Alert", "State", ">Since", "Reads", "Handling"];
    page.table(titles, shown.map(|alert| row(alert, snapshot.at)));
    if let Some(more) = quiet.checked_sub(INACTIVE).filter(|more| *more > 0) {
        page.line(&format!("And {more} more that are inactive."));
    }
}

/// Firing, pending, inactive; those without data last.
const fn rank(alert: &AlertStatus) -> u8 {
    match (alert.state, alert.no_data) {
        (AlertState::Firing, _) => 0,
        (AlertState::Pending, _) => 1,
        (AlertState::Inactive, false) => 2,
        (AlertState::Inactive, true) => 3,
    }
}

fn row(alert: &AlertStatus, now: Moment) -> [String; 5] {
    let state = match alert.state {
        AlertState::Firing => format!("firing ({})", alert.severity.as_str()),
        AlertState::Pending => "pending".into(),
        AlertState::Inactive if alert.no_data => "no data".into(),
        AlertState::Inactive => "inactive".into(),
    };
    [
        foreign(&alert.name, NAME),
        state,
        or_absent(alert.since, |since| time(now.since(since).as_secs_f64())),
        or_absent(alert.readings.first(), reading),
        handling(&alert.handling, now),
    ]
}

/// `p95_ttft 2.31 s > 2.00 s`.
fn reading(reading: &Reading) -> String {
    let Reading { signal, unit, value, comparator, threshold, .. } = reading;
    let shown = |value: Option<f64>| or_absent(value, |value| in_unit(value, *unit));
    format!("{} {} {} {}", foreign(signal, SIGNAL), shown(*value), foreign(comparator, 2), shown(*threshold))
}

fn handling(handling: &Handling, now: Moment) -> String {
    let silenced = handling.silenced_until.filter(|until| *until > now);
    let silenced = silenced.map(|until| format!("silenced for {}", time(until.since(now).as_secs_f64())));
    let seen = handling.acknowledged.as_ref().map(|seen| match &*seen.note {
        "" => "seen".into(),
        note => format!("seen: {}", foreign(note, NOTE)),
    });
    [silenced, seen].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
