//! Every exchange has one record, whatever it was and however it ended.

use std::collections::BTreeMap;

use crate::harness::message::stream_head;
use crate::harness::play::verdict;
use crate::harness::sse::three_tokens;
use crate::harness::{Rig, chunk, request, response, until};

/// What clients choose is bounded in records.
#[tokio::test]
async fn names_that_clients_choose_are_bounded() {
    let (mut rig, upstream) = Rig::start().await;
    let _served = upstream.serve(|_| response("200 OK", "", "{}").into());
    let mut client = rig.client().await;
    let long = "m".repeat(1 << 20);
    for (body, model) in [
        (r#"{"model":5}"#.to_owned(), None),
        (r#"{"model":{"a":1}}"#.to_owned(), None),
        (r#"{"model":null}"#.to_owned(), None),
        (r#"{"model":["m"]}"#.to_owned(), None),
        (format!(r#"{{"model":"{long}"}}"#), None),
        (r#"{"model":"a\n\"b"}"#.to_owned(), Some("a\n\"b")),
        (r#"{"model":"org/m\u00e9"}"#.to_owned(), Some("org/m\u{e9}")),
    ] {
        client.ask(&body).await;
        assert_eq!(client.response().await.status(), 200);
        assert_eq!(rig.record().await.request.model.as_deref(), model);
    }
    let path = format!("/v1/{}", "p".repeat(5000));
    client.send(request(&format!("GET {path}?secret=1"), "", "")).await;
    client.response().await;
    let record = rig.record().await;
    assert_eq!(&*record.request.path, &path[..256], "cut, and without the query");
}

#[tokio::test]
async fn a_request_id_is_kept_and_one_is_made_where_there_is_none() {
    let (mut rig, upstream) = Rig::start().await;
    let _served = upstream.serve(|asked| {
        let id = asked.head.header("x-request-id").unwrap_or("none").to_owned();
        response("200 OK", "", id).into()
    });
    let mut client = rig.client().await;
    client.send(request("GET /", "X-Request-Id: abc\r\n", "")).await;
    assert_eq!(client.response().await.body, b"abc");
    assert_eq!(&*rig.record().await.request_id, "abc");
    client.send(request("GET /", "", "")).await;
    assert_eq!(client.response().await.body, b"none", "nothing is added to the request");
    let made = rig.record().await.request_id;
    client.send(request("GET /", "", "")).await;
    client.response().await;
    assert_ne!(rig.record().await.request_id, made);
    client.send(request("GET /", &format!("X-Request-Id: {}\r\n", "i".repeat(1000)), "")).await;
    client.response().await;
    assert_eq!(rig.record().await.request_id.len(), 128);
}

/// Of many requests of every kind, each has one record and none stays in flight.
#[tokio::test]
async fn what_begins_ends_once() {
    const EACH: usize = 30;
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(16, 1024)).await;
    let _served = upstream.serve(|asked| match asked.head.target() {
        "/v1/chat/completions?stream" => {
            let mut bytes = stream_head();
            three_tokens().iter().for_each(|event| bytes.extend_from_slice(&chunk(event)));
            bytes.extend_from_slice(crate::harness::LAST_CHUNK);
            bytes.into()
        }
        "/v1/chat/completions?cut" => {
            let mut bytes = stream_head();
            three_tokens().iter().take(3).for_each(|event| bytes.extend_from_slice(&chunk(event)));
            crate::harness::upstream::Reply { bytes, closes: true }
        }
        "/v1/chat/completions?error" => response("503 Busy", "", "{}").into(),
        "/v1/chat/completions?gone" => crate::harness::upstream::Reply { bytes: Vec::new(), closes: true },
        _ => response("200 OK", "", "{}").into(),
    });
    let mut clients = tokio::task::JoinSet::new();
    for kind in ["stream", "cut", "error", "gone", "whole"] {
        for _ in 0..EACH {
            let address = rig.address;
            clients.spawn(async move {
                let mut client = crate::harness::Wire::connect(address).await;
                let line = format!("POST /v1/chat/completions?{kind}");
                client.send(request(&line, "", r#"{"model":"m","stream":true}"#)).await;
                client.response_head().await;
                client.body_to_end().await;
            });
        }
    }
    clients.join_all().await;
    let mut outcomes = BTreeMap::<_, usize>::new();
    let mut first_tokens = 0;
    for _ in 0..5 * EACH {
        let record = rig.record().await;
        first_tokens += usize::from(record.timeline.ttft().is_some());
        *outcomes.entry(verdict(&record)).or_default() += 1;
    }
    assert!(rig.has_no_record());
    let expected = [
        (("completed", None), 2 * EACH),
        (("truncated", Some("upstream_reset")), EACH),
        (("upstream_error", Some("overloaded")), EACH),
        (("upstream_unreachable", Some("upstream_reset")), EACH),
    ];
    assert_eq!(outcomes, BTreeMap::from(expected));
    assert_eq!(first_tokens, 2 * EACH);
    until(|| rig.inflight.is_empty()).await;
    let lane = rig.global();
    let read = |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!((read(&lane.in_flight), read(&lane.queued)), (0, 0));
    assert_eq!((read(&lane.arrivals), read(&lane.completions)), (150, 150));
}

/// A record that finds no room is counted, and delays nobody.
#[tokio::test]
async fn a_full_outlet_delays_nobody() {
    let (mut rig, upstream) = Rig::with(|setup| setup.outlet = 2).await;
    let _served = upstream.serve(|_| response("200 OK", "", "{}").into());
    let mut client = rig.client().await;
    for _ in 0..10 {
        client.ask("{}").await;
        assert_eq!(client.response().await.status(), 200);
    }
    let dropped = &rig.tally.exchanges_dropped;
    until(|| dropped.load(std::sync::atomic::Ordering::Relaxed) == 8).await;
    assert_eq!((rig.record().await.id.0, rig.record().await.id.0), (1, 2));
    assert!(rig.has_no_record());
}
