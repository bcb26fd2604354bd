//! The states of alerts along timelines written by hand, restarts and reloads.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use weir_analysis::alert::{AlertState, Alerts, Cause, Rules, Signal, Signals, Transition};
use weir_analysis::saved::{Row, SavedRow};
use weir_analysis::scope::Scope;
use weir_analysis::time::Moment;

/// What the signals read, by their printed names.
#[derive(Default)]
struct Board(RefCell<BTreeMap<String, f64>>);

impl Board {
    fn set(&self, signal: &str, value: impl Into<Option<f64>>) {
        match value.into() {
            Some(value) => self.0.borrow_mut().insert(signal.to_owned(), value),
            None => self.0.borrow_mut().remove(signal),
        };
    }
}

impl Signals for Board {
    fn read(&self, signal: &Signal, scope: &Scope) -> Option<f64> {
        let scope = match scope {
            Scope::Overall => "",
            Scope::Model(name) | Scope::Upstream(name) => name,
        };
        self.0.borrow().get(&format!("{signal}{scope}")).copied()
    }
}

fn rules(file: &str) -> Rules {
    Rules::parse(file, &|_| None).unwrap().rules
}

fn at(seconds: u64) -> Moment {
    Moment((1_000_000 + seconds) * 1_000_000_000)
}

/// `12 name from>to cause`, with ` silenced` behind it if it is.
fn told(transition: &Transition) -> String {
    let state = |state| match state {
        AlertState::Inactive => "inactive",
        AlertState::Pending => "pending",
        AlertState::Firing => "firing",
    };
    let cause = match transition.cause {
        Cause::Met => "met",
        Cause::Held => "held",
        Cause::Cleared => "cleared",
        Cause::NoData => "no_data",
        Cause::RuleGone => "rule_gone",
        Cause::SilenceEnded => "silence_ended",
    };
    let seconds = transition.at.0 / 1_000_000_000 - 1_000_000;
    let silenced = if transition.silenced { " silenced" } else { "" };
    let (from, to) = (state(transition.from), state(transition.to));
    format!("{seconds} {} {from}>{to} {cause}{silenced}", transition.alert)
}

/// Evaluates once a second, `rps` being read from a line of `from..to value` (or `-` for no data).
fn run(alerts: &mut Alerts, board: &Board, line: &[(std::ops::Range<u64>, Option<f64>)]) -> Vec<String> {
    let mut found = Vec::new();
    for (seconds, value) in line.iter().cloned() {
        board.set("rps", value);
        for second in seconds {
            found.extend(alerts.evaluate(at(second), board).iter().map(told));
        }
    }
    found
}

fn timeline(file: &str, line: &[(std::ops::Range<u64>, Option<f64>)]) -> Vec<String> {
    run(&mut Alerts::new(rules(file)), &Board::default(), line)
}

const HELD: &str = "[{name: a, condition: rps > 5 for 5s}]";
const KEEPING: &str = "[{name: a, condition: rps > 5, keep_firing_for: 3s}]";
const HIGH: Option<f64> = Some(6.0);
const LOW: Option<f64> = Some(5.0);

#[test]
fn it_fires_when_the_condition_has_held_for_exactly_as_long_as_it_must() {
    assert_eq!(
        timeline(HELD, &[(0..2, LOW), (2..10, HIGH), (10..12, LOW)]),
        ["2 a inactive>pending met", "7 a pending>firing held", "10 a firing>inactive cleared"]
    );
    assert_eq!(timeline(HELD, &[(0..5, HIGH)]), ["0 a inactive>pending met"]);
    assert_eq!(timeline("[{name: a, condition: rps > 5}]", &[(3..5, HIGH)]), ["3 a inactive>firing met"]);
}

#[test]
fn an_interruption_begins_the_time_anew() {
    for (gap, cause) in [(LOW, "cleared"), (None, "no_data")] {
        assert_eq!(
            timeline(HELD, &[(0..4, HIGH), (4..5, gap), (5..11, HIGH)]),
            [
                "0 a inactive>pending met".to_owned(),
                format!("4 a pending>inactive {cause}"),
                "5 a inactive>pending met".to_owned(),
                "10 a pending>firing held".to_owned(),
            ]
        );
    }
}

#[test]
fn it_fires_on_for_as_long_as_it_is_kept() {
    // Two seconds of quiet are not three, and each begins anew.
    assert_eq!(
        timeline(KEEPING, &[(0..2, HIGH), (2..5, LOW), (5..6, HIGH), (6..12, LOW)]),
        ["0 a inactive>firing met", "9 a firing>inactive cleared"]
    );
    // No data counts like quiet, and what is there at the end is the cause.
    assert_eq!(
        timeline(KEEPING, &[(0..1, HIGH), (1..3, LOW), (3..9, None)]),
        ["0 a inactive>firing met", "4 a firing>inactive no_data"]
    );
}

