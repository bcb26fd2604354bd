//! What SLOs become.

use std::time::Duration;

use weir_analysis::slo::{Objective, OwnRefusals, SloConfig};

use super::prom_slo;

fn slo(objective: Objective, model: Option<&str>) -> SloConfig {
    SloConfig {
        name: "it".into(),
        objective,
        target: 99.9 / 100.0,
        model: model.map(Into::into),
        min_events: 100,
    }
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_latency_is_what_lies_above_a_bucket() {
    let it = prom_slo(&slo(Objective::Ttft(2_000 * MS), None), OwnRefusals::Bad).unwrap();
    assert_eq!(it.target, 0.999);
    assert_eq!(
        &*it.bad,
        "sum(rate(weir_ttft_seconds_count{dialect!=\"other\"}[{{.window}}])) - \
         sum(rate(weir_ttft_seconds_bucket{dialect!=\"other\",le=~\"2([.]0)?\"}[{{.window}}]))"
    );
    assert_eq!(&*it.total, "(sum(rate(weir_ttft_seconds_count{dialect!=\"other\"}[{{.window}}]))) > 0");
    let it = prom_slo(&slo(Objective::Itl(100 * MS), Some("a\"b")), OwnRefusals::Bad).unwrap();
    assert!(
        it.bad.ends_with("weir_itl_seconds_bucket{le=~\"0.1\",model=\"a\\\"b\"}[{{.window}}]))"),
        "{}",
        it.bad
    );
}

#[test]
fn a_limit_within_a_bucket_cannot_be_said() {
    for (objective, why) in [
        (
            Objective::Ttft(1_700 * MS),
            "no bucket of weir_ttft_seconds ends at 1.7 s; the nearest end at 1.5 s and 2 s",
        ),
        (
            Objective::E2e(3_600_000 * MS),
            "no bucket of weir_e2e_seconds ends at 3600 s; the nearest end at 600 s",
        ),
    ] {
        assert_eq!(prom_slo(&slo(objective, None), OwnRefusals::Bad), Err(why.to_owned()));
    }
}

/// The types of errors that an expression names, by the matchers in it.
fn types(expression: &str) -> Vec<Vec<&str>> {
    let matchers = expression.split("error_type=~\"").skip(1);
    matchers.map(|rest| rest.split('"').next().unwrap().split('|').collect()).collect()
}

#[test]
fn sides_are_those_of_the_table() {
    let it = |objective, own| prom_slo(&slo(objective, None), own).unwrap();
    let rate = it(Objective::ErrorRate, OwnRefusals::Bad);
    let bad = &types(&rate.bad)[0];
    assert!(
        bad.contains(&"content_filter") && bad.contains(&"rate_limited") && bad.contains(&"proxy_shutdown")
    );
    assert!(!bad.contains(&"missing_done") && !bad.contains(&"auth"));
    let out = &types(&rate.total)[0];
    assert!(out.contains(&"auth") && !out.contains(&"content_filter") && !out.contains(&"proxy_shutdown"));
    assert!(!out.iter().any(|name| name.starts_with("client_disconnect")), "{out:?}");
    let available = it(Objective::Availability, OwnRefusals::Out);
    let (bad, out) = (&types(&available.bad)[0], &types(&available.total)[0]);
    assert!(!bad.contains(&"content_filter") && !bad.contains(&"proxy_queue_full"));
    assert!(out.contains(&"content_filter") && out.contains(&"proxy_queue_full"));
}

#[test]
fn requests_that_failed_are_bad_of_the_latencies_that_count_them() {
    let it = |objective, own| prom_slo(&slo(objective, None), own).unwrap();
    let e2e = it(Objective::E2e(30_000 * MS), OwnRefusals::Bad);
    assert!(types(&e2e.bad)[0].contains(&"upstream_5xx") && types(&e2e.total)[0].contains(&"upstream_5xx"));
    let queue = it(Objective::QueueWait(5_000 * MS), OwnRefusals::Bad);
    assert_eq!(types(&queue.bad), [["proxy_queue_full", "proxy_queue_timeout"]]);
    let queue = it(Objective::QueueWait(5_000 * MS), OwnRefusals::Out);
    assert!(types(&queue.bad).is_empty());
}

/// The numbers of a list in a source text.
fn list(text: &str, name: &str) -> Vec<f64> {
    let list = text.split(&format!("{name}: &[f64] = &[")).nth(1).unwrap().split(']').next().unwrap();
    let numbers = list.split(',').map(|number| number.trim().replace('_', ""));
    numbers.filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

#[test]
fn buckets_end_where_those_of_the_metrics_do() {
    let text = include_str!("../../../crates/weir-telemetry/src/metrics/bounds.rs");
    assert_eq!(list(text, "LATENCY"), super::LATENCY);
    assert_eq!(list(text, "PER_TOKEN"), super::PER_TOKEN);
}
