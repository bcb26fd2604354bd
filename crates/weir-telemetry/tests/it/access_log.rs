//! The access log: what a line says, and what happens when it cannot be written.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use weir_core::timeline::Offset;
use weir_telemetry::{Destination, TelemetryConfig};

use crate::sut::{MS, Sut, stream, turned_away};

fn logging_to(path: &Path) -> TelemetryConfig {
    let access_log = Some(Destination::File(path.to_owned()));
    TelemetryConfig { access_log, flush_timeout: Duration::from_millis(500), ..TelemetryConfig::default() }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asks for pages until `cause` counts at least `n`.
async fn dropped(sut: &Sut, cause: &str, n: f64) -> f64 {
    for _ in 0..200 {
        let counted = sut.page().await.get("weir_records_dropped_total", &[("cause", cause)]).unwrap();
        if counted >= n {
            return counted;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{cause} never reached {n}");
}

#[test]
fn a_dash_is_standard_output() {
    assert_eq!("-".parse(), Ok(Destination::Stdout));
    assert_eq!("a/-".parse(), Ok(Destination::File("a/-".into())));
}

#[tokio::test]
async fn a_line_says_all_that_is_known_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let sut = Sut::start(logging_to(&path));
    let mut whole = stream(1, "m");
    let mono = whole.received_mono.0;
    let output = whole.answer.output.as_mut().unwrap();
    output.all_gaps = Some([10, 10, 30].map(|ms| Offset(ms * MS)).to_vec());
    sut.send(whole).await;
    sut.send(turned_away(2, None)).await;
    let begun = Instant::now();
    while std::fs::read_to_string(&path).unwrap().lines().count() < 2 {
        assert!(begun.elapsed() < Duration::from_millis(500), "a line is late");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let lines = lines(&path);
    let mut first = lines[0].clone();
    let spreads = ["itl_s", "inter_chunk_s"].map(|name| first.as_object_mut().unwrap().remove(name).unwrap());
    let near = |found: &Value, expected: f64| (found.as_f64().unwrap() - expected).abs() < expected * 0.25;
    for spread in &spreads {
        assert!((spread["mean"].as_f64().unwrap() - 0.05 / 3.0).abs() < 1e-8, "{spread}");
        assert_eq!(spread["max"], json!(0.03));
        assert!(near(&spread["p50"], 0.01) && near(&spread["p95"], 0.03) && near(&spread["p99"], 0.03));
    }
    assert_eq!(spreads[0]["basis"], json!("tokens"));
    let tps = first.as_object_mut().unwrap().remove("tps").unwrap();
    assert!((tps.as_f64().unwrap() - 60.0).abs() < 1e-9);
    let expected = json!({
        "request_id": "request-1",
        "received": "2024-02-29T12:34:56.000000070Z",
        "received_mono_ns": mono,
        "model": "m", "dialect": "openai_chat", "upstream": "default",
        "method": "POST", "path": "/v1/chat/completions", "stream": true, "request_bytes": 77,
        "status": 200, "outcome": "completed", "response_model": "m", "finish_reasons": ["stop"],
        "usage": {"input": 9, "output": 4, "total": 13}, "tokens": 4, "tokens_provenance": "reported",
        "response_bytes": 400,
        "marks": {
            "received": 0, "queued": MS, "admitted": 21 * MS, "connected": 22 * MS,
            "dispatched": 23 * MS, "response_head": 90 * MS, "first_byte": 90 * MS,
            "first_token": 100 * MS, "first_answer": 110 * MS, "last_token": 150 * MS,
            "terminal": 150 * MS, "ended": 151 * MS,
        },
        "ttft_s": 0.1, "ttfa_s": 0.11, "upstream_ttft_s": 0.077, "tpot_s": 0.05 / 3.0,
        "e2e_s": 0.15, "duration_s": 0.151, "queue_wait_s": 0.02, "overhead_s": 0.002,
        "chunks": 4,
        "stalls": {
            "upstream": {"count": 0, "total_s": 0.0, "longest_s": 0.0},
            "downstream": {"count": 1, "total_s": 0.005, "longest_s": 0.005},
        },
        "gaps_ns": [10 * MS, 10 * MS, 30 * MS],
    });
    assert_eq!(first, expected);
    // What is not known is not there.
    let fields: Vec<_> = lines[1].as_object().unwrap().keys().map(String::as_str).collect();
    let mut known = vec![
        "request_id",
        "received",
        "received_mono_ns",
        "dialect",
        "upstream",
        "method",
        "path",
        "stream",
        "request_bytes",
        "status",
        "outcome",
        "error_type",
        "response_bytes",
        "marks",
        "e2e_s",
        "duration_s",
    ];
    known.sort_unstable();
    assert_eq!(fields, known);
    sut.shutdown().await;
}

#[tokio::test]
async fn a_file_that_ends_in_mid_line_is_gone_on_with_on_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    std::fs::write(&path, "{\"request_id\":\"half").unwrap();
    for id in 1..=2 {
        let sut = Sut::start(logging_to(&path));
        sut.send(turned_away(id, None)).await;
        sut.shutdown().await;
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\"request_id\":\"half\n{\"request_id\":\"request-1\""), "{text}");
    assert_eq!(text.lines().count(), 3);
    assert!(text.lines().skip(1).all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[tokio::test]
async fn a_full_disk_costs_lines_and_nothing_else() {
    let sut = Sut::start(logging_to(Path::new("/dev/full")));
    for id in 0..100 {
        sut.send(turned_away(id, None)).await;
    }
    assert_eq!(dropped(&sut, "access_log_error", 100.0).await, 100.0);
    let page = sut.page().await;
    assert_eq!(page.sum("weir_requests_total", &[]), 100.0);
    assert_eq!(page.get("weir_records_dropped_total", &[("cause", "access_log_full")]), Some(0.0));
    sut.shutdown().await;
}

/// A pipe that somebody holds open without reading: the thread hangs in its write.
#[tokio::test]
async fn a_writer_that_hangs_drops_lines_and_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let reader = OpenOptions::new().read(true).custom_flags(nonblocking).open(&path).unwrap();
    let sut = Sut::start(logging_to(&path));
    let begun = Instant::now();
    for id in 0..20_000 {
        sut.send(turned_away(id, None)).await;
    }
    let page = sut.page().await;
    assert_eq!(page.sum("weir_requests_total", &[]), 20_000.0);
    let lost = page.get("weir_records_dropped_total", &[("cause", "access_log_full")]).unwrap();
    assert!((1.0..20_000.0 - 16_384.0).contains(&lost), "{lost}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let begun = Instant::now();
    sut.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    drop(reader);
}

#[tokio::test]
async fn a_pipe_without_a_reader_does_not_hold_up_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let sut = Sut::start(logging_to(&path));
    sut.send(turned_away(1, None)).await;
    sut.shutdown().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_opened_is_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no/such/folder/access.log");
    let Err(error) = Sut::try_start(logging_to(&path)) else { panic!("it was opened") };
    let told = error.to_string();
    assert!(told.contains("access log") && told.contains("no/such/folder"), "{told}");
}
