//! Faults as they are on the wire.

use serde_json::json;
use weir_load::engine::{EngineConfig, Fault, FaultRates};

use crate::wire::{Answer, Close, Connection, chat, config, count, engine, events, post, until};

#[tokio::test]
async fn an_aborted_stream_ends_without_its_terminal_chunk() {
    let engine = engine(config()).await;
    let answer = chat(&engine, &[("x-sim-fault", "abort;at=4")], json!({"max_tokens": 9})).await;
    assert_eq!((answer.status, answer.complete, answer.close), (200, false, Close::Fin));
    assert_eq!(answer.events().len(), 4);
    let stats = until(&engine, |stats| stats.injected == 1).await;
    assert_eq!((stats.completed, stats.gone, stats.active), (0, 0, 0));
}

#[tokio::test]
async fn an_abort_may_come_before_any_event_or_after_all_of_them() {
    let engine = engine(config()).await;
    let answer = chat(&engine, &[("x-sim-fault", "abort;at=0")], json!({"max_tokens": 2})).await;
    assert_eq!((answer.status, answer.events().len(), answer.complete), (200, 0, false));
    let answer = chat(&engine, &[("x-sim-fault", "abort;at=99")], json!({"max_tokens": 2})).await;
    assert_eq!((answer.events().last(), answer.complete), (Some(&"[DONE]"), false));
}

#[tokio::test]
async fn a_reset_stream_ends_with_rst() {
    let engine = engine(config()).await;
    let answer = chat(&engine, &[("x-sim-fault", "reset;at=2")], json!({"max_tokens": 9})).await;
    assert_eq!((answer.status, answer.complete, answer.close), (200, false, Close::Reset));
    assert_eq!(answer.events().len(), 2);
}

#[tokio::test]
async fn a_stalled_stream_is_silent_until_the_client_leaves() {
    let engine = engine(config()).await;
    let mut connection = Connection::open(&engine).await;
    let headers = [("x-sim-fault", "stall;at=2")];
    connection.send("/v1/chat/completions", &headers, "{\"messages\":[],\"stream\":true}").await;
    connection.read_until(|bytes| events(bytes) == 2).await;
    // Another request runs to its end meanwhile; the stalled one does not move.
    chat(&engine, &[], json!({})).await;
    let stats = until(&engine, |stats| stats.completed == 1).await;
    assert_eq!((stats.active, stats.injected), (1, 0));
    assert_eq!(events(&connection.bytes), 2);
    drop(connection);
    until(&engine, |stats| stats.injected == 1 && stats.active == 0).await;
}

#[tokio::test]
async fn an_error_comes_as_an_event_and_ends_the_stream_cleanly() {
    let engine = engine(config()).await;
    let answer = chat(&engine, &[("x-sim-fault", "error;at=3")], json!({"max_tokens": 9})).await;
    let chunks = answer.chunks();
    assert_eq!((answer.status, answer.complete, chunks.len()), (200, true, 4));
    assert_eq!(chunks[3]["error"]["type"], "InternalServerError");
    assert_eq!(chunks[3]["error"]["code"], 500);
    until(&engine, |stats| stats.injected == 1).await;
}

#[tokio::test]
async fn a_status_may_say_when_to_retry() {
    let engine = engine(config()).await;
    let answer = chat(&engine, &[("x-sim-fault", "429;retry=7")], json!({})).await;
    assert_eq!((answer.status, answer.complete), (429, true));
    assert!(answer.head.contains("retry-after: 7"));
    assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    for (status, kind) in [(500, "InternalServerError"), (503, "ServiceUnavailableError")] {
        let fault = status.to_string();
        let answer = chat(&engine, &[("x-sim-fault", &fault)], json!({})).await;
        assert_eq!(answer.status, status);
        assert!(!answer.head.contains("retry-after"));
        assert_eq!(answer.json()["error"]["type"], kind);
        assert_eq!(answer.json()["error"]["code"], status);
    }
    assert_eq!(engine.stats().injected, 3);
}

