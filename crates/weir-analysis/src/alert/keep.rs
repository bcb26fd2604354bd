//! What of alerts outlives a restart: one row for each.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rules::Rule;
use super::status::{AlertState, Handling, PastTransition};
use super::track::{RESTART_GRACE, Track};
use crate::saved::{Row, SavedRow};
use crate::time::Moment;

/// The table that rows of alerts stand in.
pub(super) const TABLE: &str = "alert";

/// A row may lie this far ahead: the wall clock may have been set back in between.
const AHEAD: Duration = Duration::from_secs(3_600);

/// What a row holds.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The condition: the state is of use only while it is the same.
    condition: String,
    state: AlertState,
    since: Option<Moment>,
    /// [`Track::run`], in nanoseconds.
    run_ns: Option<u64>,
    untold: bool,
    last_resolved_at: Option<Moment>,
    handling: Handling,
    past: VecDeque<PastTransition>,
}

/// The row of an alert.
pub(super) fn row(rule: &Rule, track: &Track) -> Row {
    let kept = Kept {
        condition: rule.condition.to_string(),
        state: track.state,
        since: track.since,
        run_ns: track.run.map(|run| u64::try_from(run.as_nanos()).unwrap_or(u64::MAX)),
        untold: track.untold,
        last_resolved_at: track.last_resolved_at,
        handling: track.handling.clone(),
        past: track.past.clone(),
    };
    // There is one row for each alert, so that its time says nothing.
    Row { table: TABLE, key: rule.name.to_string(), at: 0, value: serde_json::to_string(&kept).ok() }
}

/// The row that lets go of an alert.
pub(super) fn gone(name: &str) -> Row {
    Row { table: TABLE, key: name.to_owned(), at: 0, value: None }
}

/// Takes up a row; `None`: it cannot be read. The time in between does not count.
pub(super) fn track(rule: &Rule, saved: &SavedRow, now: Moment) -> Option<Track> {
    let kept: Kept = serde_json::from_str(&saved.value).ok()?;
    if kept.since.is_some_and(|since| since > now.plus(AHEAD)) {
        return None;
    }
    let handling = Handling {
        silenced_until: kept.handling.silenced_until.filter(|until| *until > now),
        ..kept.handling
    };
    if kept.condition != rule.condition.to_string() {
        let handling = Handling { acknowledged: None, ..handling };
        return Some(Track { handling, changed: true, ..Track::default() });
    }
    let grace = if kept.state == AlertState::Firing { RESTART_GRACE } else { Duration::ZERO };
    Some(Track {
        state: kept.state,
        since: kept.since,
        run: kept.run_ns.map(Duration::from_nanos),
        grace,
        untold: kept.untold,
        last_resolved_at: kept.last_resolved_at,
        handling,
        past: kept.past,
        ..Track::default()
    })
}
