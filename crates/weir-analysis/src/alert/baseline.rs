//! What is usual: hourly means of the signals that rules hold against their baseline.

use std::collections::BTreeMap;
use std::time::Duration;

use super::condition::{Threshold, Where};
use super::rules::Rules;
use super::signal::{Signal, Signals};
use crate::saved::{Row, SavedRow};
use crate::scope::Scope;
use crate::time::Moment;

/// The table that rows of baselines stand in.
const TABLE: &str = "baseline";
const HOUR: Duration = Duration::from_secs(3_600);
const DAY_HOURS: u64 = 24;
/// How far back is looked.
const DAYS: u64 = 7;
/// From so many days on, the same hour of the day is what is usual.
const ENOUGH_DAYS: usize = 3;
/// Before so many hours are known, nothing is.
const ENOUGH_HOURS: usize = 6;
/// An hour with fewer samples says nothing about itself: a minute's worth, at one a second.
const ENOUGH_SAMPLES: u64 = 60;
/// A row may lie this many hours ahead: the wall clock may have been set back in between.
const AHEAD_HOURS: u64 = 1;

/// Every baseline that rules refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct Baselines {
    /// By signal and scope, as they are printed: at most as many as rules have comparisons.
    series: BTreeMap<String, Series>,
    /// Rows that are to go.
    gone: Vec<Row>,
    /// Rows that could not be read.
    broken: u64,
}

#[derive(Clone, Debug)]
struct Series {
    signal: Signal,
    scope: Scope,
    /// By hours since the Unix epoch; at most [`DAYS`] days of them and the present one.
    hours: BTreeMap<u64, Sum>,
}

/// The samples of one hour.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    count: u64,
    changed: bool,
}

fn key(signal: &Signal, scope: &Scope) -> String {
    format!("{signal}{}", Where(scope))
}

impl Baselines {
    pub(super) fn new(rules: &Rules) -> Self {
        let mut baselines = Self::default();
        baselines.replace(rules);
        baselines
    }

    /// Keeps what the rules still refer to, and lets go of the rest.
    pub(super) fn replace(&mut self, rules: &Rules) {
        let mut before = std::mem::take(&mut self.series);
        for rule in rules.rules() {
            let scope = &rule.condition.scope;
            for comparison in rule.condition.comparisons() {
                if let Threshold::Baseline(_) = comparison.threshold {
                    let signal = &comparison.signal;
                    let key = key(signal, scope);
                    let fresh =
                        || Series { signal: signal.clone(), scope: scope.clone(), hours: BTreeMap::new() };
                    let series = before.remove(&key).unwrap_or_else(fresh);
                    self.series.entry(key).or_insert(series);
                }
            }
        }
        for (key, series) in before {
            self.gone.extend(series.hours.into_keys().map(|hour| row(&key, hour, None)));
        }
    }

    /// Takes a sample of every signal.
    pub(super) fn sample(&mut self, now: Moment, signals: &dyn Signals) {
        let hour = now.periods(HOUR);
        for (key, series) in &mut self.series {
            if let Some(value) = signals.read(&series.signal, &series.scope).filter(|value| value.is_finite())
            {
                let sum = series.hours.entry(hour).or_default();
                *sum = Sum { sum: sum.sum + value, count: sum.count + 1, changed: true };
            }
            let kept = series.hours.split_off(&hour.saturating_sub(DAYS * DAY_HOURS));
            let old = std::mem::replace(&mut series.hours, kept);
            self.gone.extend(old.into_keys().map(|hour| row(key, hour, None)));
        }
    }

    /// What is usual for a signal at this time of day. `None`: too little is known, or it is zero, which is
    /// nothing that could be taken twice.
    pub(super) fn value(&self, signal: &Signal, scope: &Scope, now: Moment) -> Option<f64> {
        let series = self.series.get(&key(signal, scope))?;
        series.usual(now.periods(HOUR)).filter(|usual| *usual > 0.0)
    }

    /// The rows that changed since they were last asked for.
    pub(super) fn rows(&mut self) -> Vec<Row> {
        let mut rows = std::mem::take(&mut self.gone);
        for (key, series) in &mut self.series {
            for (&hour, sum) in series.hours.iter_mut().filter(|(_, sum)| sum.changed) {
                sum.changed = false;
                rows.push(row(key, hour, Some(serde_json::json!([sum.sum, sum.count]).to_string())));
            }
        }
        rows
    }

    /// Takes up what a store held. Rows of baselines that are not asked for go.
    pub(super) fn restore(&mut self, saved: &[SavedRow], now: Moment) {
        let latest = now.periods(HOUR) + AHEAD_HOURS;
        for saved in saved.iter().filter(|saved| saved.table == TABLE) {
            let hour = saved.at / HOUR.as_secs();
            let Some(series) = self.series.get_mut(&saved.key) else {
                self.gone.push(Row { table: TABLE, key: saved.key.clone(), at: saved.at, value: None });
                continue;
            };
            let read = serde_json::from_str::<(f64, u64)>(&saved.value).ok();
            match read.filter(|(sum, count)| sum.is_finite() && *count > 0) {
                Some((sum, count)) if saved.at % HOUR.as_secs() == 0 && hour <= latest => {
                    series.hours.insert(hour, Sum { sum, count, changed: false });
                }
                _ => self.broken += 1,
            }
        }
    }

    pub(super) const fn broken(&self) -> u64 {
        self.broken
    }
}

impl Series {
    fn usual(&self, hour: u64) -> Option<f64> {
        let full = |hour: u64| self.hours.get(&hour).filter(|sum| sum.count >= ENOUGH_SAMPLES);
        let ago = |hours: u64| hour.checked_sub(hours).and_then(full);
        let day: Vec<&Sum> = (1..=DAY_HOURS).filter_map(ago).collect();
        let same: Vec<f64> = (1..=DAYS)
            .filter_map(|days| ago(days * DAY_HOURS))
            .map(|sum| sum.sum / sum.count as f64)
            .collect();
        if same.len() >= ENOUGH_DAYS {
            return Some(median(same));
        }
        if day.len() < ENOUGH_HOURS {
            return None;
        }
        let count: u64 = day.iter().map(|sum| sum.count).sum();
        Some(day.iter().map(|sum| sum.sum).sum::<f64>() / count as f64)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { values[middle - 1].midpoint(values[middle]) }
}

fn row(key: &str, hour: u64, value: Option<String>) -> Row {
    Row { table: TABLE, key: key.to_owned(), at: hour * HOUR.as_secs(), value }
}