#[test]
fn what_flaps_faster_than_it_is_kept_fires_once() {
    let line: Vec<_> = (0..60).map(|n| (n..n + 1, if n % 3 == 0 { HIGH } else { LOW })).collect();
    assert_eq!(timeline(KEEPING, &line), ["0 a inactive>firing met"]);
    assert_eq!(timeline(HELD, &line).iter().filter(|told| told.contains("firing")).count(), 0);
}

#[test]
fn no_data_never_fires_and_is_shown() {
    let mut alerts = Alerts::new(rules("[{name: a, condition: rps < 5}, {name: b, condition: rps != 5}]"));
    let board = Board::default();
    assert_eq!(run(&mut alerts, &board, &[(0..10, None)]), Vec::<String>::new());
    let status = &alerts.list()[0];
    assert_eq!((status.state, status.no_data, status.since), (AlertState::Inactive, true, None));
    assert_eq!((status.readings[0].value, status.readings[0].threshold), (None, Some(5.0)));
    run(&mut alerts, &board, &[(10..11, Some(1.0)), (11..12, None)]);
    let status = &alerts.list()[0];
    assert_eq!((status.state, status.no_data), (AlertState::Inactive, true));
    assert_eq!(status.last_resolved_at, Some(at(11)));
}

#[test]
fn the_status_tells_what_was_read() {
    let file = "[{name: a, condition: rps > 5 and (in_flight > 3 or queue_depth > 9), severity: info, \
                action: scale_up, labels: {team: x}, summary: s}]";
    let mut alerts = Alerts::new(rules(file));
    let board = Board::default();
    for (signal, value) in [("rps", 6.5), ("in_flight", 3.0), ("queue_depth", 10.0)] {
        board.set(signal, value);
    }
    let transition = &alerts.evaluate(at(0), &board)[0];
    let reading = transition.reading.as_ref().unwrap();
    assert_eq!((&*reading.signal, reading.value, reading.threshold), ("rps", Some(6.5), Some(5.0)));
    assert_eq!(transition.labels[&Box::<str>::from("team")], "x".into());
    assert_eq!(transition.annotations[&Box::<str>::from("summary")], "s".into());
    assert_eq!(transition.actions, ["scale_up".into()]);
    assert_eq!(&*transition.condition, "rps > 5 and (in_flight > 3 or queue_depth > 9)");
    let status = &alerts.list()[0];
    assert_eq!((status.state, status.since), (AlertState::Firing, Some(at(0))));
    let holds: Vec<_> = status.readings.iter().map(|reading| (&*reading.signal, reading.holds)).collect();
    assert_eq!(holds, [("rps", Some(true)), ("in_flight", Some(false)), ("queue_depth", Some(true))]);
    // What decides stands first.
    board.set("queue_depth", 9.0);
    assert!(alerts.evaluate(at(1), &board)[0].is_resolved());
    assert_eq!(&*alerts.list()[0].readings[0].signal, "in_flight");
    assert_eq!(alerts.list()[0].transitions.len(), 2);
}

#[test]
fn the_signals_are_read_of_the_scope() {
    let mut alerts = Alerts::new(rules("[{name: a, condition: rps > 5 where model = 'm'}]"));
    let board = Board::default();
    board.set("rps", 9.0);
    assert_eq!(alerts.evaluate(at(0), &board), []);
    board.set("rpsm", 9.0);
    assert_eq!(alerts.evaluate(at(1), &board).len(), 1);
}

#[test]
fn changes_are_remembered_up_to_a_bound() {
    let mut alerts = Alerts::new(rules("[{name: a, condition: rps > 5}]"));
    let line: Vec<_> = (0..40).map(|n| (n..n + 1, if n % 2 == 0 { HIGH } else { LOW })).collect();
    run(&mut alerts, &Board::default(), &line);
    let past = &alerts.list()[0].transitions;
    assert_eq!(past.len(), 16);
    assert_eq!((past[0].at, past[15].at), (at(24), at(39)));
}

#[test]
fn time_in_which_nobody_looked_does_not_count() {
    let mut alerts = Alerts::new(rules("[{name: a, condition: rps > 5 for 60s}]"));
    let board = Board::default();
    board.set("rps", 6.0);
    let mut found = Vec::new();
    // Ten seconds of each hour count.
    for second in [0, 3_600, 7_200, 10_800, 14_400, 18_000, 21_600] {
        found.extend(alerts.evaluate(at(second), &board).iter().map(told));
    }
    assert_eq!(found, ["0 a inactive>pending met", "21600 a pending>firing held"]);
}

