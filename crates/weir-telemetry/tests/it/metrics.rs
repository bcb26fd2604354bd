//! The figures of the page against exchanges whose figures are known.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use weir_core::dialect::Dialect;
use weir_core::exchange::{Exchange, ExchangeId};
use weir_core::inflight::Phase;
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::page::PageFormat;
use weir_core::timeline::{Mark, Offset};
use weir_telemetry::{TelemetryConfig, names};

use crate::sut::{MS, Sut, clock, exchange, stream, turned_away};

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-9)
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_counted_with_all_its_figures() {
    let sut = Sut::start(TelemetryConfig::default());
    sut.send(stream(1, "m")).await;
    let page = sut.page().await;
    let of = [("model", "m"), ("upstream", "default"), ("dialect", "openai_chat")];
    for (name, value, bound_below, bound_at) in [
        ("weir_ttft_seconds", 0.1, "0.075", "0.1"),
        ("weir_ttfa_seconds", 0.11, "0.1", "0.15"),
        ("weir_upstream_ttft_seconds", 0.077, "0.075", "0.1"),
        ("weir_tpot_seconds", 0.05 / 3.0, "0.015", "0.02"),
        ("weir_tokens_per_second", 60.0, "50", "60"),
        ("weir_e2e_seconds", 0.15, "0.1", "0.15"),
        ("weir_duration_seconds", 0.151, "0.15", "0.2"),
        ("weir_queue_wait_seconds", 0.02, "0.01", "0.025"),
        ("weir_overhead_seconds", 0.002, "0.001", "0.002"),
    ] {
        assert_eq!(page.get(&format!("{name}_count"), &of), Some(1.0), "{name}");
        assert!(close(page.get(&format!("{name}_sum"), &of), value), "{name}");
        let bucket = |bound| page.get(&format!("{name}_bucket"), &[of.as_slice(), &[("le", bound)]].concat());
        assert_eq!((bucket(bound_below), bucket(bound_at)), (Some(0.0), Some(1.0)), "{name}");
    }
    for (name, value) in [
        ("weir_input_tokens_total", 9.0),
        ("weir_request_bytes_total", 77.0),
        ("weir_response_bytes_total", 400.0),
        ("weir_upstream_stalls_total", 0.0),
        ("weir_downstream_stalls_total", 1.0),
        ("weir_downstream_stall_seconds_total", 0.005),
    ] {
        assert_eq!(page.get(name, &of), Some(value), "{name}");
    }
    assert_eq!(page.get("weir_output_tokens_total", &[("provenance", "reported")]), Some(4.0));
    // What was never told is not there, and what was told as zero would be.
    assert_eq!(page.get("weir_cached_input_tokens_total", &of), None);
    assert_eq!(page.get("weir_output_tokens_total", &[("provenance", "counted_chunks")]), None);

    assert_eq!(page.get("weir_chunks_total", &[("model", "m")]), Some(4.0));
    assert_eq!(page.get("weir_stream_tokens_total", &[("model", "m")]), Some(4.0));
    assert_eq!(page.get("weir_itl_seconds_count", &[("model", "m")]), Some(3.0));
    assert!(close(page.get("weir_itl_seconds_sum", &[("model", "m")]), 0.05));
    // Gaps of exactly 10 ms lie in the bucket that begins there.
    let itl = |bound| page.get("weir_itl_seconds_bucket", &[("le", bound)]);
    assert_eq!([itl("0.01"), itl("0.015"), itl("0.03"), itl("0.04")], [0.0, 2.0, 2.0, 3.0].map(Some));
    assert_eq!(page.get("weir_inter_chunk_seconds_count", &[("model", "m")]), Some(3.0));
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn totals_add_up_over_every_outcome() {
    let sut = Sut::start(TelemetryConfig::default());
    let mut sent = 0;
    for (index, &outcome) in Outcome::ALL.iter().enumerate() {
        for _ in 0..=index {
            sent += 1;
            let error_type = (outcome != Outcome::Completed).then_some(ErrorType::BadRequest);
            let marks = [(Mark::Ended, 3)];
            sut.send(exchange(sent, Some("m"), None, outcome, error_type, &marks)).await;
        }
    }
    for id in 0..10 {
        sut.send(stream(1_000 + id, "m")).await;
    }
    let (sent, page) = (sent as f64, sut.page().await);
    assert_eq!(page.sum("weir_requests_total", &[]), sent + 10.0);
    assert_eq!(page.sum("weir_duration_seconds_count", &[]), sent + 10.0);
    for (index, outcome) in Outcome::ALL.iter().enumerate() {
        let streams = if *outcome == Outcome::Completed { 10.0 } else { 0.0 };
        let counted = page.sum("weir_requests_total", &[("outcome", outcome.as_str())]);
        assert_eq!(counted, (index + 1) as f64 + streams, "{outcome}");
    }
    assert_eq!(page.sum("weir_errors_total", &[]), sent - 1.0);
    assert_eq!(page.sum("weir_errors_total", &[("error_type", "bad_request")]), sent - 1.0);
    // No more first tokens than streams, and no figure of an exchange that has none.
    assert_eq!(page.sum("weir_ttft_seconds_count", &[]), 10.0);
    assert_eq!(page.sum("weir_e2e_seconds_count", &[]), 11.0);
    assert_eq!(page.sum("weir_pipeline_lag_seconds_count", &[]), sent + 10.0);
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_page_without_traffic_names_every_metric_and_invents_none() {
    let sut = Sut::start(TelemetryConfig::default());
    let page = sut.page().await;
    let mut listed: Vec<_> = names::ALL.iter().map(|metric| metric.name).collect();
    listed.sort_unstable();
    assert_eq!(page.families(), listed);
    assert_eq!(page.all("weir_requests_total", &[]).count(), 0);
    assert_eq!(page.all("weir_ttft_seconds_count", &[]).count(), 0);
    assert_eq!(page.get("weir_inflight_oldest_silence_seconds", &[]), None);
    assert_eq!(page.get("weir_inflight", &[("phase", "decode")]), Some(0.0));
    assert_eq!(page.all("weir_records_dropped_total", &[]).sum::<f64>(), 0.0);
    assert_eq!(page.all("weir_records_dropped_total", &[]).count(), 5);
    assert_eq!(page.get("weir_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), Some(1.0));
    assert!(page.get("process_start_time_seconds", &[]).unwrap() > 1.7e9);
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn both_formats_have_the_same_samples() {
    let sut = Sut::start(TelemetryConfig::default());
    sut.send(stream(1, "m")).await;
    sut.send(turned_away(2, Some("x"))).await;
    let (text, open) = tokio::join!(sut.text_in(PageFormat::Text), sut.text_in(PageFormat::OpenMetrics));
    assert!(open.ends_with("\n# EOF\n") && !text.contains("# EOF"));
    let samples = |page: &str| {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        // The two write a bound of one differently.
        lines.map(|line| line.replace(".0\"}", "\"}")).collect::<Vec<_>>()
    };
    let (text, open) = (samples(&text), samples(&open));
    assert_eq!(text.len(), open.len());
    let same = text.iter().zip(&open).filter(|(text, open)| text == open).count();
    // Save for the bounds of 10, 25 and 50 µs, of one histogram in one series.
    assert_eq!(text.len() - same, 3);
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn gauges_show_the_moment() {
    let sut = Sut::start(TelemetryConfig::default());
    let global = sut.lanes.gauge("global");
    global.queued.store(3, Relaxed);
    global.in_flight.store(2, Relaxed);
    global.wait_ns.store(1_500 * MS, Relaxed);
    sut.lanes.gauge("m").limit.store(2, Relaxed);
    sut.tally.connections_open.store(5, Relaxed);
    sut.tally.exchanges_dropped.store(8, Relaxed);
    let enter = |id| sut.inflight.enter(ExchangeId(id), clock(), Dialect::Chat);
    let (_queued, waiting, silent, talking) = (enter(1), enter(2), enter(3), enter(4));
    waiting.enter(Phase::Waiting);
    silent.byte(Offset(500 * MS));
    silent.chunk(Offset(500 * MS), 1, 1);
    tokio::time::sleep(Duration::from_millis(2_000)).await;
    talking.byte(Offset(1_900 * MS));
    talking.chunk(Offset(1_900 * MS), 1, 1);
    let page = sut.page().await;
    let lane = |name, lane| page.get(name, &[("lane", lane)]);
    assert_eq!(lane("weir_lane_queue_depth", "global"), Some(3.0));
    assert_eq!(lane("weir_lane_in_flight", "global"), Some(2.0));
    assert_eq!(lane("weir_lane_wait_seconds_total", "global"), Some(1.5));
    assert_eq!(lane("weir_lane_limit", "global"), None);
    assert_eq!(lane("weir_lane_limit", "m"), Some(2.0));
    assert_eq!(page.get("weir_connections_open", &[]), Some(5.0));
    assert_eq!(page.get("weir_records_dropped_total", &[("cause", "pipeline_full")]), Some(8.0));
    let phase = |phase| page.get("weir_inflight", &[("phase", phase)]);
    let phases = ["queued", "waiting", "prefill", "decode"].map(phase);
    assert_eq!(phases, [1.0, 1.0, 0.0, 2.0].map(Some));
    let oldest = page.get("weir_inflight_oldest_silence_seconds", &[]).unwrap();
    assert!((oldest - 2.0).abs() < 0.01, "{oldest}");
    assert_eq!(page.get("weir_stalled_streams", &[]), Some(1.0));
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_canary_and_the_pipeline_tell_how_late_they_are() {
    let sut = Sut::start(TelemetryConfig::default());
    tokio::time::sleep(Duration::from_secs(10)).await;
    let old = Exchange { received_mono: clock(), ..turned_away(1, None) };
    tokio::time::sleep(Duration::from_millis(302)).await;
    sut.send(old).await;
    let page = sut.page().await;
    let woken = page.get("weir_event_loop_lag_seconds_count", &[]).unwrap();
    assert!((90.0..=103.0).contains(&woken), "{woken}");
    assert!(page.get("weir_event_loop_lag_seconds_sum", &[]).unwrap() < 0.2);
    let lag = page.get("weir_pipeline_lag_seconds_sum", &[]).unwrap();
    assert!((lag - 0.3).abs() < 0.01, "{lag}");
    sut.shutdown().await;
}
