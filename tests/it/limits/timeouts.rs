use std::time::Duration;

use weir_core::timeline::Mark;

use super::busy;
use crate::harness::message::{chunked_head, stream_head};
use crate::harness::play::verdict;
use crate::harness::sse::{DONE, content, finish, role};
use crate::harness::{LAST_CHUNK, Rig, chunk, request};

#[tokio::test]
async fn an_upstream_that_falls_silent_is_cut_off() {
    for said in [vec![], vec![role()], vec![role(), content("a")]] {
        let (mut rig, upstream) =
            Rig::with(|setup| setup.config.timeouts.idle = Duration::from_millis(80)).await;
        let (mut client, mut engine) = busy(&rig, &upstream, r#"{"model":"m","stream":true}"#).await;
        engine.send(stream_head()).await;
        if !said.is_empty() {
            engine.send(chunk(said.concat())).await;
        }
        client.response_head().await;
        assert!(!client.body_to_end().await, "the client sees that it was cut off");
        assert_eq!(*client.body(), said.concat().into_bytes());
        engine.closed_soon().await;
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("timeout", Some("upstream_timeout_idle")));
        assert_eq!(record.status, Some(200));
        assert_eq!(record.timeline.ttft().is_some(), said.len() > 1);
        let last = if said.is_empty() { Mark::ResponseHead } else { Mark::FirstByte };
        let silent = record.timeline.between(last, Mark::Ended).unwrap().as_duration();
        assert!(silent >= Duration::from_millis(75), "{silent:?}");
    }
}

#[tokio::test]
async fn so_is_any_other_answer() {
    let (mut rig, upstream) = Rig::with(|setup| setup.config.timeouts.idle = Duration::from_millis(80)).await;
    let mut client = rig.client().await;
    client.send(request("GET /v1/files", "", "")).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(chunked_head("200 OK", "")).await;
    engine.send(chunk("some")).await;
    client.response_head().await;
    assert!(!client.body_to_end().await);
    engine.closed_soon().await;
    assert_eq!(verdict(&rig.record().await), ("timeout", Some("upstream_timeout_idle")));
}

/// Silence behind the end of a stream is only worth a remark.
#[tokio::test]
async fn silence_behind_the_end_is_no_failure() {
    let (mut rig, upstream) = Rig::with(|setup| setup.config.timeouts.idle = Duration::from_millis(80)).await;
    let (mut client, mut engine) = busy(&rig, &upstream, r#"{"model":"m","stream":true}"#).await;
    engine.send(stream_head()).await;
    engine.send(chunk([content("a"), finish("stop"), DONE.to_owned()].concat())).await;
    client.response_head().await;
    client.body_to_end().await;
    assert_eq!(verdict(&rig.record().await), ("completed", Some("upstream_timeout_idle")));
}

/// Any byte starts the wait anew, and there is no limit on the whole.
#[tokio::test]
async fn a_stream_may_take_longer_than_every_timeout() {
    let limit = Duration::from_secs(1);
    let (mut rig, upstream) = Rig::with(|setup| {
        let timeouts = &mut setup.config.timeouts;
        (timeouts.connect, timeouts.response_head, timeouts.idle) = (limit, limit, limit);
        setup.config.listen.head_timeout = limit;
    })
    .await;
    let (mut client, mut engine) = busy(&rig, &upstream, r#"{"model":"m","stream":true}"#).await;
    engine.send(stream_head()).await;
    client.response_head().await;
    let mut length = 0;
    let events =
        [": wait\n\n".to_owned(), ":\n\n".to_owned(), role(), ":\n\n".to_owned(), content("a"), content("b")];
    for event in events {
        tokio::time::sleep(limit / 4).await;
        length += event.len();
        engine.send(chunk(event)).await;
        client.body_of(length).await;
    }
    let end = [finish("stop"), DONE.to_owned()].concat();
    engine.send(chunk(end)).await;
    engine.send(LAST_CHUNK).await;
    assert!(client.body_to_end().await);
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("completed", None));
    assert!(record.duration().as_duration() > limit);
    assert_eq!(record.answer.scan.comments, 3);
}

/// A client that does not get its request head out in time is let go.
#[tokio::test]
async fn a_slow_request_head_is_not_waited_for() {
    let (mut rig, upstream) =
        Rig::with(|setup| setup.config.listen.head_timeout = Duration::from_millis(80)).await;
    let mut client = rig.client().await;
    client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n").await;
    client.closed_soon().await;
    assert!(upstream.is_untouched().await);
    assert!(rig.has_no_record());
}

/// A connection that is kept may be silent between requests, as long as it has a request's head.
#[tokio::test]
async fn the_response_head_may_take_longer_than_the_request_head() {
    let (rig, upstream) =
        Rig::with(|setup| setup.config.listen.head_timeout = Duration::from_millis(80)).await;
    let (mut client, mut engine) = busy(&rig, &upstream, "{}").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    super::answered(&mut client, &mut engine).await;
}

/// Its place at the engine is for somebody who reads.
#[tokio::test]
async fn a_client_that_takes_nothing_is_not_waited_for() {
    for http2 in [false, true] {
        let (mut rig, upstream) = Rig::with(|setup| {
            setup.limit(1, 8);
            setup.config.listen.send_timeout = Duration::from_millis(300);
        })
        .await;
        let mut client = rig.client().await;
        if http2 {
            // The preface, SETTINGS with windows as large as they get, and a request; then nothing is read.
            let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
            bytes.extend_from_slice(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff]);
            bytes.extend_from_slice(&[0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0]);
            // POST http :path /v1/completions :authority a, without a body.
            let mut head = vec![0x83, 0x86, 0x04, 15];
            head.extend_from_slice(b"/v1/completions");
            head.extend_from_slice(&[0x01, 1, b'a']);
            bytes.extend_from_slice(&[0, 0, head.len() as u8, 1, 5, 0, 0, 0, 1]);
            bytes.extend_from_slice(&head);
            client.send(bytes).await;
        } else {
            client.ask("{}").await;
        }
        let (mut engine, _) = upstream.asked().await;
        engine.send(chunked_head("200 OK", "")).await;
        let unit = chunk(vec![b'x'; 64 * 1024]);
        while engine.try_send(&unit).await.is_ok() {}
        let record = rig.record().await;
        assert_eq!(record.outcome.as_str(), "client_gone_before_first_token", "http2: {http2}");
        assert_eq!(rig.global().in_flight.load(std::sync::atomic::Ordering::Relaxed), 0);
        drop(client);
    }
}
