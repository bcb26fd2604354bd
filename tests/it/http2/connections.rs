//! Connections of HTTP/2 from their beginning to their end: bounds, and the shutdown.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::harness::message::stream_head;
use crate::harness::play::verdict;
use crate::harness::sse::{content, three_tokens};
use crate::harness::{LAST_CHUNK, Rig, chunk, guarded, response};

#[tokio::test]
async fn a_shutdown_says_so_and_lets_what_runs_end() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let asked = client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    let mut answer = asked.answer().await;
    let drain = rig.drain.clone();
    let mut ending = JoinSet::new();
    ending.spawn(async move { drain.finish(Duration::from_secs(20)).await });
    // Until the client knows, it is told by each answer; then it asks no more.
    guarded(async {
        while let Some(refused) = client.try_ask("{}").await {
            if let Ok(answer) = refused.try_answer().await {
                assert_eq!(answer.status(), 503);
            }
        }
    })
    .await;
    for event in three_tokens() {
        engine.send(chunk(event)).await;
    }
    engine.send(LAST_CHUNK).await;
    answer.end().await.unwrap();
    assert_eq!(answer.bytes, three_tokens().concat().as_bytes());
    assert!(guarded(ending.join_next()).await.unwrap().unwrap(), "nothing was cut off");
    let whole = rig.records_left().iter().filter(|record| verdict(record) == ("completed", None)).count();
    assert_eq!(whole, 1);
}

#[tokio::test]
async fn what_does_not_end_is_cut_and_recorded() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let asked = client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    engine.send(chunk(content("a"))).await;
    let mut answer = asked.answer().await;
    answer.body_of(content("a").len()).await;
    assert!(!guarded(rig.drain.finish(Duration::from_millis(50))).await, "something was cut off");
    assert!(answer.end().await.is_err());
    engine.closed_soon().await;
    assert_eq!(verdict(&rig.record().await), ("truncated", Some("proxy_shutdown")));
    assert_eq!(rig.tally.connections_open.load(Relaxed), 0);
}

#[tokio::test]
async fn streams_of_one_connection_are_bounded() {
    let (mut rig, upstream) = Rig::with(|setup| setup.config.listen.max_streams = 2).await;
    let mut client = rig.http2_client().await;
    // The client knows the bound once it has the server's settings, which come before an answer.
    let asked = client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    asked.answer().await.end().await.unwrap();
    rig.record().await;
    let first = client.ask("{}").await;
    let second = client.ask("{}").await;
    engine.request().await;
    let (mut other, _) = upstream.asked().await;
    let third = client.ask("{}").await;
    assert!(upstream.is_untouched().await, "a third began");
    engine.send(response("200 OK", "", "{}")).await;
    first.answer().await.end().await.unwrap();
    engine.request().await;
    engine.send(response("200 OK", "", "{}")).await;
    other.send(response("200 OK", "", "{}")).await;
    second.answer().await.end().await.unwrap();
    third.answer().await.end().await.unwrap();
}