#[test]
fn a_silenced_alert_changes_and_makes_up_for_it_when_the_silence_ends() {
    let board = Board::default();
    let mut alerts = Alerts::new(rules(HELD));
    assert!(alerts.silence("a", at(10)));
    assert!(!alerts.silence("b", at(10)) && !alerts.unsilence("b"));
    assert_eq!(
        run(&mut alerts, &board, &[(0..12, HIGH), (12..13, LOW)]),
        [
            "0 a inactive>pending met silenced",
            "5 a pending>firing held silenced",
            "10 a firing>firing silence_ended",
            "12 a firing>inactive cleared",
        ]
    );
    assert_eq!(alerts.list()[0].handling.silenced_until, None);
    // One that was told before is not told again.
    run(&mut alerts, &board, &[(20..26, HIGH)]);
    alerts.silence("a", at(100));
    assert_eq!(run(&mut alerts, &board, &[(26..28, HIGH)]), Vec::<String>::new());
    assert_eq!(alerts.list()[0].handling.silenced_until, Some(at(100)));
    assert!(alerts.unsilence("a"));
    assert_eq!(run(&mut alerts, &board, &[(28..30, HIGH)]), Vec::<String>::new());
}

#[test]
fn an_acknowledgement_lasts_until_the_alert_is_inactive() {
    let board = Board::default();
    let mut alerts = Alerts::new(rules(HELD));
    assert!(!alerts.acknowledge("a", at(0), "too early"));
    run(&mut alerts, &board, &[(0..6, HIGH)]);
    assert!(!alerts.acknowledge("b", at(6), "no such"));
    assert!(alerts.acknowledge("a", at(6), &"é".repeat(200)));
    let taken = alerts.list()[0].handling.acknowledged.clone().unwrap();
    assert_eq!((taken.at, taken.note.len()), (at(6), 256));
    assert_eq!(run(&mut alerts, &board, &[(6..7, HIGH), (7..8, LOW)]), ["7 a firing>inactive cleared"]);
    assert_eq!(alerts.list()[0].handling.acknowledged, None);
}

/// A store that keeps rows.
#[derive(Default)]
struct Store(BTreeMap<(String, String, u64), String>);

impl Store {
    fn take(&mut self, rows: Vec<Row>) -> usize {
        let count = rows.len();
        for Row { table, key, at, value } in rows {
            match value {
                Some(value) => self.0.insert((table.to_owned(), key, at), value),
                None => self.0.remove(&(table.to_owned(), key, at)),
            };
        }
        count
    }

    fn rows(&self) -> Vec<SavedRow> {
        self.0
            .iter()
            .map(|((table, key, at), value)| SavedRow {
                table: table.clone(),
                key: key.clone(),
                at: *at,
                value: value.clone(),
            })
            .collect()
    }

    /// New alerts that have taken up what is stored.
    fn restored(&self, file: &str, now: Moment) -> Alerts {
        let mut alerts = Alerts::new(rules(file));
        alerts.restore(&self.rows(), now);
        assert_eq!(alerts.broken_rows(), 0);
        alerts
    }
}

#[test]
fn a_firing_alert_fires_on_after_a_restart_and_says_nothing_again() {
    let (board, mut store) = (Board::default(), Store::default());
    let mut alerts = Alerts::new(rules(HELD));
    run(&mut alerts, &board, &[(0..8, HIGH)]);
    alerts.acknowledge("a", at(7), "me");
    alerts.silence("a", at(500));
    assert_eq!(store.take(alerts.rows()), 1);
    assert_eq!(alerts.rows(), []);
    let before = alerts.list();

    let mut alerts = store.restored(HELD, at(100));
    let after = &alerts.list()[0];
    assert_eq!((after.state, after.since), (AlertState::Firing, Some(at(5))));
    assert_eq!((&after.handling, &after.transitions), (&before[0].handling, &before[0].transitions));
    assert_eq!(run(&mut alerts, &board, &[(100..103, HIGH)]), Vec::<String>::new());
    // Two minutes of no data after a restart say nothing, the next second does.
    let mut alerts = store.restored(HELD, at(100));
    assert_eq!(run(&mut alerts, &board, &[(100..600, None)]), ["220 a firing>inactive no_data silenced"]);
    // Data that say that it is over are believed at once.
    let mut alerts = store.restored(HELD, at(100));
    assert_eq!(
        run(&mut alerts, &board, &[(100..110, None), (110..112, LOW)]),
        ["110 a firing>inactive cleared silenced"]
    );
}

#[test]
fn a_pending_alert_goes_on_with_the_time_it_had() {
    let (board, mut store) = (Board::default(), Store::default());
    let mut alerts = Alerts::new(rules(HELD));
    run(&mut alerts, &board, &[(0..4, HIGH)]);
    store.take(alerts.rows());
    let mut alerts = store.restored(HELD, at(1_000));
    assert_eq!(alerts.list()[0].since, Some(at(0)));
    // Three of five seconds were held before.
    assert_eq!(run(&mut alerts, &board, &[(1_000..1_005, HIGH)]), ["1002 a pending>firing held"]);
}

