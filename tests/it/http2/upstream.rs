//! Upstreams that speak HTTP/2: how their connections are shared, and how they end.

use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use h2::{Reason, server};
use http::HeaderMap;

use crate::harness::http2::stream2;
use crate::harness::play::verdict;
use crate::harness::sse::{content, three_tokens};
use crate::harness::{Rig, pattern};

#[tokio::test]
async fn events_pass_one_by_one_and_are_recorded() {
    for http2_client in [false, true] {
        let (mut rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
        let (mut wire, mut multiplexed) = (rig.client().await, rig.http2_client().await);
        let ask = r#"{"model":"m","stream":true}"#;
        let asked = if http2_client {
            Some(multiplexed.ask(ask).await)
        } else {
            wire.ask(ask).await;
            None
        };
        let mut engine = upstream.accept2().await;
        let (_, mut respond) = engine.asked().await;
        let mut stream = stream2(&mut respond);
        let mut answer = match asked {
            Some(asked) => Some(asked.answer().await),
            None => {
                wire.response_head().await;
                None
            }
        };
        let mut sent = String::new();
        for event in three_tokens() {
            sent.push_str(&event);
            stream.send_data(event.into(), false).unwrap();
            match &mut answer {
                Some(answer) => answer.body_of(sent.len()).await,
                None => wire.body_of(sent.len()).await,
            }
        }
        stream.send_data(Bytes::new(), true).unwrap();
        let body = match &mut answer {
            Some(answer) => {
                answer.end().await.unwrap();
                answer.bytes.clone()
            }
            None => {
                assert!(wire.body_to_end().await);
                wire.body().clone()
            }
        };
        assert_eq!(body, sent.as_bytes());
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("completed", None));
        assert_eq!(record.answer.output.unwrap().all_gaps.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn exchanges_share_a_connection_as_far_as_the_server_takes_them() {
    let (rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let settings = || {
        let mut builder = server::Builder::new();
        builder.max_concurrent_streams(2);
        builder
    };
    let mut clients = Vec::new();
    let mut first = None;
    let mut responds = Vec::new();
    for _ in 0..2 {
        let mut client = rig.client().await;
        client.ask("{}").await;
        clients.push(client);
        if first.is_none() {
            first = Some(upstream.accept2_with(&settings()).await);
        }
        responds.push(first.as_mut().unwrap().asked().await.1);
    }
    assert_eq!(rig.tally.upstream_connects.load(Relaxed), 1);
    let mut third = rig.client().await;
    third.ask("{}").await;
    let mut second = upstream.accept2_with(&settings()).await;
    responds.push(second.asked().await.1);
    clients.push(third);
    for (mut respond, mut client) in responds.into_iter().zip(clients) {
        respond.send_response(http::Response::new(()), true).unwrap();
        assert_eq!(client.response().await.status(), 200);
    }
    // Now that there is room again, nobody opens a third.
    let mut client = rig.client().await;
    client.ask("{}").await;
    first.as_mut().unwrap().asked().await.1.send_response(http::Response::new(()), true).unwrap();
    assert_eq!(client.response().await.status(), 200);
    assert_eq!(rig.tally.upstream_connects.load(Relaxed), 2);
}

#[tokio::test]
async fn many_that_come_at_once_open_one_connection() {
    let (rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = rig.client().await;
        client.ask("{}").await;
        clients.push(client);
    }
    let mut engine = upstream.accept2().await;
    for _ in 0..20 {
        engine.asked().await.1.send_response(http::Response::new(()), true).unwrap();
    }
    for client in &mut clients {
        assert_eq!(client.response().await.status(), 200);
    }
    assert_eq!(rig.tally.upstream_connects.load(Relaxed), 1);
}

#[tokio::test]
async fn a_reset_in_mid_stream_breaks_the_answer_off() {
    let (mut rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m","stream":true}"#).await;
    let mut engine = upstream.accept2().await;
    let (_, mut respond) = engine.asked().await;
    let mut stream = stream2(&mut respond);
    stream.send_data(content("a").into(), false).unwrap();
    client.response_head().await;
    client.body_of(content("a").len()).await;
    stream.send_reset(Reason::INTERNAL_ERROR);
    assert!(!client.body_to_end().await, "cut off, not ended");
    assert_eq!(verdict(&rig.record().await), ("truncated", Some("upstream_reset")));
    // Before the head it is answered.
    let mut client = rig.client().await;
    client.ask("{}").await;
    engine.asked().await.1.send_reset(Reason::INTERNAL_ERROR);
    assert_eq!(client.response().await.status(), 502);
    assert_eq!(verdict(&rig.record().await), ("upstream_unreachable", Some("upstream_reset")));
    assert_eq!(rig.tally.upstream_connects.load(Relaxed), 1);
}

#[tokio::test]
async fn a_server_that_leaves_ends_what_runs_and_gets_nothing_new() {
    let (mut rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let mut runs = rig.client().await;
    runs.ask(r#"{"model":"m","stream":true}"#).await;
    let mut old = upstream.accept2().await;
    let (_, mut respond) = old.asked().await;
    let mut stream = stream2(&mut respond);
    runs.response_head().await;
    old.leave().await;
    // The announcement has to be there before the next request is.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let mut next = rig.client().await;
    next.ask("{}").await;
    let mut new = upstream.accept2().await;
    new.asked().await.1.send_response(http::Response::new(()), true).unwrap();
    assert_eq!(next.response().await.status(), 200);
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
    for event in three_tokens() {
        stream.send_data(event.into(), false).unwrap();
    }
    stream.send_data(Bytes::new(), true).unwrap();
    assert!(runs.body_to_end().await);
    assert_eq!(verdict(&rig.record().await), ("completed", None));
    drop((respond, stream));
    old.closed().await;
}

/// A server may say that it has not begun with a request. It is asked again then, and not without end.
#[tokio::test]
async fn a_request_that_was_refused_is_sent_again() {
    let (mut rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"again"}"#).await;
    let mut engine = upstream.accept2().await;
    engine.asked().await.1.send_reset(Reason::REFUSED_STREAM);
    let (request, mut respond) = engine.asked().await;
    assert_eq!(request.body(), br#"{"model":"again"}"#);
    respond.send_response(http::Response::new(()), true).unwrap();
    assert_eq!(client.response().await.status(), 200);
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
    assert_eq!(rig.tally.upstream_retries.load(Relaxed), 1);

    client.ask("{}").await;
    for _ in 0..3 {
        engine.asked().await.1.send_reset(Reason::REFUSED_STREAM);
    }
    assert_eq!(client.response().await.status(), 502);
    assert_eq!(rig.record().await.outcome.as_str(), "upstream_unreachable");
    // Another reason says nothing of what was done with it.
    client.ask("{}").await;
    engine.asked().await.1.send_reset(Reason::CANCEL);
    assert_eq!(client.response().await.status(), 502);
    assert_eq!(rig.tally.upstream_connects.load(Relaxed), 1);
}

#[tokio::test]
async fn trailers_pass() {
    let (mut rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let mut client = rig.http2_client().await;
    let asked = client.ask("{}").await;
    let mut engine = upstream.accept2().await;
    let (_, mut respond) = engine.asked().await;
    let mut stream = respond.send_response(http::Response::new(()), false).unwrap();
    stream.send_data("{}".into(), false).unwrap();
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", "7".parse().unwrap());
    stream.send_trailers(trailers).unwrap();
    let mut answer = asked.answer().await;
    assert_eq!(answer.end().await.unwrap().unwrap()["x-sum"], "7");
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_its_stream_alone() {
    let (rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
    let mut stalled = rig.client().await;
    stalled.ask("{}").await;
    let mut engine = upstream.accept2().await;
    let (_, mut respond) = engine.asked().await;
    let mut stream = respond.send_response(http::Response::new(()), false).unwrap();
    let mut taken = 0;
    loop {
        stream.reserve_capacity(64 * 1024);
        let room = std::future::poll_fn(|cx| stream.poll_capacity(cx));
        let Ok(Some(Ok(room))) = tokio::time::timeout(std::time::Duration::from_millis(300), room).await
        else {
            break;
        };
        stream.send_data(pattern(taken, room).into(), false).unwrap();
        taken += room;
        assert!(taken < 64 << 20, "an endless buffer");
    }
    let mut other = rig.client().await;
    other.ask("{}").await;
    engine.asked().await.1.send_response(http::Response::new(()), true).unwrap();
    assert_eq!(other.response().await.status(), 200);
    stream.send_data(Bytes::new(), true).unwrap();
    let answer = stalled.response().await;
    assert!(answer.body == pattern(0, taken));
}
