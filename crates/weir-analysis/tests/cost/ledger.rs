//! What exchanges cost together.

use serde_json::{Value, json};
use weir_analysis::cost::{CostFigures, Costs};
use weir_analysis::saved::{Row, SavedRow};
use weir_analysis::scope::Window;
use weir_analysis::time::Moment;

use crate::fixture::{SECOND, book, costs, exchange, from, record, tick};

const HOUR: u64 = 3_600;

fn moment(second: u64) -> Moment {
    Moment(second * SECOND)
}

/// One that costs 1.2 thousandths of a dollar, if the model is `plain`.
fn count(costs: &mut Costs, model: &str, second: u64) {
    let exchange = exchange(model, json!({"input":1000,"output":100}));
    let value = costs.value(&exchange);
    costs.exchange(&exchange, &value, moment(second));
}

fn close(figure: Option<f64>, expected: f64) {
    assert!((figure.unwrap() - expected).abs() < 1e-12, "{figure:?} is not {expected}");
}

fn saved(rows: Vec<Row>) -> Vec<SavedRow> {
    let kept =
        |Row { table, key, at, value }| Some(SavedRow { table: String::from(table), key, at, value: value? });
    rows.into_iter().filter_map(kept).collect()
}

#[test]
fn windows_slide_and_hours_stand() {
    let mut costs = costs(book());
    for second in [10, 3_000, 3_580, 3_599] {
        count(&mut costs, "plain", second);
    }
    let summary = costs.summary(moment(3_600));
    let windows: Vec<_> = summary.windows.iter().map(|w| w.figures.cost_usd.unwrap()).collect();
    assert_eq!(windows, [0.0024, 0.0024, 0.0048]);
    assert_eq!(summary.this_hour, CostFigures::default());
    close(summary.last_24_hours.cost_usd, 0.0048);
    count(&mut costs, "plain", 3_700);
    let summary = costs.summary(moment(3_700));
    // The one of second 10 has left the last hour.
    close(summary.windows[2].figures.cost_usd, 0.0048);
    close(summary.this_hour.cost_usd, 0.0012);
    let hours: Vec<_> = costs.hours().iter().map(|h| (h.from, h.figures.priced_requests)).collect();
    assert_eq!(hours, [(moment(0), 4), (moment(HOUR), 1)]);
}

#[test]
fn an_hourly_cost_goes_by_the_time_that_has_passed() {
    let mut costs = costs(book());
    assert_eq!(costs.hourly(moment(120), None, Window::Hour), None);
    count(&mut costs, "plain", 30);
    assert_eq!(costs.hourly(moment(59), None, Window::Hour), None);
    // 0.0012 in a minute, in two minutes, in an hour; and in the hour after that.
    close(costs.hourly(moment(60), None, Window::Hour), 0.072);
    close(costs.hourly(moment(120), None, Window::Hour), 0.036);
    close(costs.hourly(moment(3_600), None, Window::Hour), 0.0012);
    assert_eq!(costs.hourly(moment(3_631), None, Window::Hour), None);
    assert_eq!(costs.summary(moment(120)).usd_per_hour, costs.hourly(moment(120), None, Window::Hour));
}

#[test]
fn tokens_have_a_cost_over_those_that_are_priced() {
    let mut costs = costs(book());
    count(&mut costs, "plain", 1);
    count(&mut costs, "no-price", 2);
    let mut counted = record("plain", Value::Null);
    counted["answer"]["tokens"] = json!({"count":50,"provenance":"counted_chunks"});
    let counted = from(counted);
    let value = costs.value(&counted);
    costs.exchange(&counted, &value, moment(3));
    let figures = costs.summary(moment(4)).this_hour;
    // 0.0012 for 1100 tokens, and 0.0001 for 50.
    close(figures.cost_usd, 0.0013);
    close(figures.estimated_usd, 0.0001);
    close(figures.usd_per_1m_tokens, 0.0013 / 1150.0 * 1e6);
    close(figures.usd_per_1k_tokens, 0.0013 / 1150.0 * 1e3);
    close(figures.usd_per_1m_output_tokens, 0.0013 / 150.0 * 1e6);
    assert_eq!((figures.priced_requests, figures.output_only_requests), (2, 1));
    assert_eq!((figures.input_tokens, figures.output_tokens), (1000, 150));
    assert_eq!((figures.unpriced_requests, figures.unpriced_tokens), (1, 1100));
    assert_eq!(figures.saved_by_cache_usd, None);
}

#[test]
fn savings_are_known_where_any_exchange_tells_them() {
    let mut costs = costs(book());
    let cached = exchange("omni", json!({"input":1000,"cached_input":400,"output":0}));
    let value = costs.value(&cached);
    costs.exchange(&cached, &value, moment(1));
    count(&mut costs, "plain", 1);
    close(costs.summary(moment(1)).this_hour.saved_by_cache_usd, 0.0006);
}

#[test]
fn without_a_price_there_are_no_figures() {
    let mut costs = costs(book());
    assert_eq!(costs.summary(moment(100)).this_hour, CostFigures::default());
    count(&mut costs, "no-price", 90);
    let summary = costs.summary(moment(100));
    let expected = CostFigures { unpriced_requests: 1, unpriced_tokens: 1100, ..CostFigures::default() };
    assert_eq!((summary.this_hour, summary.usd_per_hour), (expected, None));
}

