//! What HTTP/2 is attacked with, and servers that die of it.

use std::sync::atomic::Ordering::Relaxed;

use h2::server;

use crate::harness::http2::{chat2, stream2};
use crate::harness::message::chunked_head;
use crate::harness::play::verdict;
use crate::harness::sse::content;
use crate::harness::{Close, Rig, Wire, chunk, response, until};

/// Requests that are reset as soon as they are sent cost no more than requests: each has its record, none keeps a
/// place, and the connection is ended when there are too many.
#[tokio::test]
async fn rapid_resets_leave_nothing_behind() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(4, 16)).await;
    let _served = upstream.serve(|_| response("200 OK", "", "{}").into());
    let mut client = rig.http2_client().await;
    let mut sent = 0;
    for _ in 0..2_000 {
        let Some(asked) = client.try_ask("{}").await else { break };
        asked.reset();
        sent += 1;
        tokio::task::yield_now().await;
    }
    drop(client);
    until(|| rig.tally.connections_open.load(Relaxed) == 0).await;
    until(|| rig.inflight.is_empty()).await;
    assert_eq!(rig.global().in_flight.load(Relaxed), 0);
    assert_eq!(rig.global().queued.load(Relaxed), 0);
    let records = rig.records_left();
    assert!(records.len() <= sent, "{} records of {sent} requests", records.len());
    for record in records {
        let outcome = record.outcome.as_str();
        let expected = ["client_gone_before_first_token", "completed", "queue_full", "refused"];
        assert!(expected.contains(&outcome), "{outcome}");
    }
    let mut client = rig.client().await;
    client.ask("{}").await;
    assert_eq!(client.response().await.status(), 200);
}

/// A peer that sends frames which make no sense is told, and closed.
#[tokio::test]
async fn frames_that_break_the_protocol_end_the_connection() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    for broken in [
        // DATA on a stream that was never opened, a window update of nothing, HEADERS on stream 0, an endless
        // CONTINUATION, and a SETTINGS frame of an impossible length.
        &[0, 0, 1, 0, 0, 0, 0, 0, 9, b'x'][..],
        &[0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 1, 1, 5, 0, 0, 0, 0, 0x83],
        &[0, 0, 1, 9, 0, 0, 0, 0, 1, 0x83],
        &[0, 0, 5, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5],
    ] {
        let (mut rig, upstream) = Rig::start().await;
        let mut wire = Wire::connect(rig.address).await;
        wire.send([&preface[..], &settings[..], broken].concat()).await;
        assert!(matches!(wire.closed().await, Close::Fin | Close::Reset), "{broken:?}");
        assert!(upstream.is_untouched().await);
        assert!(rig.has_no_record());
        until(|| rig.tally.connections_open.load(Relaxed) == 0).await;
    }
}

/// Every exchange on a connection that is lost is told, and recorded.
#[tokio::test]
async fn an_upstream_that_dies_under_many_streams_breaks_off_each() {
    let (mut rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let mut running = Vec::new();
    let mut engine = None;
    let mut streams = Vec::new();
    for number in 0..20 {
        let mut client = rig.client().await;
        client.ask(r#"{"model":"m","stream":true}"#).await;
        if engine.is_none() {
            engine = Some(upstream.accept2().await);
        }
        let (_, mut respond) = engine.as_mut().unwrap().asked().await;
        // One half has begun to answer, the other has not.
        if number % 2 == 0 {
            let mut stream = stream2(&mut respond);
            stream.send_data(content("a").into(), false).unwrap();
            client.response_head().await;
            client.body_of(content("a").len()).await;
            streams.push(stream);
        }
        running.push((client, respond));
    }
    drop((engine, streams));
    for (number, (client, _)) in running.iter_mut().enumerate() {
        if number % 2 == 0 {
            assert!(!client.body_to_end().await, "cut off, not ended");
        } else {
            assert_eq!(client.response().await.status(), 502);
        }
    }
    let mut told = Vec::new();
    for _ in 0..20 {
        told.push(verdict(&rig.record().await));
    }
    assert_eq!(told.iter().filter(|told| **told == ("truncated", Some("upstream_reset"))).count(), 10);
    assert_eq!(
        told.iter().filter(|told| **told == ("upstream_unreachable", Some("upstream_reset"))).count(),
        10
    );
    assert_eq!(rig.global().in_flight.load(Relaxed), 0);
}

/// A server may take none for a while: what comes meanwhile waits for it on one connection.
#[tokio::test]
async fn an_upstream_that_takes_no_streams_is_not_flooded_with_connections() {
    let (rig, upstream) = Rig::with(|setup| {
        setup.http2_upstream();
        setup.config.timeouts.response_head = std::time::Duration::from_millis(300);
    })
    .await;
    let mut client = rig.client().await;
    client.ask("{}").await;
    let mut builder = server::Builder::new();
    builder.max_concurrent_streams(0);
    let engine = upstream.accept2_with(&builder).await;
    assert_eq!(client.response().await.status(), 504);
    assert_eq!(rig.tally.upstream_connects.load(Relaxed), 1);
    drop(engine);
}

/// Methods and targets that HTTP/1.1 would read otherwise never get there.
#[tokio::test]
async fn what_http_1_would_read_otherwise_is_refused() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let mut tunnel = chat2();
    *tunnel.method_mut() = http::Method::CONNECT;
    *tunnel.uri_mut() = http::Uri::from_static("weir.test:443");
    let answered = client.send(tunnel, "").await.try_answer().await;
    assert!(answered.is_err() || answered.is_ok_and(|answer| answer.status() == 501));
    assert!(upstream.is_untouched().await);
    let _ = rig.records_left();
    // The connection serves on.
    let mut client = rig.http2_client().await;
    let asked = client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(chunked_head("200 OK", "")).await;
    engine.send(chunk("{}")).await;
    engine.send("0\r\n\r\n").await;
    assert_eq!(asked.answer().await.status(), 200);
}
