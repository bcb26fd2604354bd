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
