//! Shutdown: nothing new, time for what runs, then the end; and a record of everything.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::harness::message::stream_head;
use crate::harness::play::verdict;
use crate::harness::sse::{DONE, content, finish, role};
use crate::harness::{LAST_CHUNK, Rig, Upstream, Wire, chunk, request, response, until};

/// Long enough to be never reached.
const LONG: Duration = Duration::from_secs(60);

/// A client with a stream of which one token has come.
async fn streaming(rig: &Rig, upstream: &Upstream) -> (Wire, Wire) {
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    engine.send(chunk([role(), content("a")].concat())).await;
    client.response_head().await;
    client.body_of(role().len() + content("a").len()).await;
    (client, engine)
}

/// Whether a new client gets nothing at all.
async fn refuses(rig: &Rig) -> bool {
    match TcpStream::connect(rig.address).await {
        Err(_) => true,
        // It may have lain in the backlog, which ends with the listener.
        Ok(socket) => {
            let mut client = Wire::new(socket);
            let _ = client.try_send(request("GET /", "", "")).await;
            client.closed().await;
            client.raw.is_empty()
        }
    }
}

#[tokio::test]
async fn what_runs_goes_on_and_nothing_new_begins() {
    let (mut rig, upstream) = Rig::start().await;
    let mut idle = rig.client().await;
    idle.send(request("GET /", "", "")).await;
    let (mut kept, _) = upstream.asked().await;
    kept.send(response("200 OK", "", "x")).await;
    idle.response().await;
    rig.record().await;
    // Takes the kept connection, so that the stream has one of its own.
    let (mut client, mut engine) = {
        let mut client = rig.client().await;
        client.ask(r#"{"stream":true}"#).await;
        kept.request().await;
        kept.send(stream_head()).await;
        kept.send(chunk(content("a"))).await;
        client.response_head().await;
        client.body_of(content("a").len()).await;
        (client, kept)
    };

    rig.drain.begin();
    idle.closed_soon().await;
    assert!(refuses(&rig).await);
    let drain = rig.drain.clone();
    let mut finished = tokio::task::JoinSet::new();
    finished.spawn(async move { drain.finish(LONG).await });

    engine.send(chunk([content("b"), finish("stop"), DONE.to_owned()].concat())).await;
    engine.send(LAST_CHUNK).await;
    assert!(client.body_to_end().await, "it ends as it would have");
    client.closed_soon().await;
    assert!(crate::harness::guarded(finished.join_next()).await.unwrap().unwrap(), "nothing was cut off");
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("completed", None));
    assert_eq!(record.answer.tokens.map(|tokens| tokens.count), Some(2));
    engine.closed_soon().await;
    assert!(rig.inflight.is_empty());
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cut_off_and_recorded() {
    let (mut rig, upstream) = Rig::start().await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(streaming(&rig, &upstream).await);
    }
    let mut waiting = rig.client().await;
    waiting.ask(r#"{"model":"m"}"#).await;
    let (mut unanswered, _) = upstream.asked().await;

    assert!(
        !crate::harness::guarded(rig.drain.finish(Duration::from_millis(50))).await,
        "something was cut off"
    );
    for _ in 0..6 {
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("truncated", Some("proxy_shutdown")));
        let tokens = record.answer.tokens.map(|tokens| tokens.count);
        assert_eq!(tokens, record.timeline.ttft().map(|_| 1), "what had come is kept");
    }
    assert!(rig.has_no_record() && rig.inflight.is_empty());
    for (mut client, mut engine) in streams {
        assert!(!client.body_to_end().await, "no end is made up");
        engine.closed_soon().await;
    }
    waiting.closed().await;
    assert!(waiting.raw.is_empty());
    unanswered.closed_soon().await;
}

/// A client that reads nothing does not hold the end up.
#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_too() {
    let (mut rig, upstream) = Rig::start().await;
    let (client, mut engine) = streaming(&rig, &upstream).await;
    engine.send_until_held(&chunk(content(&"x".repeat(60_000))), usize::MAX).await;
    assert!(!crate::harness::guarded(rig.drain.finish(Duration::from_millis(20))).await);
    assert_eq!(verdict(&rig.record().await), ("truncated", Some("proxy_shutdown")));
    engine.closed_soon().await;
    drop(client);
}

/// Shutdown while queued. Who waits is served if there is time.
#[tokio::test]
async fn who_waits_is_served_before_the_end() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 4)).await;
    let (mut client, mut engine) = streaming(&rig, &upstream).await;
    let mut queued = rig.client().await;
    queued.ask("{}").await;
    let lane = rig.global();
    until(|| lane.queued.load(Relaxed) == 1).await;
    rig.drain.begin();
    engine.send(chunk(DONE)).await;
    engine.send(LAST_CHUNK).await;
    assert!(client.body_to_end().await);
    engine.request().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(queued.response().await.status(), 200);
    assert!(crate::harness::guarded(rig.drain.finish(LONG)).await);
    for _ in 0..2 {
        assert_eq!(rig.record().await.outcome.as_str(), "completed");
    }
}

#[tokio::test]
async fn who_still_waits_at_the_end_is_recorded() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 4)).await;
    let (_client, mut engine) = streaming(&rig, &upstream).await;
    let mut queued = rig.client().await;
    queued.ask(r#"{"model":"queued"}"#).await;
    let lane = rig.global();
    until(|| lane.queued.load(Relaxed) == 1).await;
    assert!(!crate::harness::guarded(rig.drain.finish(Duration::from_millis(20))).await);
    queued.closed().await;
    let records = [rig.record().await, rig.record().await];
    for record in &records {
        assert_eq!(verdict(record), ("truncated", Some("proxy_shutdown")));
    }
    assert!(records.iter().any(|record| record.request.model.as_deref() == Some("queued")));
    engine.closed_soon().await;
    assert!(engine.raw.windows(6).all(|window| window != b"queued"), "it never reached the upstream");
}

#[tokio::test]
async fn a_proxy_without_clients_ends_at_once() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(request("GET /", "Connection: close\r\n", "")).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "x")).await;
    client.response().await;
    client.closed().await;
    assert!(crate::harness::guarded(rig.drain.finish(LONG)).await);
    engine.closed_soon().await;
    assert!(refuses(&rig).await);
}
