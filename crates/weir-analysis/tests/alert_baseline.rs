//! Baselines, with numbers by hand.

#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::BTreeMap;

use weir_analysis::alert::{Alerts, Rules, Signal, Signals};
use weir_analysis::saved::{Row, SavedRow};
use weir_analysis::scope::Scope;
use weir_analysis::time::Moment;

const FILE: &str = "[{name: cost, condition: hourly_cost > 2x_baseline}]";
/// A day that begins at midnight, far from the epoch.
const DAY: u64 = 20_000;

struct Cost(Cell<Option<f64>>);

impl Signals for Cost {
    fn read(&self, _: &Signal, _: &Scope) -> Option<f64> {
        self.0.get()
    }
}

fn alerts() -> Alerts {
    Alerts::new(Rules::parse(FILE, &|_| None).unwrap().rules)
}

fn at(day: u64, hour: u64, second: u64) -> Moment {
    Moment(((DAY + day) * 86_400 + hour * 3_600 + second) * 1_000_000_000)
}

/// Samples of one hour, one a second from its beginning.
fn hour(alerts: &mut Alerts, (day, hour): (u64, u64), value: f64, samples: u64) {
    let cost = Cost(Cell::new(Some(value)));
    for second in 0..samples {
        alerts.evaluate(at(day, hour, second), &cost);
    }
}

/// The threshold at a moment.
fn threshold(alerts: &mut Alerts, now: Moment) -> Option<f64> {
    alerts.evaluate(now, &Cost(Cell::new(Some(1.0))));
    alerts.list()[0].readings[0].threshold
}

#[test]
fn from_three_days_on_it_is_the_median_of_the_same_hour() {
    let mut alerts = alerts();
    for (day, value) in [(0, 100.0), (1, 3.0), (2, 7.0), (3, 5.0)] {
        hour(&mut alerts, (day, 13), value, 60);
    }
    // Two days are not enough, nor is one hour of the last 24.
    let mut few = self::alerts();
    hour(&mut few, (1, 13), 3.0, 60);
    hour(&mut few, (2, 13), 7.0, 60);
    assert_eq!(threshold(&mut few, at(3, 13, 0)), None);
    // 100, 3 and 7: the median is 7. With 5 it is 6, in the middle of 5 and 7.
    assert_eq!(threshold(&mut alerts, at(4, 13, 0)), Some(12.0));
    // A day later, and from the seventh day on without the first: 3, 7, 5, and the one sample of day 4
    // that is no hour.
    assert_eq!(threshold(&mut alerts, at(7, 13, 0)), Some(12.0));
    assert_eq!(threshold(&mut alerts, at(8, 13, 0)), Some(10.0));
    assert_eq!(threshold(&mut alerts, at(9, 13, 0)), None);
    // At another hour nothing is known.
    assert_eq!(threshold(&mut alerts, at(8, 14, 0)), None);
}

#[test]
fn before_that_it_is_the_mean_of_the_last_24_hours() {
    let mut alerts = alerts();
    // Too old: it must not count.
    hour(&mut alerts, (0, 0), 1_000.0, 60);
    for (nth, value) in [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().enumerate() {
        hour(&mut alerts, (1, 1 + nth as u64), value, 60);
    }
    // Five hours are not six.
    assert_eq!(threshold(&mut alerts, at(1, 6, 0)), None);
    // The sixth has twice as many samples: 60 × 15 of the others, 120 × 9 of its own,
    hour(&mut alerts, (1, 6), 9.0, 120);
    // and with the one sample of 1 that the question above took: (900 + 1080 + 1) / 421 = 4.705463…
    let expected = 2.0 * (900.0 + 1_080.0 + 1.0) / 421.0;
    let found = threshold(&mut alerts, at(1, 7, 0)).unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    // Fewer than 60 samples are no hour.
    hour(&mut alerts, (1, 8), 1_000.0, 59);
    let found = threshold(&mut alerts, at(1, 9, 0)).unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn what_happens_now_is_not_usual_and_fires() {
    let mut alerts = alerts();
    for nth in 0..6 {
        hour(&mut alerts, (0, nth), 10.0, 60);
    }
    let cost = Cost(Cell::new(Some(20.0)));
    assert_eq!(alerts.evaluate(at(0, 6, 0), &cost), []);
    cost.0.set(Some(20.1));
    let fired = alerts.evaluate(at(0, 6, 1), &cost);
    let reading = fired[0].reading.clone().unwrap();
    assert_eq!((reading.value, reading.threshold), (Some(20.1), Some(20.0)));
    // An hour of it does not move what is usual before the hour is full.
    hour(&mut alerts, (0, 6), 50.0, 3_600);
    assert_eq!(alerts.list()[0].readings[0].threshold, Some(20.0));
}

#[test]
fn nothing_is_no_baseline() {
    let mut alerts = alerts();
    for nth in 0..6 {
        hour(&mut alerts, (0, nth), 0.0, 60);
    }
    assert_eq!(threshold(&mut alerts, at(0, 6, 0)), None);
    assert!(alerts.list()[0].no_data);
}

#[test]
fn it_outlives_a_restart_and_lets_go_of_what_is_old() {
    let mut store: BTreeMap<(String, u64), String> = BTreeMap::new();
    let mut take = |rows: Vec<Row>| {
        let mut written = 0;
        for Row { key, at, value, .. } in rows.into_iter().filter(|row| row.table == "baseline") {
            written += 1;
            match value {
                Some(value) => store.insert((key, at), value),
                None => store.remove(&(key, at)),
            };
        }
        (written, store.clone())
    };
    let mut before = alerts();
    for day in 0..3 {
        hour(&mut before, (day, 13), 5.0, 60);
    }
    let (written, kept) = take(before.rows());
    assert_eq!(written, 3);
    assert_eq!(kept.values().collect::<Vec<_>>(), ["[300.0,60]"; 3]);
    assert_eq!(take(before.rows()).0, 0);

    let saved: Vec<SavedRow> = kept
        .into_iter()
        .map(|((key, at), value)| SavedRow { table: "baseline".to_owned(), key, at, value })
        .collect();
    let mut after = alerts();
    after.restore(&saved, at(3, 12, 0));
    assert_eq!(threshold(&mut after, at(3, 13, 0)), Some(10.0));
    // Eight days later all of it is gone.
    assert_eq!(threshold(&mut after, at(11, 13, 0)), None);
    let (written, kept) = take(after.rows());
    assert_eq!((written, kept.len()), (5, 1));

    // Rules that refer to it no more let go of it, too; so does a restart with such rules.
    let other = || Rules::parse("[{name: a, condition: rps > 5}]", &|_| None).unwrap().rules;
    let mut replaced = alerts();
    replaced.restore(&saved, at(3, 12, 0));
    replaced.replace(other(), at(3, 12, 1));
    let mut restarted = Alerts::new(other());
    restarted.restore(&saved, at(3, 12, 0));
    for mut alerts in [replaced, restarted] {
        let gone = alerts.rows();
        assert_eq!(gone.iter().filter(|row| row.table == "baseline" && row.value.is_none()).count(), 3);
    }
}
