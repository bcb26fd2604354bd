//! The truth file against what a client received.

use std::path::{Path, PathBuf};

use serde_json::json;
use weir_load::clock::monotonic_ns;
use weir_load::engine::{Engine, EngineConfig};
use weir_load::truth::{StreamEnd, StreamTruth, read};

use crate::wire::{Close, Connection, chat, config, count, engine, events, until};

/// A file in the temporary folder, removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let file = format!("weir-load-{}-{name}.jsonl", std::process::id());
        Scratch(std::env::temp_dir().join(file))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn recording(file: &Scratch) -> Engine {
    engine(EngineConfig { truth: Some(file.path().to_owned()), ..config() }).await
}

fn written(truth: &StreamTruth) -> u64 {
    truth.writes.iter().map(|write| write.events).sum()
}

/// When the read that completed each event returned.
fn received(connection: &Connection) -> Vec<u64> {
    let ends =
        connection.bytes.windows(2).enumerate().filter(|(_, window)| window == b"\n\n").map(|(at, _)| at + 2);
    ends.map(|end| connection.reads.iter().find(|(_, length)| *length >= end).unwrap().0).collect()
}

#[tokio::test]
async fn every_write_precedes_its_reading() {
    let file = Scratch::new("reading");
    let engine = recording(&file).await;
    let mut connection = Connection::open(&engine).await;
    let headers =
        [("x-request-id", "r-1"), ("x-sim-ttft", "20ms"), ("x-sim-tps", "1000"), ("connection", "close")];
    let sent = monotonic_ns();
    connection
        .send("/v1/chat/completions", &headers, "{\"messages\":[],\"stream\":true,\"max_tokens\":30}")
        .await;
    assert_eq!(connection.read_to_close().await, Close::Fin);
    engine.shutdown().await;

    let [truth] = <[StreamTruth; 1]>::try_from(read(file.path()).unwrap()).unwrap();
    assert_eq!((truth.id.as_str(), truth.end), ("r-1", StreamEnd::Ok));
    assert!(truth.spec.starts_with("chat n=30 "), "{}", truth.spec);
    assert!(sent <= truth.t_first_byte && truth.t_first_byte <= truth.t_request);

    let received = received(&connection);
    assert_eq!(received.len(), 1 + 30 + 1 + 1);
    assert_eq!(truth.writes.len(), received.len(), "each event has a write of its own");
    let mut last = truth.t_request;
    for (index, (write, received)) in truth.writes.iter().zip(received).enumerate() {
        assert_eq!((write.first_event, write.events), (index as u64, 1));
        assert!(last <= write.before_ns && write.before_ns <= write.after_ns);
        assert!(write.before_ns <= received, "event {index} was read before it was written");
        last = write.after_ns;
    }
    assert!(last <= truth.t_end);
    // Nothing leaves before it is due: the first token after 20 ms, then one each millisecond.
    for (token, write) in truth.writes[1..31].iter().enumerate() {
        assert!(write.before_ns - truth.t_request >= (20 + token as u64) * 1_000_000);
    }
}

#[tokio::test]
async fn each_way_to_end_is_told() {
    let file = Scratch::new("ends");
    let engine = recording(&file).await;
    let body = json!({"max_tokens": 5});
    for (id, fault) in [("abort", "abort;at=3"), ("reset", "reset;at=1"), ("error", "error;at=2")] {
        chat(&engine, &[("x-request-id", id), ("x-sim-fault", fault)], body.clone()).await;
    }
    for (id, fault) in [("stall", "stall;at=2"), ("gone", "slow_head;ms=0")] {
        let mut connection = Connection::open(&engine).await;
        let headers = [("x-request-id", id), ("x-sim-fault", fault), ("x-sim-tps", "0.001")];
        connection.send("/v1/chat/completions", &headers, "{\"messages\":[],\"stream\":true}").await;
        connection.read_until(|bytes| events(bytes) == 2).await;
    }
    until(&engine, |stats| stats.injected + stats.gone == 5).await;
    engine.shutdown().await;

    let mut told: Vec<(String, StreamEnd, u64)> = read(file.path())
        .unwrap()
        .into_iter()
        .map(|truth| (truth.id.clone(), truth.end, written(&truth)))
        .collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("abort", StreamEnd::Injected, 3),
        ("error", StreamEnd::Injected, 4),
        ("gone", StreamEnd::Gone, 2),
        ("reset", StreamEnd::Injected, 1),
        ("stall", StreamEnd::Stall, 2),
    ];
    assert_eq!(told, expected.map(|(id, end, events)| (id.to_owned(), end, events)));
}

#[tokio::test]
async fn a_client_that_leaves_after_the_last_event_had_it_all() {
    let file = Scratch::new("last");
    let engine = recording(&file).await;
    for _ in 0..50 {
        let mut connection = Connection::open(&engine).await;
        connection
            .send("/v1/chat/completions", &[], "{\"messages\":[],\"stream\":true,\"max_tokens\":2}")
            .await;
        connection.read_until(|bytes| count(bytes, "data: [DONE]\n\n") == 1).await;
    }
    let stats = until(&engine, |stats| stats.completed + stats.gone == 50).await;
    assert_eq!(stats.gone, 0);
    engine.shutdown().await;
    let truths = read(file.path()).unwrap();
    assert_eq!(truths.len(), 50);
    assert!(truths.iter().all(|truth| truth.end == StreamEnd::Ok && written(truth) == 5));
}

#[tokio::test]
async fn streams_that_share_a_connection_are_told_apart() {
    let file = Scratch::new("shared");
    let engine = recording(&file).await;
    let mut connection = Connection::open(&engine).await;
    let mut sent = Vec::new();
    for served in 1..=2 {
        sent.push(monotonic_ns());
        connection
            .send("/v1/chat/completions", &[], "{\"messages\":[],\"stream\":true,\"max_tokens\":2}")
            .await;
        connection.read_until(|bytes| count(bytes, "\r\n0\r\n\r\n") == served).await;
    }
    drop(connection);
    engine.shutdown().await;
    let truths = read(file.path()).unwrap();
    assert_eq!(truths.len(), 2);
    assert!(truths[0].t_first_byte >= sent[0] && truths[0].t_end <= sent[1]);
    assert!(truths[1].t_first_byte >= sent[1]);
    assert_eq!(truths[1].writes.iter().map(|write| write.first_event).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_ne!(truths[0].id, truths[1].id);
}

#[tokio::test]
async fn a_truth_file_that_cannot_be_created_is_an_error() {
    let truth = Some(PathBuf::from("/nonexistent/truth.jsonl"));
    let addr = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    assert!(Engine::bind(EngineConfig { truth, ..config() }, addr).await.is_err());
}
