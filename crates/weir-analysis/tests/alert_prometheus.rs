//! Alerts as Prometheus' rules.

#![allow(clippy::unwrap_used)]

use weir_analysis::alert::Rules;
use weir_analysis::alert::prometheus::{PromSlo, rules_yaml};

fn exported(file: &str, slos: &[PromSlo]) -> String {
    rules_yaml(&Rules::parse(file, &|_| Some("http://hooks.example.com".to_owned())).unwrap().rules, slos)
}

fn slo() -> PromSlo {
    PromSlo {
        name: "ttft".into(),
        target: 0.95,
        bad: "sum(rate(weir_ttft_seconds_count[{{.window}}])) - sum(rate(weir_ttft_seconds_bucket{le=\"2.0\"}[{{.window}}]))".into(),
        total: "sum(rate(weir_ttft_seconds_count[{{.window}}]))".into(),
    }
}

/// The expression that a condition becomes; or why it becomes none.
fn expression(condition: &str) -> String {
    let file = format!("[{{name: a, condition: {}}}]", serde_json::Value::from(condition));
    let yaml = exported(&file, &[slo()]);
    let line =
        yaml.lines().find(|line| line.starts_with("    expr: '") || line.starts_with("#   is not said"));
    let line = line.unwrap();
    match line.strip_prefix("    expr: '") {
        Some(expr) => expr.strip_suffix('\'').unwrap().replace("''", "'"),
        None => line.strip_prefix("#   is not said here: ").unwrap().to_owned(),
    }
}

#[test]
fn conditions_become_promql() {
    for (condition, promql) in [
        (
            "p95_ttft > 2000ms",
            "histogram_quantile(0.95, sum by (le) (rate(weir_ttft_seconds_bucket[1m]))) > 2",
        ),
        (
            "p50_itl[1h] >= 50ms where model = \"l'l\\\"m\"",
            "histogram_quantile(0.5, sum by (le) (rate(weir_itl_seconds_bucket{model=\"l'l\\\"m\"}[1h]))) >= 0.05",
        ),
        (
            "mean_tps[5m] < 20 where upstream = 'a'",
            "(sum(rate(weir_tokens_per_second_sum{upstream=\"a\"}[5m])) / sum(rate(weir_tokens_per_second_count{upstream=\"a\"}[5m]))) < 20",
        ),
        ("output_tps < 5", "sum(rate(weir_stream_tokens_total[1m])) < 5"),
        (
            "output_tps < 5 where upstream = 'a'",
            "sum(rate(weir_output_tokens_total{upstream=\"a\"}[1m])) < 5",
        ),
        ("concurrency[5m] > 9", "sum(avg_over_time(weir_inflight{phase!=\"queued\"}[5m])) > 9"),
        ("queue_depth > 50", "sum(weir_inflight{phase=\"queued\"}) > 50"),
        ("in_flight > 50 where model = 'm'", "sum(weir_lane_in_flight{lane=\"m\"}) > 50"),
        (
            "rps == 0 and (stalled_streams > 0 or oldest_silence > 30s)",
            "(sum(rate(weir_requests_total[1m])) == 0) and ((sum(weir_stalled_streams) > 0) or (max(weir_inflight_oldest_silence_seconds) > 30))",
        ),
        (
            "timeout_rate > 5%",
            "((sum(rate(weir_errors_total{error_type=~\"upstream_timeout_headers|upstream_timeout_idle\"}[5m])) or vector(0)) / sum(rate(weir_requests_total[5m]))) > 0.05",
        ),
        ("goodput[5m] < 3", "sum(weir_goodput_requests_per_second{window=\"5m\"}) < 3"),
        ("goodput_tps < 3", "sum(weir_goodput_tokens_per_second{window=\"1m\"}) < 3"),
        ("attainment[1h] < 90%", "min(weir_goodput_attainment_ratio{window=\"1h\"}) < 0.9"),
        ("attainment < 90% where model = 'm'", "the metric of attainment is of everything only"),
        ("throughput_ratio < 50%", "min(weir_window_throughput_ratio{window=\"1m\"}) < 0.5"),
        (
            "hourly_cost[1h] > 20 where model = 'm'",
            "(sum(rate(weir_cost_usd_total{model=\"m\"}[1h])) * 3600) > 20",
        ),
        ("cost_per_1m_tokens[1h] > 4", "max(weir_cost_usd_per_million_tokens{window=\"1h\"}) > 4"),
        ("cost_per_1k_tokens[1h] > 4", "(max(weir_cost_usd_per_million_tokens{window=\"1h\"}) / 1000) > 4"),
        ("no_progress > 30s", "max(weir_no_progress_seconds) > 30"),
        ("utilisation > 95%", "max(weir_lane_utilisation_ratio{lane=\"global\"}) > 0.95"),
        ("predicted_wait > 5s where model = 'm'", "max(weir_lane_predicted_wait_seconds{lane=\"m\"}) > 5"),
        (
            "burn_rate(ttft, 1h) > 14.4",
            "(max(slo:sli_error:ratio_rate1h{sloth_id=\"weir-ttft\"}) / (1 - 0.95)) > 14.4",
        ),
        (
            "budget_remaining(ttft) < 10%",
            "max(slo:period_error_budget_remaining:ratio{sloth_id=\"weir-ttft\"}) < 0.1",
        ),
        ("max_ttft > 2s", "histograms keep no greatest value"),
        ("p95_itl > 2s where upstream = 'a'", "the metric of itl has no label upstream"),
        ("p95_input_tokens > 5", "Weir exports no histogram of input_tokens"),
        ("rps > 5 and gpu_util > 5%", "Weir exports no metric of gpu_util"),
        ("rps > 2x_baseline", "only Weir knows the baseline of rps"),
        ("burn_rate(e2e, 1h) > 2", "the SLO e2e is not exported"),
    ] {
        assert_eq!(expression(condition), promql, "{condition}");
    }
}

