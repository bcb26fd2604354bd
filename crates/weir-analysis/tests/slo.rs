//! Budgets against a brute-force count over all events, and what happens at the edges of windows.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use weir_analysis::saved::SavedRow;
use weir_analysis::slo::burn::Severity;
use weir_analysis::slo::{BurnWindow, Objective, OwnRefusals, SloConfig, SloStatus, Slos};
use weir_analysis::time::Moment;
use weir_core::exchange::{Exchange, ExchangeId, Pulse};
use weir_core::gaps::GapCell;
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::timeline::{Mark, Offset, Stamp};

const MS: u64 = 1_000_000;
const DAY_M: u64 = 1_440;
/// A whole day, in minutes since the Unix epoch.
const START_M: u64 = 20_000 * DAY_M;

fn minute(minute: u64) -> Moment {
    Moment((START_M + minute) * 60_000 * MS)
}

fn exchange(outcome: Outcome, error_type: Option<ErrorType>, marks: &[(Mark, u64)]) -> Exchange {
    let mut exchange: Exchange = serde_json::from_value(serde_json::json!({
        "id": 1, "request_id": "r", "received": 0, "received_mono": 0,
        "request": {"method": "POST", "path": "/v1/chat/completions", "dialect": "openai_chat",
            "model": "m", "stream": true, "choices": 1, "bytes": 2},
        "upstream": "u", "status": 200, "outcome": outcome, "error_type": error_type, "timeline": {},
        "body_wait": 0,
        "answer": {"bytes": 0, "stream": true, "finish_reasons": [], "scan":
            {"events": 0, "comments": 0, "broken": 0, "oversized": 0, "unterminated": false}},
    }))
    .unwrap();
    for &(mark, ms) in marks {
        exchange.timeline.set(mark, Offset(ms * MS));
    }
    exchange
}

fn good() -> Exchange {
    exchange(Outcome::Completed, None, &[(Mark::FirstToken, 500), (Mark::Ended, 900)])
}

fn bad() -> Exchange {
    exchange(Outcome::UpstreamError, Some(ErrorType::Upstream5xx), &[(Mark::Ended, 10)])
}

fn slo(objective: Objective, target: f64) -> SloConfig {
    SloConfig { name: "s".into(), objective, target, model: None, min_events: 100 }
}

fn slos(config: SloConfig) -> Slos {
    Slos::new(vec![config], OwnRefusals::Bad, minute(0))
}

fn feed(slos: &mut Slos, at: u64, good_count: u64, bad_count: u64) {
    let (good, bad) = (good(), bad());
    (0..good_count).for_each(|_| slos.exchange(&good, minute(at)));
    (0..bad_count).for_each(|_| slos.exchange(&bad, minute(at)));
}

fn only(slos: &Slos, at: u64) -> SloStatus {
    let mut status = slos.status(minute(at));
    assert_eq!(status.len(), 1);
    status.remove(0)
}

