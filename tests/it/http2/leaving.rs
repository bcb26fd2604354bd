//! Clients of HTTP/2 that leave: a stream is reset, or the whole connection is gone.

use std::sync::atomic::Ordering::Relaxed;

use crate::harness::http2::{Asked2, Client2, reset2, stream2};
use crate::harness::message::stream_head;
use crate::harness::play::verdict;
use crate::harness::sse::{DONE, content, finish, role};
use crate::harness::{LAST_CHUNK, Rig, Upstream, chunk, response, until};

const BEFORE: (&str, Option<&str>) =
    ("client_gone_before_first_token", Some("client_disconnect_before_first_token"));
const MIDWAY: (&str, Option<&str>) = ("client_gone_mid_stream", Some("client_disconnect_mid_stream"));

async fn asking(rig: &Rig) -> (Client2, Asked2) {
    let mut client = rig.http2_client().await;
    let asked = client.ask(r#"{"model":"m","stream":true}"#).await;
    (client, asked)
}

/// Asks and is answered on the same connection.
async fn still_works(rig: &mut Rig, client: &mut Client2, upstream: &Upstream) {
    assert_eq!(rig.global().in_flight.load(Relaxed), 0);
    let asked = client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(asked.answer().await.status(), 200);
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
}

#[tokio::test]
async fn in_prefill() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 8)).await;
    let (mut client, asked) = asking(&rig).await;
    let (mut engine, _) = upstream.asked().await;
    asked.reset();
    engine.closed_soon().await;
    assert_eq!(verdict(&rig.record().await), BEFORE);
    still_works(&mut rig, &mut client, &upstream).await;
}

#[tokio::test]
async fn in_mid_stream() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 8)).await;
    let (mut client, asked) = asking(&rig).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    engine.send(chunk(content("a"))).await;
    let mut answer = asked.answer().await;
    answer.body_of(content("a").len()).await;
    answer.reset();
    engine.closed_soon().await;
    assert_eq!(verdict(&rig.record().await), MIDWAY);
    still_works(&mut rig, &mut client, &upstream).await;
}

#[tokio::test]
async fn while_queued() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 8)).await;
    let (mut client, busy) = asking(&rig).await;
    let (mut engine, _) = upstream.asked().await;
    let lane = rig.global();
    let queued = client.ask(r#"{"model":"queued"}"#).await;
    until(|| lane.queued.load(Relaxed) == 1).await;
    queued.reset();
    until(|| lane.queued.load(Relaxed) == 0).await;
    let record = rig.record().await;
    assert_eq!((verdict(&record), record.request.model.as_deref()), (BEFORE, Some("queued")));
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(busy.answer().await.status(), 200);
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
    let asked = client.ask("{}").await;
    engine.request().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(asked.answer().await.status(), 200);
}

#[tokio::test]
async fn with_all_it_needs() {
    let (mut rig, upstream) = Rig::start().await;
    let (_client, asked) = asking(&rig).await;
    let (mut engine, _) = upstream.asked().await;
    let sent = [role(), content("a"), finish("stop"), DONE.to_owned()].concat();
    engine.send(stream_head()).await;
    engine.send(chunk(&sent)).await;
    let mut answer = asked.answer().await;
    answer.body_of(sent.len()).await;
    answer.reset();
    assert_eq!(verdict(&rig.record().await), ("completed", None));
    engine.send(LAST_CHUNK).await;
}

#[tokio::test]
async fn all_at_once_with_their_connection() {
    let (mut rig, upstream) = Rig::start().await;
    let (mut client, first) = asking(&rig).await;
    let (mut engine, _) = upstream.asked().await;
    let second = client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut other, _) = upstream.asked().await;
    drop((first, second, client));
    engine.closed_soon().await;
    other.closed_soon().await;
    for _ in 0..2 {
        assert_eq!(verdict(&rig.record().await), BEFORE);
    }
    until(|| rig.tally.connections_open.load(Relaxed) == 0).await;
}

/// The upstream's stream is reset, and nothing else on its connection.
#[tokio::test]
async fn an_upstream_of_http_2_is_told_by_a_reset() {
    for http2_client in [false, true] {
        let (mut rig, upstream) = Rig::with(|setup| setup.http2_upstream()).await;
        let mut stays = rig.client().await;
        stays.ask(r#"{"model":"stays","stream":true}"#).await;
        let mut engine = upstream.accept2().await;
        let (_, mut respond) = engine.asked().await;
        let mut stayed = stream2(&mut respond);

        for begun in [false, true] {
            let mut wire = rig.client().await;
            let mut multiplexed = rig.http2_client().await;
            let mut asked = None;
            if http2_client {
                asked = Some(multiplexed.ask(r#"{"model":"leaves","stream":true}"#).await);
            } else {
                wire.ask(r#"{"model":"leaves","stream":true}"#).await;
            }
            let (_, mut respond) = engine.asked().await;
            let mut left = begun.then(|| stream2(&mut respond));
            if let Some(left) = &mut left {
                left.send_data(content("a").into(), false).unwrap();
                match asked.take() {
                    Some(asked) => {
                        let mut answer = asked.answer().await;
                        answer.body_of(content("a").len()).await;
                        answer.reset();
                    }
                    None => {
                        wire.response_head().await;
                        wire.body_of(content("a").len()).await;
                    }
                }
            }
            drop((asked, multiplexed, wire));
            let reason = match &mut left {
                Some(left) => reset2(left).await,
                None => {
                    crate::harness::guarded(std::future::poll_fn(|cx| respond.poll_reset(cx))).await.unwrap()
                }
            };
            assert_eq!(reason, h2::Reason::CANCEL);
            assert_eq!(verdict(&rig.record().await), if begun { MIDWAY } else { BEFORE });
        }

        let sent = [content("a"), finish("stop"), DONE.to_owned()].concat();
        stayed.send_data(sent.clone().into(), true).unwrap();
        stays.response_head().await;
        assert!(stays.body_to_end().await);
        assert_eq!(*stays.body(), sent.as_bytes());
        assert_eq!(verdict(&rig.record().await), ("completed", None));
        assert_eq!(rig.tally.upstream_connects.load(Relaxed), 1);
    }
}
