use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use weir_core::timeline::Mark;
use weir_proxy::FullStatus;

use super::{answered, busy};
use crate::harness::play::verdict;
use crate::harness::rig::{limits, unlimited};
use crate::harness::{Rig, Wire, until};

/// One of admission's own answers.
async fn refusal(client: &mut Wire, status: u16, class: &str) {
    let answer = client.response().await;
    assert_eq!(answer.status(), status);
    assert_eq!(answer.head.header("weir-error"), Some(class));
    let wait: u64 = answer.head.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], class);
    assert_eq!(error["type"], if status == 429 { "rate_limit_error" } else { "server_error" });
    assert!(error["message"].is_string() && error["param"].is_null());
}

#[tokio::test]
async fn a_full_queue_turns_away() {
    for (answer, status) in [(FullStatus::TooManyRequests, 429), (FullStatus::ServiceUnavailable, 503)] {
        let (mut rig, upstream) = Rig::with(|setup| {
            setup.limit(1, 1);
            setup.config.full_status = answer;
        })
        .await;
        let (mut first, mut engine) = busy(&rig, &upstream, "{}").await;
        let lane = rig.global();
        let mut second = rig.client().await;
        second.ask("{}").await;
        until(|| lane.queued.load(Relaxed) == 1).await;

        let mut third = rig.client().await;
        third.ask(r#"{"model":"m"}"#).await;
        refusal(&mut third, status, "proxy_queue_full").await;
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("queue_full", Some("proxy_queue_full")));
        assert_eq!((record.status, record.request.model.as_deref()), (Some(status), Some("m")));
        assert_eq!((record.timeline.at(Mark::Admitted), record.timeline.ttft()), (None, None));
        assert_eq!(lane.rejected_full.load(Relaxed), 1);

        // Those in the queue are served all the same, and the one turned away may ask again.
        answered(&mut first, &mut engine).await;
        engine.request().await;
        answered(&mut second, &mut engine).await;
        third.ask("{}").await;
        engine.request().await;
        answered(&mut third, &mut engine).await;
    }
}

#[tokio::test]
async fn who_waits_too_long_is_sent_away() {
    let (mut rig, upstream) = Rig::with(|setup| {
        setup.limit(1, 4);
        setup.policy.global.queue_timeout = Duration::from_millis(50);
    })
    .await;
    let (mut first, mut engine) = busy(&rig, &upstream, "{}").await;
    let mut second = rig.client().await;
    second.ask("{}").await;
    refusal(&mut second, 503, "proxy_queue_timeout").await;
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("timeout", Some("proxy_queue_timeout")));
    let waited = record.timeline.between(Mark::Queued, Mark::Ended).unwrap().as_duration();
    assert!(waited >= Duration::from_millis(50));
    let lane = rig.global();
    assert_eq!((lane.queued.load(Relaxed), lane.timed_out.load(Relaxed)), (0, 1));
    answered(&mut first, &mut engine).await;
    assert!(engine.is_quiet().await, "who was sent away is not asked for");
}

#[tokio::test]
async fn who_came_first_goes_first() {
    let (rig, upstream) = Rig::with(|setup| setup.limit(1, 16)).await;
    let (mut first, mut engine) = busy(&rig, &upstream, "{}").await;
    let lane = rig.global();
    let mut queued = Vec::new();
    for place in 1..=10 {
        let mut client = rig.client().await;
        client.ask(format!(r#"{{"place":{place}}}"#)).await;
        until(|| lane.queued.load(Relaxed) == place).await;
        queued.push(client);
    }
    answered(&mut first, &mut engine).await;
    for (place, client) in (1..).zip(&mut queued) {
        assert_eq!(engine.request().await.body, format!(r#"{{"place":{place}}}"#).as_bytes());
        answered(client, &mut engine).await;
    }
}

/// The wait counts for the client, and not against the upstream.
#[tokio::test]
async fn the_wait_is_no_time_of_the_upstreams() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 4)).await;
    let (mut first, mut engine) = busy(&rig, &upstream, "{}").await;
    let mut second = rig.client().await;
    second.ask(r#"{"stream":true}"#).await;
    let lane = rig.global();
    until(|| lane.queued.load(Relaxed) == 1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    answered(&mut first, &mut engine).await;
    rig.record().await;
    engine.request().await;
    engine.send(crate::harness::message::stream_head()).await;
    let events = crate::harness::sse::three_tokens().concat();
    engine.send(crate::harness::chunk(&events)).await;
    engine.send(crate::harness::LAST_CHUNK).await;
    second.response().await;
    let timeline = rig.record().await.timeline;
    let wait = timeline.queue_wait().unwrap();
    assert!(wait.as_duration() >= Duration::from_millis(95), "{wait:?}");
    let (ttft, upstream) = (timeline.ttft().unwrap(), timeline.upstream_ttft().unwrap());
    assert!(ttft.0 >= wait.0 + upstream.0, "{timeline:?}");
    assert!(lane.wait_ns.load(Relaxed) >= wait.0 / 2);
}

/// The place is held until the stream ends, and not only to its head.
#[tokio::test]
async fn a_place_is_held_as_long_as_the_stream() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 4)).await;
    let (mut first, mut engine) = busy(&rig, &upstream, r#"{"stream":true}"#).await;
    engine.send(crate::harness::message::stream_head()).await;
    first.response_head().await;
    let lane = rig.global();
    let mut second = rig.client().await;
    second.ask("{}").await;
    until(|| lane.queued.load(Relaxed) == 1).await;
    assert!(upstream.is_untouched().await && engine.is_quiet().await);
    engine.send(crate::harness::chunk(crate::harness::sse::DONE)).await;
    engine.send(crate::harness::LAST_CHUNK).await;
    assert!(first.body_to_end().await);
    rig.record().await;
    engine.request().await;
    answered(&mut second, &mut engine).await;
}

#[tokio::test]
async fn limits_may_change_under_way() {
    let (rig, upstream) = Rig::with(|setup| setup.limit(1, 8)).await;
    let lane = rig.global();
    let (mut first, mut engine) = busy(&rig, &upstream, "{}").await;
    let mut waiting = Vec::new();
    for place in 1..=3 {
        let mut client = rig.client().await;
        client.ask("{}").await;
        until(|| lane.queued.load(Relaxed) == place).await;
        waiting.push(client);
    }

    // More places: those who wait get them at once.
    rig.policy.send_modify(|policy| policy.global = limits(3, 8));
    let (mut second_engine, _) = upstream.asked().await;
    let (mut third_engine, _) = upstream.asked().await;
    assert_eq!((lane.in_flight.load(Relaxed), lane.queued.load(Relaxed)), (3, 1));

    // Fewer: nobody is dropped, and the next one waits until there is room again.
    rig.policy.send_modify(|policy| policy.global = limits(1, 8));
    until(|| lane.limit.load(Relaxed) == 1).await;
    let mut last = waiting.pop().unwrap();
    answered(&mut first, &mut engine).await;
    let (mut second, mut third) = (waiting.remove(0), waiting.remove(0));
    answered(&mut second, &mut second_engine).await;
    until(|| lane.in_flight.load(Relaxed) == 1).await;
    assert_eq!(lane.queued.load(Relaxed), 1);
    answered(&mut third, &mut third_engine).await;
    assert_eq!(third_engine.request().await.body, b"{}", "the freshest connection serves");
    answered(&mut last, &mut third_engine).await;

    // None at all.
    rig.policy.send_modify(|policy| policy.global = unlimited());
    until(|| lane.limit().is_none()).await;
}
