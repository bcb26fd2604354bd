//! Large bodies stream: little of them is held at any time.

use std::time::Duration;

use crate::harness::message::chat;
use crate::harness::{Rig, Wire, pattern, request, response};

const PART: usize = 64 * 1024;

/// What the kernel and the proxy may hold between two sides.
const HELD: usize = 16 << 20;

/// Sends until the other side takes no more for a while, or all of it; returns how much that was.
async fn send_until_held(wire: &mut Wire, length: usize) -> usize {
    let mut sent = 0;
    while sent < length {
        let part = pattern(sent, PART.min(length - sent));
        match tokio::time::timeout(Duration::from_millis(300), wire.send_some(&part)).await {
            Ok(taken) => sent += taken.unwrap(),
            Err(_) => break,
        }
    }
    sent
}

async fn send_rest(wire: &mut Wire, mut sent: usize, length: usize) {
    while sent < length {
        let part = pattern(sent, PART.min(length - sent));
        wire.send(&part).await;
        sent += part.len();
    }
}

/// Reads a body of the pattern, keeping nothing of it.
async fn read_pattern(wire: &mut Wire, length: usize) {
    let mut read = 0;
    while read < length {
        assert!(wire.body_more().await, "ended after {read} bytes");
        let part = std::mem::take(wire.body());
        assert!(part == pattern(read, part.len()), "other bytes after {read}");
        read += part.len();
    }
}

#[tokio::test]
async fn a_request_of_50_mib_streams() {
    const LENGTH: usize = 50 << 20;
    for path in ["/v1/chat/completions", "/v1/files"] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        client.send(format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {LENGTH}\r\n\r\n")).await;
        let sent = send_until_held(&mut client, LENGTH).await;
        assert!(sent < HELD, "{sent} bytes were taken though nobody read them");
        let mut engine = upstream.accept().await;
        engine.forget();
        assert_eq!(engine.request_head().await.length(), Some(LENGTH as u64));
        tokio::join!(send_rest(&mut client, sent, LENGTH), read_pattern(&mut engine, LENGTH));
        engine.send(response("200 OK", "", "{}")).await;
        assert_eq!(client.response().await.status(), 200);
        let record = rig.record().await;
        assert_eq!((record.request.bytes, record.outcome.as_str()), (LENGTH as u64, "completed"));
    }
}

#[tokio::test]
async fn a_response_of_64_mib_streams() {
    const LENGTH: usize = 64 << 20;
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.forget();
    client.send(request("GET /v1/files/1/content", "", "")).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n")).await;
    let sent = send_until_held(&mut engine, LENGTH).await;
    assert!(sent < HELD, "{sent} bytes were taken though nobody read them");
    assert_eq!(client.response_head().await.length(), Some(LENGTH as u64));
    tokio::join!(send_rest(&mut engine, sent, LENGTH), read_pattern(&mut client, LENGTH));
    let record = rig.record().await;
    assert_eq!((record.answer.bytes, record.outcome.as_str()), (LENGTH as u64, "completed"));
}

/// Nothing happens at the edges of the buffer, nor of what others allow.
#[tokio::test]
async fn bodies_around_the_request_buffer_pass() {
    let (mut rig, upstream) = Rig::start().await;
    for edge in [64 * 1024, 2 << 20] {
        for length in [edge - 1, edge, edge + 1] {
            let body = pattern(0, length);
            let mut client = rig.client().await;
            let answered = async {
                let (mut engine, asked) = upstream.asked().await;
                engine.send(response("200 OK", "Connection: close\r\n", "{}")).await;
                asked
            };
            let (asked, ()) = tokio::join!(answered, client.send(chat(&body)));
            assert!(asked.body == body);
            assert_eq!(asked.head.length(), Some(length as u64));
            assert_eq!(client.response().await.status(), 200);
            assert_eq!(rig.record().await.request.bytes, length as u64);
        }
    }
}

/// The model counts even if the body is longer than what is read of it beforehand.
#[tokio::test]
async fn what_stands_early_in_a_large_body_is_seen() {
    let (mut rig, upstream) = Rig::start().await;
    let text = "x".repeat(300_000);
    for (body, model) in [
        (format!(r#"{{"model":"early","messages":"{text}"}}"#), Some("early")),
        (format!(r#"{{"messages":"{text}","model":"late"}}"#), None),
    ] {
        let mut client = rig.client().await;
        let answered = async {
            let (mut engine, asked) = upstream.asked().await;
            engine.send(response("200 OK", "Connection: close\r\n", "{}")).await;
            asked
        };
        let (asked, ()) = tokio::join!(answered, client.ask(&body));
        assert_eq!(asked.body, body.as_bytes());
        client.response().await;
        assert_eq!(rig.record().await.request.model.as_deref(), model);
    }
}