#[tokio::test]
async fn a_dropped_request_gets_no_byte_and_garbage_is_not_http() {
    let engine = engine(config()).await;
    for (fault, is_http) in [("drop", false), ("garbage", false), ("503", true)] {
        let mut connection = Connection::open(&engine).await;
        let headers = [("x-sim-fault", fault), ("connection", "close")];
        connection.send("/v1/chat/completions", &headers, "{\"messages\":[],\"stream\":true}").await;
        assert_eq!(connection.read_to_close().await, Close::Fin, "{fault}");
        assert_eq!(connection.bytes.starts_with(b"HTTP/1.1 "), is_http, "{fault}");
        assert_eq!(connection.bytes.is_empty(), fault == "drop", "{fault}");
    }
    assert_eq!(engine.stats().injected, 3);
}

#[tokio::test]
async fn a_slow_head_comes_before_a_good_answer() {
    let engine = engine(config()).await;
    let mut connection = Connection::open(&engine).await;
    connection
        .send(
            "/v1/chat/completions",
            &[("x-sim-fault", "slow_head;ms=3600000")],
            "{\"messages\":[],\"stream\":true}",
        )
        .await;
    until(&engine, |stats| stats.requests == 1).await;
    assert!(connection.bytes.is_empty());
    let answer = chat(&engine, &[("x-sim-fault", "slow_head;ms=1")], json!({})).await;
    assert!(answer.complete);
    let stats = until(&engine, |stats| stats.completed == 1).await;
    assert_eq!(stats.active, 0, "a request without a head does not generate");
}

#[tokio::test]
async fn an_answer_in_one_piece_breaks_in_the_middle() {
    let engine = engine(config()).await;
    let path = "/v1/chat/completions";
    let body = "{\"messages\":[]}";
    for (fault, close) in [("abort", Close::Fin), ("reset", Close::Reset)] {
        let answer = post(&engine, path, &[("x-sim-fault", fault)], body).await;
        assert_eq!((answer.status, answer.complete, answer.close), (200, false, close));
        assert!(!answer.body.is_empty());
    }
    let answer = post(&engine, path, &[("x-sim-fault", "error")], body).await;
    assert_eq!((answer.status, answer.complete), (500, true));

    let mut connection = Connection::open(&engine).await;
    connection.send(path, &[("x-sim-fault", "stall")], body).await;
    let half = |bytes: &[u8]| count(bytes, "\r\n\r\n{") == 1;
    connection.read_until(half).await;
    drop(connection);
    let stats = until(&engine, |stats| stats.injected == 4).await;
    assert_eq!((stats.completed, stats.gone), (0, 0));
}

#[tokio::test]
async fn rates_are_kept_and_repeat() {
    let rates =
        vec![(Fault::Abort { at: 1 }, 0.2), ("500".parse().unwrap(), 0.2), (Fault::Error { at: 1 }, 0.2)];
    let faults = FaultRates::new(rates).unwrap();
    let [first, second] = [1, 1].map(|seed| EngineConfig { seed, faults: faults.clone(), ..config() });
    let (first, second) = (engine(first).await, engine(second).await);
    let kind = |answer: &Answer| (answer.status, answer.complete, answer.body.contains("error"));
    let mut seen = Vec::new();
    for _ in 0..100 {
        let answer = chat(&first, &[], json!({"max_tokens": 1})).await;
        assert_eq!(kind(&answer), kind(&chat(&second, &[], json!({"max_tokens": 1})).await));
        seen.push(kind(&answer));
    }
    for (kind, share) in [
        ((200, false, false), 20),
        ((500, true, true), 20),
        ((200, true, true), 20),
        ((200, true, false), 40),
    ] {
        let times = seen.iter().filter(|seen| **seen == kind).count() as i64;
        assert!((times - share).abs() < 15, "{kind:?}: {times} of 100");
    }
}
