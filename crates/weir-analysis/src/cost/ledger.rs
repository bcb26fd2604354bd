//! Costs hour by hour and model by model, with what outlives a restart.

use std::collections::BTreeMap;

use weir_core::lanes::{OTHER, UNKNOWN};

use super::amounts::Amounts;
use super::sliding::Add;
use crate::saved::{Row, SavedRow};
use crate::scope::LONGEST_NAME;
use crate::time::Moment;

/// The table that rows of costs stand in. A row is the sum of one hour of one model, so that writing it
/// again changes nothing.
const TABLE: &str = "cost";

const HOUR_S: u64 = 3_600;
const HOUR_NS: u64 = HOUR_S * 1_000_000_000;

/// Hours that are kept, the one that is not over included.
pub(super) const KEPT_HOURS: u64 = 7 * 24;

/// As many rows wait to be deleted. What there is no room for is deleted after the next restart.
const MOST_GONE: usize = 4_096;

/// Hours by their ordinal since the Unix epoch.
type Hours = BTreeMap<u64, Cell>;

#[derive(Clone, Debug, Default)]
struct Cell {
    amounts: Amounts,
    changed: bool,
}

/// The hours of every model.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    models: BTreeMap<Box<str>, Hours>,
    max_models: usize,
    hour: u64,
    /// Rows that are to go.
    gone: Vec<Row>,
    /// Exchanges counted under [`OTHER`].
    pub(super) turned_away: u64,
    /// Rows that could not be taken up.
    pub(super) broken_rows: u64,
}

impl Ledger {
    /// For so many models at most, beside `unknown` and `other`.
    pub(super) const fn new(max_models: usize, started: Moment) -> Self {
        Self {
            models: BTreeMap::new(),
            max_models,
            hour: started.0 / HOUR_NS,
            gone: Vec::new(),
            turned_away: 0,
            broken_rows: 0,
        }
    }

    /// Counts what ended now, and says under which name. What comes later than its hour falls into the
    /// present one.
    pub(super) fn add<'a>(&mut self, model: Option<&'a str>, amounts: &Amounts, ended: Moment) -> &'a str {
        self.go_on(ended);
        let model = model.unwrap_or(UNKNOWN);
        let place = self.place(model);
        self.turned_away += u64::from(place != model);
        let hour = self.hour;
        self.put(place.into(), hour, amounts, true);
        place
    }

    /// Lets go of hours that are too old.
    pub(super) fn go_on(&mut self, now: Moment) {
        let hour = now.0 / HOUR_NS;
        if hour <= self.hour {
            return;
        }
        self.hour = hour;
        let first = self.first_hour();
        let gone = &mut self.gone;
        self.models.retain(|model, hours| {
            while let Some(oldest) = hours.first_entry().filter(|oldest| *oldest.key() < first) {
                if gone.len() < MOST_GONE {
                    gone.push(row(model, *oldest.key(), None));
                }
                oldest.remove();
            }
            !hours.is_empty()
        });
    }

    /// What changed since the last time, as rows.
    pub(super) fn rows(&mut self) -> Vec<Row> {
        let mut rows = std::mem::take(&mut self.gone);
        for (model, hours) in &mut self.models {
            for (hour, cell) in hours.iter_mut().filter(|(_, cell)| cell.changed) {
                cell.changed = false;
                rows.push(row(model, *hour, serde_json::to_string(&cell.amounts).ok()));
            }
        }
        rows
    }

    /// Takes up what a store held: once, before anything is counted. Rows of other tables are passed over.
    pub(super) fn restore(&mut self, saved: &[SavedRow]) {
        for saved in saved.iter().filter(|saved| saved.table == TABLE) {
            let hour = saved.at / HOUR_S;
            let amounts = serde_json::from_str::<Amounts>(&saved.value).ok();
            // The wall clock may have been set back by up to an hour in between.
            let fits = saved.at.is_multiple_of(HOUR_S) && hour <= self.hour + 1;
            let Some(amounts) = amounts.filter(|_| fits && saved.key.len() <= LONGEST_NAME) else {
                self.broken_rows += 1;
                continue;
            };
            if hour < self.first_hour() {
                self.gone.push(row(&saved.key, hour, None));
                continue;
            }
            let place: Box<str> = self.place(&saved.key).into();
            let moved = *place != *saved.key;
            if moved {
                self.gone.push(row(&saved.key, hour, None));
            }
            self.put(place, hour, &amounts, moved);
        }
    }

    /// The sum over the last hours, the one that is not over included, of one model or of all.
    pub(super) fn sum(&self, model: Option<&str>, now: Moment, hours: u64) -> Amounts {
        let mut sum = Amounts::default();
        let last = now.0 / HOUR_NS;
        let first = last.saturating_sub(hours.saturating_sub(1));
        let of = self.models.iter().filter(|(name, _)| model.is_none_or(|model| model == &***name));
        for cell in of.flat_map(|(_, kept)| kept.range(first..)) {
            sum.add(&cell.1.amounts);
        }
        sum
    }

    /// Every hour of all models that has any exchange, the oldest first, by its beginning.
    pub(super) fn hours(&self) -> BTreeMap<Moment, Amounts> {
        let mut sums = BTreeMap::<Moment, Amounts>::new();
        for (hour, cell) in self.models.values().flatten() {
            sums.entry(Moment(hour.saturating_mul(HOUR_NS))).or_default().add(&cell.amounts);
        }
        sums
    }

    /// Whether anything is counted under this name.
    pub(super) fn knows(&self, model: &str) -> bool {
        self.models.contains_key(model)
    }

    /// The models that are told apart.
    pub(super) fn models(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(AsRef::as_ref)
    }

    const fn first_hour(&self) -> u64 {
        self.hour.saturating_sub(KEPT_HOURS - 1)
    }

    /// The name under which a model is counted.
    fn place<'a>(&self, model: &'a str) -> &'a str {
        let reserved = |name: &str| name == UNKNOWN || name == OTHER;
        if reserved(model) || self.models.contains_key(model) {
            return model;
        }
        let taken = self.models.keys().filter(|name| !reserved(name)).count();
        if taken < self.max_models && model.len() <= LONGEST_NAME { model } else { OTHER }
    }

    fn put(&mut self, place: Box<str>, hour: u64, amounts: &Amounts, changed: bool) {
        let cell = self.models.entry(place).or_default().entry(hour).or_default();
        cell.amounts.add(amounts);
        cell.changed |= changed;
    }
}

fn row(model: &str, hour: u64, value: Option<String>) -> Row {
    Row { table: TABLE, key: model.to_owned(), at: hour * HOUR_S, value }
}
