//! What is shown of a snapshot.

use serde_json::{Value, json};
use weir_analysis::cost::CostSummary;

use super::page::Page;
use super::show;

fn snapshot() -> Value {
    let stage = json!({
        "mean_inside": 1.5, "arrivals_per_s": 12.34, "mean_time_s": null, "residual": null, "residual_share": null
    });
    let none = json!({ "before": null, "since": null });
    json!({
        "version": 1,
        "at": 1_500_000_100_000_000_000_u64,
        "started": 1_500_000_000_000_000_000_u64,
        "figures": [], "history": null, "slos": [], "error_classes": {"windows": []},
        "alerts": [], "cost": CostSummary::default(),
        "memory": {"used_bytes": 1, "limit_bytes": 2, "overflowed": 0, "turned_away": 0, "dropped": 0},
        "lanes": [{
            "lane": "global", "limit": 64, "queued": 3, "in_flight": 64, "utilisation": 0.984,
            "predicted_wait_s": 1.234,
            "laws": [{ "window": "1m", "elapsed_s": 60.0, "queue": stage, "prefill": stage, "decode": stage }],
            "queue": {
                "state": "flood", "depth": 3.0, "growth_per_s": 0.5, "arrivals_per_s": none,
                "completions_per_s": none, "service_time_s": none, "empty_in_s": null, "text": "more come than before"
            }
        }],
        "in_flight": {
            "queued": 3, "waiting": 1, "prefill": 2, "decode": 61, "stalled": 1, "no_progress_s": 45.0,
            "alarm": true,
            "silent": [{
                "id": 7, "model": "a\u{1b}[2Jlong-model-name-that-goes-on-and-on", "phase": "decode",
                "age_s": 125.0, "silent_s": 45.2, "side": "upstream", "tokens": 17
            }]
        },
        "buffering": [{
            "upstream": "default", "hop": "upstream", "sign": "at_once", "streams": 10, "held_back": 6,
            "text": "6 of 10 streams come all at once after nearly their whole time",
            "remedy": "set `proxy_buffering off` at the hop between Weir and the engine"
        }],
        "landmarks": [{
            "at": 1_500_000_090_000_000_000_u64, "event": "limit_changed", "detail": "global: 64 to 32",
            "before": { "ttft_p95_s": 0.8, "output_tps": 1234.5, "queue_depth": null }, "after": null
        }]
    })
}