#[test]
fn after_a_restart_another_condition_begins_anew_but_a_silence_stays() {
    let (board, mut store) = (Board::default(), Store::default());
    let file = "[{name: a, condition: rps > 5}, {name: b, condition: rps > 5}]";
    let mut alerts = Alerts::new(rules(file));
    run(&mut alerts, &board, &[(0..1, HIGH)]);
    alerts.silence("a", at(500));
    alerts.acknowledge("a", at(1), "me");
    assert_eq!(store.take(alerts.rows()), 2);

    let mut alerts = store.restored("[{name: a, condition: rps > 7}]", at(100));
    let status = &alerts.list()[0];
    assert_eq!((status.state, status.since), (AlertState::Inactive, None));
    assert_eq!(status.handling.silenced_until, Some(at(500)));
    assert_eq!(status.handling.acknowledged, None);
    // The row of the alert that is no more goes, that of the other is written anew.
    assert_eq!(store.take(alerts.rows()), 2);
    assert_eq!(store.0.keys().map(|(_, key, _)| key.as_str()).collect::<Vec<_>>(), ["a"]);
    // A silence that is over is not taken up.
    assert_eq!(
        store.restored("[{name: a, condition: rps > 7}]", at(500)).list()[0].handling.silenced_until,
        None
    );
}

#[test]
fn rows_that_cannot_be_read_are_counted() {
    let mut alerts =
        Alerts::new(rules("[{name: a, condition: rps > 5}, {name: b, condition: rps > 2x_baseline}]"));
    let row = |table: &str, key: &str, at: u64, value: &str| SavedRow {
        table: table.to_owned(),
        key: key.to_owned(),
        at,
        value: value.to_owned(),
    };
    let future = at(4_000).0;
    let ahead = format!(
        r#"{{"condition":"rps > 5","state":"firing","since":{future},"run_ns":null,"untold":false,"last_resolved_at":null,"handling":{{"silenced_until":null,"acknowledged":null}},"past":[]}}"#
    );
    alerts.restore(
        &[
            row("alert", "a", 0, "nonsense"),
            row("alert", "a", 0, r#"{"state":"burning"}"#),
            row("alert", "b", 0, &ahead),
            row("baseline", "rps", 3_600, "[1]"),
            row("baseline", "rps", 3_601, "[1,1]"),
            row("baseline", "rps", 36_000_000, "[1,1]"),
            row("slo", "rps", 3_601, "?"),
        ],
        at(0),
    );
    assert_eq!(alerts.broken_rows(), 6);
    assert!(alerts.list().iter().all(|status| status.state == AlertState::Inactive));
}

#[test]
fn a_reload_keeps_what_stayed_and_resolves_what_went() {
    let (board, mut store) = (Board::default(), Store::default());
    let before = "[{name: stays, condition: rps > 5 for 2s}, {name: goes, condition: rps > 5}, \
                  {name: changes, condition: rps > 5}, {name: waits, condition: rps > 5 for 60s}]";
    let mut alerts = Alerts::new(rules(before));
    run(&mut alerts, &board, &[(0..5, HIGH)]);
    alerts.silence("changes", at(50));
    store.take(alerts.rows());

    let after = "[{name: new, condition: rps > 5 for 60s}, {name: changes, condition: rps > 4 for 60s}, \
                 {name: waits, condition: rps > 5 for 1min}, \
                 {name: stays, condition: rps > 5 for 2s, severity: critical, action: scale_up}]";
    let resolved: Vec<_> = alerts.replace(rules(after), at(5)).iter().map(told).collect();
    assert_eq!(
        resolved,
        ["5 changes firing>inactive rule_gone silenced", "5 goes firing>inactive rule_gone"]
    );
    let states: Vec<_> = alerts.list().iter().map(|status| (status.state, status.since)).collect();
    assert_eq!(
        states,
        [
            (AlertState::Inactive, None),
            (AlertState::Inactive, None),
            (AlertState::Pending, Some(at(0))),
            (AlertState::Firing, Some(at(2))),
        ]
    );
    assert_eq!(alerts.list()[1].handling.silenced_until, Some(at(50)));
    assert_eq!(alerts.list()[3].actions, ["scale_up".into()]);
    assert_eq!(
        run(&mut alerts, &board, &[(5..6, HIGH)]),
        ["5 new inactive>pending met", "5 changes inactive>pending met silenced"]
    );
    store.take(alerts.rows());
    let kept: Vec<_> = store.0.keys().map(|(_, key, _)| key.as_str()).collect();
    assert_eq!(kept, ["changes", "new", "stays", "waits"]);
}
