//! The series of one kind of scope, by name, and which names get one.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::lanes::{OTHER, UNKNOWN};

use crate::scope::{LONGEST_NAME, Window};
use crate::time::Moment;

use super::budget::Budget;
use super::series::Series;

#[derive(Debug)]
pub(super) struct Registry {
    series: BTreeMap<Box<str>, Series>,
    known: BTreeSet<Box<str>>,
    max: usize,
    /// What was counted under `other` for want of room.
    pub(super) turned_away: u64,
    /// Series dropped to make room.
    pub(super) dropped: u64,
}

impl Registry {
    /// For so many names at most. A place is kept for each known one, be they more than that.
    pub(super) fn new(max: usize, known: impl Iterator<Item = Box<str>>) -> Self {
        Self { series: BTreeMap::new(), known: known.collect(), max, turned_away: 0, dropped: 0 }
    }

    /// The series of a name. `opens`: whether a name that is not known may get one. `None` where there is
    /// no room for any.
    pub(super) fn place(
        &mut self,
        name: Option<&str>,
        opens: bool,
        now: Moment,
        budget: &mut Budget,
    ) -> Option<&mut Series> {
        let name = name.unwrap_or(UNKNOWN);
        let name = if self.series.contains_key(name) || self.open(name, opens, now, budget) {
            name
        } else {
            let _ = self.series.contains_key(OTHER) || self.insert(OTHER, now, budget);
            OTHER
        };
        let series = self.series.get_mut(name)?;
        series.active = now;
        Some(series)
    }

    fn open(&mut self, name: &str, opens: bool, now: Moment, budget: &mut Budget) -> bool {
        let known = self.known.contains(name) || is_reserved(name);
        if !known && !opens {
            return false;
        }
        let fits = name.len() <= LONGEST_NAME;
        let opened = fits
            && (known || self.has_place() || self.drop_idle(now, budget))
            && self.insert(name, now, budget);
        if !opened {
            self.turned_away = self.turned_away.saturating_add(1);
        }
        opened
    }

    /// Whether there is a place for a name that is not known.
    fn has_place(&self) -> bool {
        let taken = self.series.keys().filter(|name| !self.known.contains(*name) && !is_reserved(name));
        taken.count() < self.max.saturating_sub(self.known.len())
    }

    fn insert(&mut self, name: &str, now: Moment, budget: &mut Budget) -> bool {
        let bytes = Series::FIXED_BYTES + name.len();
        let room = budget.has_room(bytes) || (self.drop_idle(now, budget) && budget.has_room(bytes));
        if room {
            budget.resize(0, bytes);
            self.series.insert(name.into(), Series::new(now));
        }
        room
    }

    /// Drops the series that has been idle the longest, if that is longer than any window.
    fn drop_idle(&mut self, now: Moment, budget: &mut Budget) -> bool {
        let idle = self.series.iter().filter(|(name, series)| {
            let long = now.since(series.active) > Window::Hour.length();
            long && !self.known.contains(*name) && !is_reserved(name)
        });
        let Some(name) = idle.min_by_key(|(_, series)| series.active).map(|(name, _)| name.clone()) else {
            return false;
        };
        if let Some(series) = self.series.remove(&name) {
            budget.resize(series.bytes() + name.len(), 0);
            self.dropped = self.dropped.saturating_add(1);
        }
        true
    }

    /// The series of a name, if it has one.
    pub(super) fn find(&self, name: &str) -> Option<&Series> {
        self.series.get(name)
    }

    /// The names that have a series.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(AsRef::as_ref)
    }

    /// Every series.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Series> {
        self.series.values_mut()
    }
}

fn is_reserved(name: &str) -> bool {
    name == UNKNOWN || name == OTHER
}