fn close(found: Option<f64>, expected: f64) {
    assert!((found.unwrap() - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found:?} for {expected}");
}

#[test]
fn thirty_days_with_an_outage_come_out_as_by_hand() {
    let mut slos = slos(slo(Objective::Availability, 0.999));
    let mut events: Vec<(u64, u64, u64)> = Vec::new();
    // Ten good ones every ten minutes; in the last hour of the record, half of them fail.
    for at in (0..30 * DAY_M).step_by(10) {
        let failing = at >= 30 * DAY_M - 60;
        events.push(if failing { (at, 5, 5) } else { (at, 10, 0) });
    }
    for &(at, good, bad) in &events {
        feed(&mut slos, at, good, bad);
    }
    let now = 30 * DAY_M - 1;
    let status = only(&slos, now);
    // 43,200 exchanges, 30 of them bad: 30/43,200/0.001 = 0.69444 of the budget is used.
    assert_eq!((status.budget.good, status.budget.bad), (43_170, 30));
    close(status.budget.remaining, 1.0 - 30.0 / 43.2);
    // The last hour: 30 of 60 bad. Six hours: of 360; three days: of 4,320.
    close(slos.burn("s", BurnWindow::Hour), 500.0);
    close(slos.burn("s", BurnWindow::SixHours), 30.0 / 0.36);
    close(slos.burn("s", BurnWindow::ThreeDays), 30.0 / 4.32);
    for window in &status.windows {
        let inside = events.iter().filter(|event| event.0 + window.window.minutes() > now);
        let counts = inside.fold((0, 0), |sum, event| (sum.0 + event.1, sum.1 + event.2));
        assert_eq!((window.good, window.bad), counts, "{window:?}");
    }
    // Only tickets have a hundred events in both windows: 120 in two hours, 1,440 in a day.
    assert_eq!(status.severity, Some(Severity::Ticket));
    assert_eq!(status.budget.exhausted_in_s, None, "sixty events in the hour are too few to project");
}

#[test]
fn an_outage_pages_and_the_budget_tells_how_long_it_lasts() {
    let mut slos = slos(slo(Objective::Availability, 0.98));
    for at in 0..600 {
        feed(&mut slos, at, 50, 0);
    }
    for at in 600..660 {
        feed(&mut slos, at, 30, 20);
    }
    // 0.4/0.02 = 20 in the hour and in five minutes; 1,200 of 33,000 bad: overspent.
    let status = only(&slos, 659);
    assert_eq!(status.severity, Some(Severity::Page));
    close(status.budget.remaining, 1.0 - (1_200.0 / 33_000.0) / 0.02);
    assert_eq!(status.budget.exhausted_in_s, Some(0.0));

    let mut slos = self::slos(slo(Objective::Availability, 0.9));
    for at in 0..600 {
        let (good, bad) = if at < 540 { (10, 0) } else { (8, 2) };
        feed(&mut slos, at, good, bad);
    }
    // 120 of 6,000 bad: 0.8 is left; the hour burns at 2: 0.8 × 30 d / 2 = 12 d.
    let budget = only(&slos, 599).budget;
    close(budget.remaining, 0.8);
    close(budget.exhausted_in_s, 12.0 * 86_400.0);
}

#[test]
fn one_failure_of_ten_pages_nobody() {
    let mut slos = slos(slo(Objective::Availability, 0.999));
    feed(&mut slos, 0, 9, 1);
    close(only(&slos, 0).windows[0].burn, 100.0);
    assert_eq!(only(&slos, 0).severity, None);
    feed(&mut slos, 0, 89, 0);
    assert_eq!(only(&slos, 0).severity, None, "99 events");
    feed(&mut slos, 0, 0, 1);
    // A hundred, two of them bad: burn 20.
    assert_eq!(only(&slos, 0).severity, Some(Severity::Page));
}

#[test]
fn windows_expire_by_the_minute_and_the_budget_by_the_hour() {
    let mut slos = slos(slo(Objective::Availability, 0.999));
    feed(&mut slos, 0, 0, 1);
    let bad = |slos: &Slos, at, window: usize| only(slos, at).windows[window].bad;
    assert_eq!((bad(&slos, 4, 0), bad(&slos, 5, 0)), (1, 0));
    assert_eq!((bad(&slos, 59, 2), bad(&slos, 60, 2)), (1, 0));
    slos.tick(minute(4_319));
    assert_eq!((bad(&slos, 4_319, 6), bad(&slos, 4_320, 6)), (1, 0));
    assert_eq!(only(&slos, 30 * DAY_M - 1).budget.bad, 1);
    assert_eq!(only(&slos, 30 * DAY_M).budget.bad, 0);
    assert_eq!(only(&slos, 30 * DAY_M).budget.remaining, None, "no events, no figures");
    slos.tick(minute(400 * DAY_M));
    assert_eq!(only(&slos, 400 * DAY_M).budget.bad, 0);
}

#[test]
fn windows_that_reach_before_the_start_are_partial() {
    let slos = slos(slo(Objective::Availability, 0.999));
    let status = only(&slos, 30);
    let marks: Vec<_> = status.windows.iter().map(|window| (window.partial, window.covered_s)).collect();
    assert_eq!(marks[..3], [(false, 300.0), (false, 1_800.0), (true, 1_800.0)]);
    assert!(status.budget.partial && !only(&slos, 30 * DAY_M).budget.partial);
    assert_eq!(status.windows[0].burn, None);
}

#[test]
fn what_never_came_is_bad_for_latencies_if_waited_for_beyond_the_limit() {
    use OwnRefusals::{Bad, Out};
    let limit = Duration::from_secs(2);
    let ended = |outcome, error_type, at| {
        exchange(outcome, Some(error_type), &[(Mark::Queued, 0), (Mark::Ended, at)])
    };
    let gone = |at| {
        let left = ErrorType::ClientDisconnectBeforeFirstToken;
        ended(Outcome::ClientGoneBeforeFirstToken, left, at)
    };
    let queued = ended(Outcome::Timeout, ErrorType::ProxyQueueTimeout, 1_000);
    let mut not_a_stream = bad();
    not_a_stream.request.stream = false;
    let counts = |objective, own, exchange: &Exchange| {
        let mut slos = Slos::new(vec![slo(objective, 0.9)], own, minute(0));
        slos.exchange(exchange, minute(0));
        let window = only(&slos, 0).windows.remove(0);
        (window.good, window.bad)
    };
    for objective in [Objective::Ttft(limit), Objective::E2e(limit), Objective::QueueWait(limit)] {
        assert_eq!(counts(objective, Bad, &gone(2_000)), (0, 0), "{objective:?}");
        assert_eq!(counts(objective, Bad, &gone(2_001)), (0, 1), "{objective:?}");
        assert_eq!(counts(objective, Bad, &queued), (0, 1), "{objective:?}");
        assert_eq!(counts(objective, Out, &queued), (0, 0), "{objective:?}");
    }
    assert_eq!(counts(Objective::Availability, Bad, &gone(2_001)), (0, 0));
    assert_eq!(counts(Objective::Ttft(limit), Bad, &bad()), (0, 1));
    assert_eq!(counts(Objective::Ttft(limit), Bad, &not_a_stream), (0, 0));
    assert_eq!(counts(Objective::Ttft(Duration::from_millis(500)), Bad, &good()), (1, 0));
    assert_eq!(counts(Objective::Ttft(Duration::from_millis(499)), Bad, &good()), (0, 1));
    assert_eq!(counts(Objective::E2e(limit), Bad, &bad()), (0, 1));
    assert_eq!(counts(Objective::Tpot(limit), Bad, &bad()), (0, 0));
    assert_eq!(counts(Objective::QueueWait(limit), Bad, &good()), (0, 0));
}

#[test]
fn what_is_of_other_models_does_not_count() {
    let of_model = |objective| SloConfig { model: Some("n".into()), ..slo(objective, 0.95) };
    let cell = GapCell::default();
    cell.add(60 * MS, 3);
    cell.add(150 * MS, 1);
    let pulse = |model: Option<&str>| Pulse {
        id: ExchangeId(1),
        at: Stamp(0),
        model: model.map(Into::into),
        upstream: None,
        first_token: None,
        chunks: 2,
        tokens: 4,
        gaps: cell.read(),
        silence: Offset(0),
    };
    let mut itl = slos(of_model(Objective::Itl(Duration::from_millis(100))));
    for model in [Some("m"), Some("n"), None] {
        itl.pulse(&pulse(model), minute(0));
    }
    let status = only(&itl, 0);
    assert_eq!((status.budget.good, status.budget.bad), (3, 1));
    assert_eq!(status.effective_limit_s, Some(0.1));
    let mut availability = slos(of_model(Objective::Availability));
    feed(&mut availability, 0, 2, 1);
    assert_eq!(only(&availability, 0).budget.good_share, None);
}

#[test]
fn classes_are_told_when_they_have_more_than_their_share() {
    let mut slos = slos(slo(Objective::Availability, 0.999));
    feed(&mut slos, 0, 999, 1);
    let over = |slos: &Slos| slos.classes(minute(1)).windows[0].classes[3].clone();
    assert_eq!((over(&slos).share, over(&slos).over), (Some(0.001), Some(false)), "0.1 % is allowed");
    feed(&mut slos, 1, 0, 1);
    assert_eq!((over(&slos).count, over(&slos).over), (2, Some(true)));
    assert!(over(&slos).advice.is_some());
    let later = slos.classes(minute(DAY_M + 2));
    assert_eq!((later.windows[2].exchanges, later.windows[2].classes[0].over), (0, None));
}

#[test]
fn limits_are_the_strictest_that_apply() {
    let named = |name: &str, seconds, model: Option<&str>| SloConfig {
        name: name.into(),
        model: model.map(Into::into),
        ..slo(Objective::Ttft(Duration::from_secs(seconds)), 0.9)
    };
    let configs = vec![named("a", 3, None), named("b", 2, None), named("c", 1, Some("m"))];
    let slos = Slos::new(configs, OwnRefusals::Bad, minute(0));
    assert_eq!(slos.latency_limits(None).ttft, Some(Duration::from_secs(2)));
    assert_eq!(slos.latency_limits(Some("m")).ttft, Some(Duration::from_secs(1)));
    assert_eq!(slos.latency_limits(Some("n")).e2e, None);
    assert!(slos.counts_for_goodput(&good()) && slos.counts_for_goodput(&bad()));
    let left = exchange(Outcome::ClientGoneMidStream, Some(ErrorType::ClientDisconnectMidStream), &[]);
    assert!(!slos.counts_for_goodput(&left));
}

/// A store that keeps rows as it is told.
#[derive(Default)]
struct Store(BTreeMap<(String, u64), String>);

impl Store {
    fn write(&mut self, slos: &mut Slos) {
        for row in slos.rows() {
            match row.value {
                Some(value) => self.0.insert((row.key, row.at), value),
                None => self.0.remove(&(row.key, row.at)),
            };
        }
    }

    fn read(&self) -> Vec<SavedRow> {
        let row = |((key, at), value): (&(String, u64), &String)| SavedRow {
            table: "slo".into(),
            key: key.clone(),
            at: *at,
            value: value.clone(),
        };
        self.0.iter().map(row).collect()
    }
}

#[test]
fn broken_rows_are_counted_and_let_alone() {
    let mut first = slos(slo(Objective::Availability, 0.999));
    feed(&mut first, 0, 3, 1);
    let mut store = Store::default();
    store.write(&mut first);
    let mut rows = store.read();
    assert_eq!(rows.len(), 3, "the minute, the hour, and since when");
    let whole = rows.iter().find(|row| row.key.contains("minute")).unwrap().clone();
    rows.push(SavedRow { value: "[1".into(), ..whole.clone() });
    rows.push(SavedRow { at: whole.at + 1, ..whole.clone() });
    rows.push(SavedRow { at: u64::MAX, ..whole.clone() });
    rows.push(SavedRow { value: "[-1,2]".into(), ..whole });
    let mut second = slos(slo(Objective::Availability, 0.999));
    second.restore(&rows);
    assert_eq!(second.uncounted().broken_rows, 4);
    assert_eq!(second.status(minute(0)), first.status(minute(0)));
    assert_eq!(second.rows(), []);
    // What the counts mean has changed: they are not taken up.
    let mut other = Slos::new(vec![slo(Objective::Availability, 0.999)], OwnRefusals::Out, minute(0));
    other.restore(&rows);
    assert_eq!(only(&other, 0).budget.good, 0);
}

#[test]
fn rows_stay_bounded_and_those_of_forgotten_slos_go() {
    let mut slos = slos(slo(Objective::Availability, 0.999));
    let mut store = Store::default();
    for at in (0..40 * DAY_M).step_by(7) {
        feed(&mut slos, at, 1, 0);
        if at % 5 == 0 {
            store.write(&mut slos);
        }
    }
    store.write(&mut slos);
    assert!(store.0.len() <= 4_320 / 7 + 1 + 720 + 1, "{}", store.0.len());
    assert!(store.0.len() > 1_300, "{}", store.0.len());
    let mut other = Slos::new(vec![slo(Objective::ErrorRate, 0.9)], OwnRefusals::Bad, minute(90 * DAY_M));
    other.restore(&store.read());
    store.write(&mut other);
    assert_eq!(store.0.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_restart_at_any_point_changes_nothing(
        steps in prop::collection::vec((0_u64..2_000, 0_u64..4, 0_u64..3), 1..60),
        split in 0_usize..60,
        saves in 1_usize..7,
    ) {
        let config = || vec![
            slo(Objective::Availability, 0.99),
            SloConfig { name: "t".into(), ..slo(Objective::Ttft(Duration::from_secs(2)), 0.95) },
        ];
        let mut whole = Slos::new(config(), OwnRefusals::Bad, minute(0));
        let mut cut = whole.clone();
        let mut store = Store::default();
        let mut now = 0;
        for (nth, &(ahead, good, bad)) in steps.iter().enumerate() {
            now += ahead;
            whole.tick(minute(now));
            cut.tick(minute(now));
            if nth % saves == 0 || nth == split {
                store.write(&mut cut);
            }
            if nth == split {
                cut = Slos::new(config(), OwnRefusals::Bad, minute(now));
                cut.restore(&store.read());
                prop_assert_eq!(cut.uncounted().broken_rows, 0);
            }
            feed(&mut whole, now, good, bad);
            feed(&mut cut, now, good, bad);
        }
        prop_assert_eq!(whole.status(minute(now)), cut.status(minute(now)));
        // What both would have written down in the end is the same, too.
        store.write(&mut cut);
        let mut other = Store::default();
        other.write(&mut whole);
        prop_assert_eq!(store.0, other.0);
    }
}
