//! Clients that take their time, or leave in the middle of things: each costs a place for a while and nothing more.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::harness::message::{chat, chunked_head};
use crate::harness::play::verdict;
use crate::harness::{Rig, Wire, response, until};

/// How long a client may pause in these tests.
const PAUSE: Duration = Duration::from_millis(150);

async fn impatient() -> (Rig, crate::harness::Upstream) {
    Rig::with(|setup| {
        setup.config.listen.head_timeout = PAUSE;
        setup.config.listen.body_timeout = PAUSE;
    })
    .await
}

/// Writes byte by byte, far more slowly than is waited for in all.
async fn dribble(client: &mut Wire, bytes: &[u8]) {
    for byte in bytes {
        if client.try_send([*byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE / 10).await;
    }
}

#[tokio::test]
async fn a_head_that_dribbles_in_is_given_up() {
    let (mut rig, upstream) = impatient().await;
    let mut client = rig.client().await;
    dribble(&mut client, b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX-Slow: ").await;
    client.closed().await;
    assert!(upstream.is_untouched().await);
    assert!(rig.has_no_record());
    until(|| rig.tally.connections_open.load(Relaxed) == 0).await;
}

#[tokio::test]
async fn a_body_that_stops_is_answered_and_recorded() {
    for chunked in [false, true] {
        let (mut rig, upstream) = impatient().await;
        let mut client = rig.client().await;
        let framing = if chunked {
            "Transfer-Encoding: chunked\r\n\r\n5\r\nab"
        } else {
            "Content-Length: 9\r\n\r\n{\"a\""
        };
        client.send(format!("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n{framing}")).await;
        let answer = client.response().await;
        assert_eq!(answer.status(), 408, "chunked: {chunked}");
        assert_eq!(answer.head.header("weir-error"), Some("client_request"));
        assert_eq!(verdict(&rig.record().await), ("refused", Some("client_request")));
        client.closed().await;
        assert!(upstream.is_untouched().await);
        assert_eq!(rig.global().in_flight.load(Relaxed), 0);
    }
}

/// One that goes on, however slowly, is waited for.
#[tokio::test]
async fn a_body_that_dribbles_in_is_relayed() {
    let (rig, upstream) = impatient().await;
    let mut client = rig.client().await;
    client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n").await;
    dribble(&mut client, &[b' '; 28]).await;
    client.send("{}").await;
    let (mut engine, request) = upstream.asked().await;
    assert_eq!(request.body.len(), 30);
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
}

/// Over and over: nothing is left behind.
#[tokio::test]
async fn clients_that_leave_anywhere_leave_nothing_behind() {
    let whole = chat(r#"{"model":"m","stream":true}"#);
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(4, 4)).await;
    let served = upstream.serve(|_| {
        let mut half = chunked_head("200 OK", "Content-Type: text/event-stream\r\n");
        half.extend_from_slice(b"5\r\ndata:\r\n");
        half.into()
    });
    let before = open_files();
    for round in 0..200 {
        let mut client = rig.client().await;
        let part = &whole[..round * whole.len() / 199];
        client.send(part).await;
        if round % 3 == 0 && part.len() == whole.len() {
            client.more().await;
        }
        if round % 2 == 0 { client.reset() } else { drop(client) }
    }
    until(|| rig.tally.connections_open.load(Relaxed) == 0).await;
    until(|| rig.inflight.is_empty()).await;
    served.is_left().await;
    assert_eq!(rig.global().in_flight.load(Relaxed), 0);
    assert_eq!(rig.global().queued.load(Relaxed), 0);
    for record in rig.records_left() {
        assert!(record.outcome.as_str().starts_with("client_gone") || record.outcome.as_str() == "refused");
    }
    // Other tests of this process open files of their own.
    assert!(open_files() < before + 150, "{before} before, {} after", open_files());
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