#[test]
fn nobody_pays_for_what_no_engine_worked_for() {
    let mut costs = costs(book());
    for (outcome, dialect, unpriced) in [
        ("upstream_error", "openai_chat", 0),
        ("upstream_unreachable", "openai_chat", 0),
        ("completed", "other", 0),
        ("timeout", "openai_chat", 1),
        ("completed", "openai_chat", 2),
    ] {
        let mut unpaid = record("plain", Value::Null);
        unpaid["outcome"] = json!(outcome);
        unpaid["request"]["dialect"] = json!(dialect);
        let unpaid = from(unpaid);
        let value = costs.value(&unpaid);
        costs.exchange(&unpaid, &value, moment(1));
        assert_eq!(costs.summary(moment(1)).this_hour.unpriced_requests, unpriced, "{outcome} {dialect}");
    }
}

#[test]
fn models_are_bounded_and_places_are_given_back() {
    let mut costs = costs(book());
    for model in ["plain", "b", "c", "d", "e", "other", "unknown", "plain"] {
        count(&mut costs, model, 10);
    }
    let mut nameless = record("x", json!({"input":1000,"output":100}));
    nameless["request"]["model"] = Value::Null;
    nameless["answer"]["model"] = json!("plain");
    let nameless = from(nameless);
    let value = costs.value(&nameless);
    costs.exchange(&nameless, &value, moment(10));
    let summary = costs.summary(moment(10));
    let requests = |figures: &CostFigures| figures.priced_requests + figures.unpriced_requests;
    let models: Vec<_> = summary.models.iter().map(|m| (&*m.model, requests(&m.last_7_days))).collect();
    assert_eq!(models, [("b", 1), ("c", 1), ("other", 3), ("plain", 2), ("unknown", 2)]);
    assert_eq!(summary.turned_away, 2);
    close(summary.this_hour.cost_usd, 0.0036);
    assert_eq!(requests(&summary.this_hour), 9);
    // A week later their places are free.
    let late = 7 * 24 * HOUR + 10;
    costs.tick(moment(late), &tick(late * SECOND, 0, 0));
    count(&mut costs, "d", late);
    let summary = costs.summary(moment(late));
    assert_eq!(summary.models.iter().map(|m| &*m.model).collect::<Vec<_>>(), ["d"]);
}

#[test]
fn hours_outlive_a_restart() {
    let mut before = costs(book());
    count(&mut before, "plain", 10);
    count(&mut before, "omni", 20);
    count(&mut before, "plain", HOUR + 10);
    let rows = before.rows();
    let keys: Vec<_> = rows.iter().map(|row| (row.table, row.key.as_str(), row.at)).collect();
    assert_eq!(keys, [("cost", "omni", 0), ("cost", "plain", 0), ("cost", "plain", HOUR)]);
    assert_eq!(before.rows(), []);
    count(&mut before, "plain", HOUR + 20);
    let changed = before.rows();
    assert_eq!(changed.len(), 1);
    assert_eq!((changed[0].key.as_str(), changed[0].at), ("plain", HOUR));

    let mut rows = saved(rows);
    rows.retain(|row| (row.key.as_str(), row.at) != ("plain", HOUR));
    rows.extend(saved(changed));
    let mut after = restarted(HOUR + 30, 3);
    after.restore(&rows);
    let now = moment(HOUR + 40);
    let (was, is) = (before.summary(now), after.summary(now));
    assert_eq!((is.last_7_days, is.this_hour, is.models), (was.last_7_days, was.this_hour, was.models));
    assert_eq!((is.broken_rows, after.rows().len()), (0, 0));
    count(&mut after, "plain", HOUR + 50);
    close(after.summary(moment(HOUR + 50)).this_hour.cost_usd, 0.0036);
}

fn restarted(started: u64, max_models: usize) -> Costs {
    use weir_analysis::cost::CostConfig;
    Costs::new(CostConfig { book: book(), gpu: None, started: moment(started), max_models })
}

#[test]
fn rows_that_cannot_be_read_are_counted_and_left() {
    let mut one = costs(book());
    count(&mut one, "plain", 10);
    let good = saved(one.rows()).remove(0);
    let row = |at, value: &str| SavedRow { at, value: value.into(), ..good.clone() };
    let mut costs = restarted(2 * HOUR, 3);
    costs.restore(&[
        row(0, "{}"),
        row(0, "nonsense"),
        row(0, r#"{"cost":-1}"#),
        row(7, &good.value),
        row(4 * HOUR, &good.value),
        SavedRow { table: "slo".into(), ..good.clone() },
        good.clone(),
    ]);
    let summary = costs.summary(moment(2 * HOUR));
    assert_eq!(summary.broken_rows, 5);
    assert_eq!(summary.last_7_days.priced_requests, 1);
}

#[test]
fn what_is_too_old_or_has_no_room_goes_from_the_store() {
    let mut one = costs(book());
    for model in ["a", "b", "c"] {
        count(&mut one, model, 10);
    }
    let rows = saved(one.rows());
    let mut late = restarted(7 * 24 * HOUR, 3);
    late.restore(&rows);
    assert_eq!(late.rows().iter().filter(|row| row.value.is_none()).count(), 3);
    assert_eq!(late.summary(moment(7 * 24 * HOUR)).models, []);
    // Room for one: the others become `other`, once, however often it is restarted.
    let mut store = rows;
    for _ in 0..2 {
        let mut small = restarted(HOUR, 1);
        small.restore(&store);
        for row in small.rows() {
            store.retain(|saved| (saved.key.as_str(), saved.at) != (row.key.as_str(), row.at));
            store.extend(saved(vec![row]));
        }
        let summary = small.summary(moment(HOUR));
        let models: Vec<_> =
            summary.models.iter().map(|m| (&*m.model, m.last_24_hours.unpriced_requests)).collect();
        assert_eq!(models, [("a", 1), ("other", 2)]);
    }
}