#[test]
fn the_error_rate_leaves_out_what_clients_did() {
    let expr = expression("error_rate > 5%");
    let (bad, all) = expr.split_once(" / ").unwrap();
    assert!(
        bad.contains("stream_truncated")
            && bad.contains("proxy_queue_full")
            && bad.contains("content_filter")
    );
    assert!(!bad.contains("missing_done") && !bad.contains("auth"), "{bad}");
    assert!(all.contains("outcome!~\"upgraded|client_gone_.*\"") && all.contains("auth"), "{all}");
}

#[test]
fn a_rule_becomes_an_alert() {
    let file = "[{name: a, condition: rps > 5 for 90s, keep_firing_for: 1us, severity: critical, \
                labels: {team: \"it's {{x}}\"}, summary: \"two\\nlines\"}, \
                {name: b, condition: gpu_power > 600}]";
    let expected = r##"# Alerts of Weir over its own metrics, for Prometheus.
# Percentiles are those of histogram buckets, and so coarser than Weir's own.
# b: gpu_power > 600
#   is not said here: Weir exports no metric of gpu_power
groups:
- name: weir-alerts
  rules:
  - alert: 'a'
    expr: 'sum(rate(weir_requests_total[1m])) > 5'
    for: 90s
    keep_firing_for: 1ms
    labels:
      severity: critical
      team: 'it''s {{ "{{" }}x}}'
    annotations:
      description: 'The condition of Weir is: rps > 5 for 90s'
      summary: "two\nlines"
"##;
    assert_eq!(exported(file, &[]), expected);
}

#[test]
fn where_nothing_can_be_said_the_file_has_no_groups() {
    assert!(exported("[{name: b, condition: gpu_power > 600}]", &[]).ends_with("\ngroups: []\n"));
}

#[test]
fn an_slo_becomes_the_rules_that_sloth_writes() {
    let yaml = exported("[]", &[slo()]);
    for window in ["5m", "30m", "1h", "2h", "6h", "1d", "3d", "30d"] {
        assert_eq!(
            yaml.matches(&format!("record: slo:sli_error:ratio_rate{window}\n")).count(),
            1,
            "{window}"
        );
    }
    for record in [
        "slo:objective:ratio",
        "slo:error_budget:ratio",
        "slo:time_period:days",
        "slo:current_burn_rate:ratio",
        "slo:period_burn_rate:ratio",
        "slo:period_error_budget_remaining:ratio",
        "sloth_slo_info",
    ] {
        assert_eq!(yaml.matches(&format!("record: {record}\n")).count(), 1, "{record}");
    }
    assert!(!yaml.contains("{{.window}}"));
    let page = "(max without (sloth_window) (slo:sli_error:ratio_rate5m{sloth_id=\"weir-ttft\"} > (14.4 * (1 - 0.95))) and \
                max without (sloth_window) (slo:sli_error:ratio_rate1h{sloth_id=\"weir-ttft\"} > (14.4 * (1 - 0.95))))";
    assert!(yaml.contains(page), "{yaml}");
    assert_eq!(yaml.matches("sloth_severity: page").count(), 1);
    assert_eq!(yaml.matches("sloth_severity: ticket").count(), 1);
}

#[test]
fn every_metric_that_is_named_is_one_of_weirs() {
    let document = include_str!("../../../docs/metrics.md");
    let mut named = std::collections::BTreeSet::new();
    for entry in weir_analysis::alert::signal::catalogue() {
        let unit = entry.unit.as_str();
        let value = if unit == "seconds" { "1s" } else { "0" };
        for signal in [entry.name.replace("pNN", "p95"), entry.name.replace("pNN", "mean")] {
            let signal = signal.replace("slo, window", "ttft, 1h").replace("(slo)", "(ttft)");
            for scope in ["", " where model = 'm'", " where upstream = 'u'"] {
                let file = format!("[{{name: a, condition: \"{signal} > {value}{scope}\"}}]");
                let Ok(parsed) = Rules::parse(&file, &|_| None) else {
                    assert_ne!(scope, "", "{file}");
                    continue;
                };
                let yaml = rules_yaml(&parsed.rules, &[]);
                let expr = yaml.lines().find_map(|line| line.strip_prefix("    expr: "));
                let words = expr.unwrap_or_default().split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                named.extend(words.filter(|word| word.starts_with("weir_")).map(str::to_owned));
            }
        }
    }
    assert!(named.len() >= 20, "{named:?}");
    for name in named {
        let known = ["", "_bucket", "_sum", "_count"].into_iter().any(|part| {
            name.strip_suffix(part).is_some_and(|name| document.contains(&format!("| `{name}` |")))
        });
        assert!(known, "{name}");
    }
}
