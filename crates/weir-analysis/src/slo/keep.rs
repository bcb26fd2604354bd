//! What outlives a restart: the counts of every SLO as rows.
//!
//! A row is the sum of one minute or hour, so that writing it again changes nothing. Its key holds what the
//! counts mean (name, objective, limit in force, model, how own refusals count): where one of these is
//! changed, the old counts do not fit and are not taken up. The target is not among them: it only weighs.

use std::collections::BTreeMap;

use super::budget::{Budget, HOUR_S, MINUTE_S, PERIOD};
use super::ring::Ring;
use super::sides::OwnRefusals;
use crate::saved::{Row, SavedRow};
use crate::time::Moment;

/// The table that rows of SLOs stand in.
const TABLE: &str = "slo";

/// A row may lie this far after the start: the wall clock may have been set back in between.
const AHEAD_S: u64 = 3_600;

/// A period, and what was counted in it; `None`: it is gone.
pub(super) type Change<const N: usize> = (u64, Option<[u64; N]>);

/// What a row of an SLO holds.
#[derive(Clone, Copy, Debug)]
enum Part {
    Minute,
    Hour,
    Since,
}

/// The keys of one SLO's rows.
#[derive(Clone, Debug)]
struct Keys {
    minute: String,
    hour: String,
    since: String,
}

impl Keys {
    fn new(budget: &Budget, own: OwnRefusals) -> Self {
        let config = &budget.config;
        let key = |part: &str| {
            let limit_ns = budget.effective_limit().map(|limit| limit.as_nanos() as u64);
            serde_json::json!([config.name, config.objective.as_str(), limit_ns, config.model, own, part])
                .to_string()
        };
        Self { minute: key("minute"), hour: key("hour"), since: key("since") }
    }
}

/// An SLO with what is known of its rows.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) budget: Budget,
    keys: Keys,
    since_stored: bool,
}

impl Kept {
    pub(super) fn new(budget: Budget, own: OwnRefusals) -> Self {
        Self { keys: Keys::new(&budget, own), budget, since_stored: false }
    }

    /// Adds what is to be written.
    pub(super) fn rows(&mut self, rows: &mut Vec<Row>) {
        if !self.since_stored {
            self.since_stored = true;
            let since = self.budget.since.0;
            rows.push(row(&self.keys.since, since / SECOND, Some(since.to_string())));
        }
        changed(&mut self.budget.minutes, &self.keys.minute, MINUTE_S, rows);
        changed(&mut self.budget.hours, &self.keys.hour, HOUR_S, rows);
    }

    /// Takes up a row; `None`: it cannot be read.
    fn take(&mut self, part: Part, saved: &SavedRow) -> Option<()> {
        let (ring, length_s) = match part {
            Part::Minute => (&mut self.budget.minutes, MINUTE_S),
            Part::Hour => (&mut self.budget.hours, HOUR_S),
            Part::Since => return self.take_since(Moment(saved.value.parse().ok()?)),
        };
        let counts: [u64; 2] = serde_json::from_str(&saved.value).ok()?;
        if !saved.at.is_multiple_of(length_s) {
            return None;
        }
        // One that has no place any more is not broken: the ring has it deleted.
        ring.restore(saved.at / length_s, &counts);
        Some(())
    }

    fn take_since(&mut self, since: Moment) -> Option<()> {
        if since <= self.budget.since {
            self.budget.since = since;
            self.since_stored = true;
        }
        Some(())
    }
}

/// Nanoseconds of one.
const SECOND: u64 = 1_000_000_000;

fn changed(ring: &mut Ring<2>, key: &str, length_s: u64, rows: &mut Vec<Row>) {
    rows.extend(ring.changes().into_iter().map(|(period, counts)| {
        row(key, period * length_s, counts.map(|[good, bad]| format!("[{good},{bad}]")))
    }));
}

fn row(key: &str, at: u64, value: Option<String>) -> Row {
    Row { table: TABLE, key: key.to_owned(), at, value }
}

/// What came of rows that a store gave back.
#[derive(Clone, Debug, Default)]
pub(super) struct Restored {
    /// Rows that could not be read, or lie in the future.
    pub(super) broken: u64,
    /// Rows of SLOs that are no more, and too old to be of use if they come back.
    pub(super) outdated: Vec<Row>,
}

/// Takes up what a store held. Rows of SLOs that are not asked for now are let alone until they are older
/// than any budget goes back.
pub(super) fn restore(slos: &mut [Kept], saved: &[SavedRow], started: Moment) -> Restored {
    let mut places = BTreeMap::new();
    for (place, Kept { keys, .. }) in slos.iter().enumerate() {
        places.insert(keys.minute.clone(), (place, Part::Minute));
        places.insert(keys.hour.clone(), (place, Part::Hour));
        places.insert(keys.since.clone(), (place, Part::Since));
    }
    let started_s = started.0 / SECOND;
    let mut restored = Restored::default();
    for saved in saved.iter().filter(|saved| saved.table == TABLE) {
        let Some(&(place, part)) = places.get(&saved.key) else {
            if saved.at.saturating_add(PERIOD.as_secs()) < started_s {
                restored.outdated.push(row(&saved.key, saved.at, None));
            }
            continue;
        };
        let ahead = saved.at > started_s.saturating_add(AHEAD_S);
        let taken = !ahead && slos[place].take(part, saved).is_some();
        restored.broken += u64::from(!taken);
    }
    restored
}