#[test]
fn every_section_is_shown_on_eighty_columns() {
    let shown = show(&snapshot().to_string(), Page::new(false)).unwrap();
    let expected = "\
Weir
at 2017-07-14T02:41:40Z, up 1 min 40 s (since 2017-07-14T02:40:00Z)
";
    assert!(shown.starts_with(expected), "{shown}");
    for part in [
        "3 queued, 1 waiting for a head, 2 in prefill, 61 in decode (1 of them stalled)\n",
        "The upstream does not serve: no token and no answer has come for 45.0 s.\n",
        "more come than before\n",
        "98 %",
        "1.23 s",
        "12.3/s",
        "2 min 5 s",
        "800 ms → -",
        "1234/s → -",
        "limit_changed",
        "6 of 10 streams come all at once",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{widest}\n{shown}");
}

fn spread(value: f64) -> Value {
    json!({"count": 9, "mean": value, "p50": value, "p90": value, "p95": value * 2.0, "p99": null, "max": 9.0})
}

fn figures(scope: &Value, window: &str, per_s: f64) -> Value {
    let latency = json!({
        "ttft": spread(0.4), "upstream_ttft": null, "itl": spread(0.02), "inter_chunk": null, "tpot": null,
        "e2e": null, "queue_wait": null
    });
    json!({
        "scope": scope, "window": window, "span_s": 60.0,
        "requests": {"count": 100, "per_s": per_s, "errors": 1, "error_share": 0.0123, "abandoned": 0},
        "latency": latency, "lengths": {"input_tokens": null, "output_tokens": null, "tps": null},
        "tokens": {"input": 1, "output": 1, "input_per_s": 321.0, "output_per_s": 654.3},
        "throughput": {
            "concurrency": 1.0, "queue_depth": 0.0, "theoretical_tps": null, "effective_tps": null,
            "effective_share": 0.87
        },
        "goodput": {"requests_per_s": 2.5, "tokens_per_s": null, "attainment": 0.9987}
    })
}

fn alert(name: &str, state: &str, no_data: bool) -> Value {
    json!({
        "name": name, "severity": "critical", "condition": "p95_ttft > 2s", "actions": [],
        "notes": {"labels": {}, "annotations": {}}, "state": state, "since": 1_500_000_040_000_000_000_u64,
        "no_data": no_data,
        "readings": [{
            "signal": "p95_ttft", "unit": "seconds", "value": if no_data { None } else { Some(2.31) },
            "comparator": ">", "threshold": 2.0, "holds": null
        }],
        "last_resolved_at": null, "transitions": [],
        "handling": {
            "silenced_until": 1_500_003_700_000_000_000_u64,
            "acknowledged": {"at": 1_500_000_050_000_000_000_u64, "note": "ann"}
        }
    })
}

/// A snapshot in which every section has something.
fn rich() -> Value {
    let mut snapshot = snapshot();
    snapshot["figures"] = json!([
        figures(&json!("overall"), "1m", 4.25),
        figures(&json!({"model": "small"}), "5m", 1.0),
        figures(&json!({"model": "big\u{1b}[2J"}), "5m", 3.0),
        figures(&json!({"model": "old"}), "1h", 3.0),
    ]);
    snapshot["slos"] = json!([{
        "name": "ttft", "objective": "ttft ≤ 2 s for 95 %", "kind": "ttft", "model": "small", "target": 0.95,
        "limit_s": 2.0, "effective_limit_s": 2.0, "min_events": 100,
        "budget": {
            "covered_s": 1.0, "partial": true, "good": 9, "bad": 1, "good_share": 0.9, "remaining": -0.5,
            "exhausted_in_s": 0.0
        },
        "windows": [{
            "window": "1h", "covered_s": 1.0, "partial": true, "good": 9, "bad": 1, "good_share": 0.9, "burn": 14.5
        }],
        "alerts": [], "severity": "page"
    }]);
    let class = |class: &str, count: u32, over: bool, advice: Option<&str>| {
        json!({
            "class": class, "count": count, "share": f64::from(count) / 1000.0, "allowed_share": 0.005,
            "over": over, "advice": advice
        })
    };
    let classes = [class("api_timeout", 0, false, None), class("rate_limit", 12, true, Some("Look there."))];
    snapshot["error_classes"]["windows"] = json!([
        {"window": "5m", "covered_s": 1.0, "partial": true, "exchanges": 1000, "classes": classes}
    ]);
    snapshot["alerts"] = json!([
        alert("calm", "inactive", true),
        alert("slow", "firing", false),
        alert("soon", "pending", false)
    ]);
    let priced = json!({
        "cost_usd": 1.25, "estimated_usd": 0.0, "saved_by_cache_usd": 0.02, "usd_per_1k_tokens": 0.001,
        "usd_per_1m_tokens": 0.9, "usd_per_1m_output_tokens": 2.0, "priced_requests": 10,
        "output_only_requests": 0, "input_tokens": 1, "output_tokens": 1, "unpriced_requests": 3, "unpriced_tokens": 1
    });
    snapshot["cost"]["usd_per_hour"] = json!(2.5);
    for sum in ["this_hour", "last_24_hours", "last_7_days"] {
        snapshot["cost"][sum] = priced.clone();
    }
    snapshot["cost"]["models"] =
        json!([{"model": "small", "this_hour": priced, "last_24_hours": priced, "last_7_days": priced}]);
    snapshot
}

/// The section of a heading.
fn section<'a>(shown: &'a str, heading: &str) -> &'a str {
    shown.split("\n\n").find(|section| section.starts_with(heading)).unwrap()
}

