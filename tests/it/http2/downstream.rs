//! Clients that speak HTTP/2: what passes, and what holds it up.

use std::time::Duration;

use bytes::Bytes;
use h2::client;

use crate::harness::http2::{Client2, chat2};
use crate::harness::message::{chunked_head, stream_head};
use crate::harness::play::verdict;
use crate::harness::sse::three_tokens;
use crate::harness::{Close, LAST_CHUNK, Rig, Wire, chunk, pattern, response, until};

#[tokio::test]
async fn events_pass_one_by_one_and_are_recorded() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let asked = client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, request) = upstream.asked().await;
    assert_eq!(request.body, br#"{"model":"m","stream":true}"#);
    engine.send(stream_head()).await;
    let mut answer = asked.answer().await;
    assert_eq!(answer.head.headers["content-type"], "text/event-stream; charset=utf-8");
    assert!(!answer.head.headers.contains_key("transfer-encoding"));
    let mut sent = String::new();
    for event in three_tokens() {
        sent.push_str(&event);
        engine.send(chunk(&event)).await;
        answer.body_of(sent.len()).await;
    }
    engine.send(LAST_CHUNK).await;
    assert_eq!(answer.end().await.unwrap(), None);
    assert_eq!(answer.bytes, sent.as_bytes());
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("completed", None));
    assert_eq!(record.answer.tokens.unwrap().count, 3);
    assert_eq!(record.answer.output.unwrap().all_gaps.unwrap().len(), 2);
    assert!(record.timeline.ttft().is_some());
}

#[tokio::test]
async fn many_exchanges_share_a_connection_and_have_records_of_their_own() {
    let (mut rig, upstream) = Rig::start().await;
    let served = upstream.serve(|request| response("200 OK", "", &request.body).into());
    let mut client = rig.http2_client().await;
    let mut asked = Vec::new();
    for _ in 0..50 {
        asked.push(client.ask(r#"{"model":"m"}"#).await);
    }
    for asked in asked {
        let mut answer = asked.answer().await;
        answer.end().await.unwrap();
        assert_eq!(answer.bytes, br#"{"model":"m"}"#);
        assert_eq!(rig.record().await.outcome.as_str(), "completed");
    }
    assert_eq!(served.requests(), 50);
}

#[tokio::test]
async fn a_body_that_is_broken_off_ends_in_a_reset() {
    for reset in [false, true] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.http2_client().await;
        let asked = client.ask(r#"{"model":"m","stream":true}"#).await;
        let (mut engine, _) = upstream.asked().await;
        engine.send(stream_head()).await;
        engine.send(chunk(&three_tokens()[1])).await;
        let mut answer = asked.answer().await;
        answer.body_of(three_tokens()[1].len()).await;
        if reset {
            engine.reset()
        } else {
            drop(engine)
        }
        let error = answer.end().await.unwrap_err();
        assert_eq!(error.reason(), Some(h2::Reason::INTERNAL_ERROR));
        assert_eq!(verdict(&rig.record().await), ("truncated", Some("upstream_reset")));
        // The connection is none the worse for it.
        let asked = client.ask("{}").await;
        let (mut engine, _) = upstream.asked().await;
        engine.send(response("200 OK", "", "{}")).await;
        assert_eq!(asked.answer().await.status(), 200);
    }
}

#[tokio::test]
async fn trailers_pass() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let asked = client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(chunked_head("200 OK", "Trailer: x-sum\r\n")).await;
    engine.send(chunk("{}")).await;
    engine.send("0\r\nx-sum: 7\r\n\r\n").await;
    let mut answer = asked.answer().await;
    assert_eq!(answer.end().await.unwrap().unwrap()["x-sum"], "7");
    assert_eq!(answer.bytes, b"{}");
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
}

/// A client that takes nothing holds up its own stream, and no other on the same connection.
#[tokio::test]
async fn a_client_that_does_not_read_holds_up_the_engine() {
    const LIMIT: usize = 64 << 20;
    let (rig, upstream) = Rig::start().await;
    let stream = tokio::net::TcpStream::connect(rig.address).await.unwrap();
    let mut settings = client::Builder::new();
    settings.initial_window_size(64 * 1024).initial_connection_window_size(4 << 20);
    let mut client = Client2::over(stream, &mut settings).await;
    let asked = client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(chunked_head("200 OK", "")).await;
    let mut stalled = asked.answer().await;
    let taken = engine.send_until_held(&chunk(pattern(0, 64 * 1024)), LIMIT).await;
    assert!(taken < LIMIT / 2, "{taken} bytes were taken for a client that reads none");
    let other = client.ask("{}").await;
    let (mut second, _) = upstream.asked().await;
    second.send(response("200 OK", "", "{}")).await;
    assert_eq!(other.answer().await.status(), 200);
    stalled.body_of(1 << 20).await;
}

#[tokio::test]
async fn a_large_upload_streams_on() {
    let (mut rig, upstream) = Rig::start().await;
    let body = pattern(0, 3 << 20);
    let mut client = rig.http2_client().await;
    let mut asked = client.begin(chat2(), false).await;
    asked.upload.send_data(Bytes::from(body.clone()), true).unwrap();
    let (mut engine, request) = upstream.asked().await;
    assert!(request.head.is_chunked(), "its length was not told");
    assert!(request.body == body);
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(asked.answer().await.status(), 200);
    assert_eq!(rig.record().await.request.bytes, body.len() as u64);
}

#[tokio::test]
async fn a_preface_in_pieces_is_a_preface() {
    let (rig, _upstream) = Rig::start().await;
    let mut wire = Wire::connect(rig.address).await;
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        wire.send([*byte]).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // An empty SETTINGS frame; the server's own comes first, and acknowledges it.
    wire.send([0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
    while wire.raw.len() < 9 {
        assert!(wire.more().await);
    }
    assert_eq!(wire.raw[3], 4, "SETTINGS come first");
    // What only begins like it is HTTP/1.
    let mut wire = Wire::connect(rig.address).await;
    wire.send("PRI * HTTP/1.1\r\n\r\n").await;
    assert_eq!(wire.response().await.status(), 400);
}

#[tokio::test]
async fn a_connection_without_a_stream_is_closed() {
    let (rig, upstream) = Rig::with(|setup| {
        setup.config.listen.head_timeout = Duration::from_millis(100);
    })
    .await;
    let mut client = rig.http2_client().await;
    let asked = client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    // One that runs keeps it open.
    tokio::time::sleep(Duration::from_millis(400)).await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(asked.answer().await.status(), 200);
    client.closed().await.unwrap();
    until(|| rig.tally.connections_open.load(std::sync::atomic::Ordering::Relaxed) == 0).await;
    // One that never says anything more than that it speaks HTTP/2 is closed too.
    let mut wire = Wire::connect(rig.address).await;
    wire.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(matches!(wire.closed().await, Close::Fin | Close::Reset));
}
