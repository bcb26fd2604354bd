//! A client that does not read: the upstream is slowed, little is held, and the pause is the client's.

use std::time::Duration;

use crate::harness::message::stream_head;
use crate::harness::play::verdict;
use crate::harness::sse::{DONE, content, finish, three_tokens};
use crate::harness::{LAST_CHUNK, Rig, Upstream, Wire, chunk};

/// What the kernel and the proxy may hold of one stream.
const HELD: usize = 16 << 20;

const STREAM: usize = 200 << 20;

const PAUSE: Duration = Duration::from_millis(300);

/// A client that asked and reads nothing, and its upstream.
struct Unread {
    client: Wire,
    engine: Wire,
    /// The event that the upstream writes again and again.
    event: String,
    /// How many bytes of it were taken.
    taken: usize,
}

/// Streams to a client that does not read until nothing is taken for a while.
async fn unread(rig: &Rig, upstream: &Upstream) -> Unread {
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    let event = content(&"x".repeat(4000));
    let taken = engine.send_until_held(&chunk(&event), STREAM).await;
    assert!(taken < HELD, "{taken} bytes were taken though nobody read them");
    Unread { client, engine, event, taken }
}

#[tokio::test]
async fn the_upstream_is_slowed_and_the_pause_is_the_clients() {
    let (mut rig, upstream) =
        Rig::with(|setup| setup.config.watch.stall_after = Duration::from_secs(5).into()).await;
    let Unread { mut client, mut engine, event, taken } = unread(&rig, &upstream).await;
    // All that could flow has long come to rest: from here on the pause is known.
    tokio::time::sleep(PAUSE).await;
    let framed = chunk(&event);
    let events = taken.div_ceil(framed.len());
    let end = [finish("stop"), DONE.to_owned()].concat();
    let write = async {
        engine.send(&framed[taken - (events - 1) * framed.len()..]).await;
        engine.send(chunk(&end)).await;
        engine.send(LAST_CHUNK).await;
    };
    let read = async {
        client.response_head().await;
        assert!(client.body_to_end().await);
    };
    tokio::join!(write, read);
    assert!(*client.body() == (event.repeat(events) + &end).into_bytes());

    let record = rig.record().await;
    assert_eq!(verdict(&record), ("completed", None));
    let output = record.answer.output.unwrap();
    assert_eq!(output.chunks, events as u64);
    // The pause lies between two frames: it is the client's, and no gap of the engine's.
    assert!(output.downstream_stalls.count >= 1, "{:?}", output.downstream_stalls);
    let longest = output.downstream_stalls.longest;
    assert!(longest >= PAUSE.into(), "{longest:?}");
    assert_eq!(output.upstream_stalls.count, 0);
    let gaps = output.all_gaps.unwrap();
    assert!(gaps.len() < events - 1, "what lay ready has no gap");
    assert!(gaps.iter().all(|gap| *gap < longest), "a gap as long as the client's pause");
}

/// Other streams go on meanwhile, and the upstream hears of it when the client leaves.
#[tokio::test]
async fn other_streams_go_on_and_leaving_ends_it() {
    let (mut rig, upstream) = Rig::start().await;
    let mut unread = unread(&rig, &upstream).await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"other","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    client.response_head().await;
    let mut length = 0;
    for event in three_tokens() {
        length += event.len();
        engine.send(chunk(event)).await;
        client.body_of(length).await;
    }
    engine.send(LAST_CHUNK).await;
    assert_eq!(rig.record().await.request.model.as_deref(), Some("other"));

    drop(unread.client);
    unread.engine.closed_soon().await;
    let record = rig.record().await;
    assert_eq!(record.outcome.as_str(), "client_gone_mid_stream");
    assert!(record.answer.bytes < HELD as u64);
}

/// An upstream that pauses is not a client that does.
#[tokio::test]
async fn a_pause_of_the_upstream_is_the_upstreams() {
    let (mut rig, upstream) =
        Rig::with(|setup| setup.config.watch.stall_after = Duration::from_millis(100).into()).await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    client.response_head().await;
    engine.send(chunk(content("a"))).await;
    client.body_of(content("a").len()).await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    engine.send(chunk([content("b"), finish("stop"), DONE.to_owned()].concat())).await;
    engine.send(LAST_CHUNK).await;
    assert!(client.body_to_end().await);
    let output = rig.record().await.answer.output.unwrap();
    assert_eq!((output.upstream_stalls.count, output.downstream_stalls.count), (1, 0));
    assert_eq!(output.upstream_stalls.longest, output.all_gaps.unwrap()[0]);
    assert!(output.upstream_stalls.total >= Duration::from_millis(140).into());
}