#[test]
fn sections_stand_in_their_order_within_eighty_columns() {
    let shown = show(&rich().to_string(), Page::new(false)).unwrap();
    let headings: Vec<&str> = shown.split("\n\n").map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(
        headings,
        [
            "Weir",
            "Alerts",
            "Figures",
            "SLOs (budget of 30 days)",
            "Errors (count and share of all exchanges)",
            "In flight",
            "Lanes (last minute)",
            "Models (last 5 min)",
            "Cost",
            "Buffering",
            "Landmarks (the minute before → after)"
        ]
    );
    let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{widest}\n{shown}");
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn each_section_tells_its_figures() {
    let shown = show(&rich().to_string(), Page::new(false)).unwrap();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for (heading, lines) in [
        (
            "Alerts",
            &[
                "Firing: slow.",
                "slow firing (critical) 1 min 0 s p95_ttft 2.31 s > 2.00 s silenced for 1 h 0 min, seen: ann",
                "calm no data 1 min 0 s p95_ttft - > 2.00 s",
            ][..],
        ),
        (
            "Figures",
            &["Requests 4.2/s - -", "TTFT p95 800 ms - -", "TTFT p99 - - -", "Attainment 99.87 % - -"],
        ),
        ("SLOs", &["ttft ttft ≤ 2 s for 95 %, small -50 % 14.5 page"]),
        ("Errors", &["rate_limit 12 1.2 % - - - - 0.50 %", "Over: rate_limit. Look there."]),
        ("Models", &["small 1.0/s 800 ms 40 ms 654/s 99.87 %"]),
        (
            "Cost",
            &[
                "$2.50 an hour at the rate of the last hour",
                "Last 24 h $1.25 $0.900 $0.0200 10 3",
                "small $1.25 $1.25 $0.900 3",
            ],
        ),
    ] {
        let section: Vec<String> = section(&shown, heading).lines().map(words).collect();
        // A long row is wrapped within its cells.
        let whole = section.join(" ");
        for line in lines {
            let all_there = line.split(' ').all(|word| whole.contains(word));
            assert!(
                section.iter().any(|shown| shown == line) || heading == "Alerts" && all_there,
                "{line}\n{section:#?}"
            );
        }
    }
    let alerts = section(&shown, "Alerts");
    assert!(alerts.find("slow ") < alerts.find("soon ") && alerts.find("soon ") < alerts.find("calm "));
    assert!(!section(&shown, "Errors").contains("api_timeout"));
    assert!(!section(&shown, "Models").contains("old"));
}

#[test]
fn an_empty_snapshot_shows_no_empty_sections() {
    let mut snapshot = snapshot();
    for list in ["lanes", "buffering", "landmarks"] {
        snapshot[list] = json!([]);
    }
    snapshot["in_flight"]["silent"] = json!([]);
    snapshot["in_flight"]["alarm"] = json!(false);
    let shown = show(&snapshot.to_string(), Page::new(false)).unwrap();
    let headings: Vec<&str> = shown.split("\n\n").map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(headings, ["Weir", "In flight"]);
    assert!(!shown.contains("does not serve"), "{shown}");
}

#[test]
fn colour_is_for_terminals() {
    let shown = show(&snapshot().to_string(), Page::new(true)).unwrap();
    assert!(shown.starts_with("\u{1b}[1mWeir\u{1b}[0m\n"), "{shown:?}");
    assert!(shown.contains("\u{1b}[1;31mThe upstream does not serve"), "{shown:?}");
    assert_eq!(shown.matches("\u{1b}[2J").count(), 0);
}

#[test]
fn another_form_is_not_guessed_at() {
    let mut snapshot = snapshot();
    snapshot["version"] = json!(2);
    let said = show(&snapshot.to_string(), Page::new(false)).unwrap_err();
    assert!(said.contains("form 2"), "{said}");
    assert!(show("{}", Page::new(false)).is_err());
    assert!(show("<html>", Page::new(false)).is_err());
}
