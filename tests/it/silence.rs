//! Who is silent: seen from outside while an exchange stands still, with a phase and a side.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use weir_core::exchange::Side;
use weir_core::inflight::{Inflight, Phase};
use weir_core::observation::Silence;
use weir_core::timeline::Offset;

use crate::harness::message::stream_head;
use crate::harness::sse::content;
use crate::harness::{Rig, chunk, response, until};

const STALL_AFTER: Duration = Duration::from_millis(100);

/// More than the kernel and the proxy hold of one stream.
const STREAM: usize = 200 << 20;

/// The one exchange in flight, once it is silent.
async fn silence(inflight: &Arc<Inflight>) -> Silence {
    let look = || inflight.survey(weir_proxy::monotonic(), STALL_AFTER.into()).silent.pop();
    until(|| look().is_some()).await;
    look().unwrap()
}

fn check(silence: &Silence, phase: Phase, side: Side) {
    assert_eq!((silence.phase, silence.side), (phase, side), "{silence:?}");
    assert_eq!(silence.model.as_deref(), Some("m"));
    assert!(silence.length > Offset::from(STALL_AFTER) && silence.age >= silence.length, "{silence:?}");
}

/// The upstream writes as fast as it can until nothing is taken for a while.
#[tokio::test]
async fn a_client_that_does_not_read_is_silent() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    let taken = engine.send_until_held(&chunk(content(&"x".repeat(4000))), STREAM).await;
    assert!(taken < STREAM);
    let silence = silence(&rig.inflight).await;
    check(&silence, Phase::Decode, Side::Downstream);
    assert!(silence.tokens > 0);
    assert_eq!(rig.inflight.survey(weir_proxy::monotonic(), STALL_AFTER.into()).stalled, 1);
}

/// What waits in the queue waits for a place, and for no side.
#[tokio::test]
async fn the_time_in_the_queue_is_nobodys_silence() {
    let (rig, upstream) = Rig::with(|setup| setup.limit(1, 8)).await;
    let mut busy = rig.client().await;
    busy.ask(r#"{"model":"m"}"#).await;
    let (mut engine, _) = upstream.asked().await;
    let mut queued = rig.client().await;
    queued.ask(r#"{"model":"queued"}"#).await;
    until(|| rig.global().queued.load(Relaxed) == 1).await;
    tokio::time::sleep(3 * STALL_AFTER).await;
    let survey = || rig.inflight.survey(weir_proxy::monotonic(), STALL_AFTER.into());
    let told = survey();
    assert_eq!((told.phases, told.silent.len()), ([1, 1, 0, 0], 1));
    check(&told.silent[0], Phase::Waiting, Side::Upstream);

    engine.send(response("200 OK", "", "{}")).await;
    busy.response().await;
    until(|| survey().silent.len() == 1).await;
    let silence = survey().silent.pop().unwrap();
    assert_eq!((silence.model.as_deref(), silence.phase), (Some("queued"), Phase::Waiting));
    let in_queue = silence.age.0 - silence.length.0;
    assert!(Offset(in_queue) >= (3 * STALL_AFTER).into(), "{silence:?}");
}

/// First before its response head, then before its first token, then in mid-stream.
#[tokio::test]
async fn an_engine_that_says_nothing_is_silent_in_every_phase() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    check(&silence(&rig.inflight).await, Phase::Waiting, Side::Upstream);

    engine.send(stream_head()).await;
    client.response_head().await;
    check(&silence(&rig.inflight).await, Phase::Prefill, Side::Upstream);

    let events = [content("a"), content("b")].concat();
    engine.send(chunk(&events)).await;
    client.body_of(events.len()).await;
    let silence = silence(&rig.inflight).await;
    check(&silence, Phase::Decode, Side::Upstream);
    assert_eq!(silence.tokens, 2);
}
