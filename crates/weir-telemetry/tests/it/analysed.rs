//! The figures of the analysis on the page.

use std::time::Duration;

use weir_core::dialect::Dialect;
use weir_core::exchange::ExchangeId;
use weir_core::inflight::Phase;
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::timeline::Mark;
use weir_telemetry::TelemetryConfig;

use crate::page::Page;
use crate::sut::{Sut, clock, exchange, stream};

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= expected.abs() * 0.01 + 1e-9)
}

/// The page after 90 good streams and 10 that the engine refused, and the length of the windows in seconds.
async fn ninety_of_a_hundred() -> (Page, f64) {
    let sut = Sut::start(TelemetryConfig::default());
    let marks = [(Mark::Queued, 1), (Mark::Dispatched, 2), (Mark::ResponseHead, 5), (Mark::Ended, 9)];
    tokio::time::sleep(Duration::from_millis(500)).await;
    for id in 0..100 {
        let refused = || {
            let error = Some(ErrorType::Overloaded);
            exchange(id, Some("m"), Some(503), Outcome::UpstreamError, error, &marks)
        };
        sut.send(if id % 10 == 0 { refused() } else { stream(id, "m") }).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let page = sut.page().await;
    let span = sut.snapshot.borrow().figures[0].figures.span_s;
    sut.shutdown().await;
    (page, span)
}

#[tokio::test(start_paused = true)]
async fn objectives_are_told_by_their_events() {
    let (page, _) = ninety_of_a_hundred().await;
    // One of ten is bad: of a budget of 5, 2 and 0.1 % it is 2, 5 and 100 times as much.
    for (slo, target, burn, page_fires, ticket_fires) in [
        ("ttft", 0.95, 2.0, 0.0, 1.0),
        ("error_rate", 0.98, 5.0, 0.0, 1.0),
        ("availability", 0.999, 100.0, 1.0, 1.0),
    ] {
        let of = |name, more: &[(&str, &str)]| page.get(name, &[&[("slo", slo)], more].concat());
        assert_eq!(of("weir_slo_target_ratio", &[]), Some(target));
        let events = ["good", "bad"].map(|side| of("weir_slo_events", &[("side", side)]));
        assert_eq!(events, [Some(90.0), Some(10.0)], "{slo}");
        for window in ["5m", "30m", "1h", "2h", "6h", "1d", "3d"] {
            assert!(near(of("weir_slo_burn_rate", &[("window", window)]), burn), "{slo} {window}");
        }
        assert!(near(of("weir_slo_error_budget_remaining_ratio", &[]), 1.0 - burn), "{slo}");
        let fires = ["page", "ticket"].map(|severity| of("weir_slo_alert_firing", &[("severity", severity)]));
        assert_eq!(fires, [Some(page_fires), Some(ticket_fires)], "{slo}");
    }
    for window in ["5m", "1h", "1d"] {
        let of = |name, class| page.get(name, &[("class", class), ("window", window)]);
        assert_eq!(of("weir_error_class_share_ratio", "model_error"), Some(0.1));
        assert_eq!(of("weir_error_class_over_allowed", "model_error"), Some(1.0));
        assert_eq!(of("weir_error_class_share_ratio", "rate_limit"), Some(0.0));
        assert_eq!(of("weir_error_class_over_allowed", "rate_limit"), Some(0.0));
    }
}

#[tokio::test(start_paused = true)]
async fn windows_are_told_of_everything_and_not_by_model() {
    let (page, span) = ninety_of_a_hundred().await;
    assert!((9.0..=11.0).contains(&span), "{span}");
    for window in ["1m", "5m", "1h"] {
        let latency = |measure, statistic| {
            let labels = [("measure", measure), ("window", window), ("statistic", statistic)];
            page.get("weir_window_latency_seconds", &labels)
        };
        for statistic in ["p50", "p90", "p95", "p99"] {
            assert!(near(latency("ttft", statistic), 0.1), "{statistic}");
            assert!(near(latency("upstream_ttft", statistic), 0.077), "{statistic}");
            assert!(near(latency("tpot", statistic), 0.05 / 3.0), "{statistic}");
            assert!(near(latency("e2e", statistic), 0.15), "{statistic}");
            assert!(near(latency("queue_wait", statistic), 0.02), "{statistic}");
        }
        // Two gaps of three are 10 ms long, the third 30.
        for measure in ["itl", "inter_chunk"] {
            assert!(near(latency(measure, "p50"), 0.01) && near(latency(measure, "p90"), 0.03));
        }
        let of = |name, more: &[(&str, &str)]| page.get(name, &[&[("window", window)], more].concat());
        assert!(near(of("weir_window_requests_per_second", &[]), 100.0 / span));
        assert!(near(of("weir_window_tokens_per_second", &[("direction", "output")]), 360.0 / span));
        assert!(near(of("weir_window_tokens_per_second", &[("direction", "input")]), 810.0 / span));
        assert!(near(of("weir_goodput_requests_per_second", &[]), 90.0 / span));
        assert!(near(of("weir_goodput_tokens_per_second", &[]), 360.0 / span));
        assert!(near(of("weir_goodput_attainment_ratio", &[]), 0.9));
        assert_eq!(of("weir_window_concurrency", &[]), Some(0.0));
        // Nothing was in flight when it was looked, so that there is nothing to compare with.
        assert_eq!(of("weir_window_throughput_ratio", &[]), None);
    }
    assert_eq!(page.all("weir_window_latency_seconds", &[]).count(), 7 * 3 * 4);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_flight_and_gets_nowhere_is_told() {
    let sut = Sut::start(TelemetryConfig::default());
    let lane = sut.lanes.gauge("global");
    let enter = |id, phase| {
        lane.stages.prefill.enter(clock());
        let entry = sut.inflight.enter(ExchangeId(id), clock(), Dialect::Chat);
        entry.enter(phase);
        entry
    };
    let _in_flight = (enter(1, Phase::Waiting), enter(2, Phase::Prefill));
    tokio::time::sleep(Duration::from_millis(20_500)).await;
    let page = sut.page().await;
    let alarm = |page: &Page| page.get("weir_no_progress_alarm", &[]);
    assert_eq!((page.get("weir_no_progress_seconds", &[]), alarm(&page)), (Some(20.0), Some(0.0)));
    assert_eq!(page.get("weir_window_concurrency", &[("window", "1m")]), Some(2.0));
    tokio::time::sleep(Duration::from_secs(20)).await;
    let page = sut.page().await;
    assert_eq!((page.get("weir_no_progress_seconds", &[]), alarm(&page)), (Some(40.0), Some(1.0)));
    let state = |state| page.get("weir_lane_queue_state", &[("lane", "global"), ("state", state)]);
    assert_eq!((state("empty"), state("flood")), (Some(1.0), Some(0.0)));
    assert_eq!(page.get("weir_lane_predicted_wait_seconds", &[("lane", "global")]), Some(0.0));
    assert_eq!(page.get("weir_lane_utilisation_ratio", &[]), None, "there is no limit");
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn where_nothing_was_measured_nothing_is_told() {
    let sut = Sut::start(TelemetryConfig::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let page = sut.page().await;
    for name in [
        "weir_slo_events",
        "weir_slo_error_budget_remaining_ratio",
        "weir_slo_burn_rate",
        "weir_slo_alert_firing",
        "weir_error_class_share_ratio",
        "weir_error_class_over_allowed",
        "weir_window_latency_seconds",
        "weir_window_throughput_ratio",
        "weir_goodput_requests_per_second",
        "weir_goodput_tokens_per_second",
        "weir_goodput_attainment_ratio",
        "weir_lane_law_residual_ratio",
        "weir_no_progress_seconds",
        "weir_buffering_findings",
        "weir_cost_usd_total",
        "weir_cost_usd_per_hour",
        "weir_cost_usd_per_million_tokens",
        "weir_gpu_cost_usd",
        "weir_notifications_total",
    ] {
        assert_eq!(page.all(name, &[]).count(), 0, "{name}");
    }
    assert_eq!(page.all("weir_slo_target_ratio", &[]).count(), 4);
    assert_eq!(page.get("weir_analysis_memory_limit_bytes", &[]), Some(67_108_864.0));
    assert_eq!(page.all("weir_analysis_overflow_total", &[]).collect::<Vec<_>>(), [0.0; 3]);
    sut.shutdown().await;
}
