//! Clients that leave: their upstream is told at once, their place is free at once, and it is no
//! fault of anybody's.

use std::sync::atomic::Ordering::Relaxed;

use weir_core::timeline::Mark;
use weir_load::engine::{Behaviour, Engine, EngineConfig};

use crate::harness::message::stream_head;
use crate::harness::play::verdict;
use crate::harness::sse::{DONE, content, finish, role, three_tokens, usage};
use crate::harness::{LAST_CHUNK, Rig, Upstream, Wire, chunk, response, until};

const BEFORE: (&str, Option<&str>) =
    ("client_gone_before_first_token", Some("client_disconnect_before_first_token"));
const MIDWAY: (&str, Option<&str>) = ("client_gone_mid_stream", Some("client_disconnect_mid_stream"));

/// How a client leaves.
#[derive(Clone, Copy, Debug)]
enum Leave {
    Fin,
    Reset,
}

impl Leave {
    const BOTH: [Leave; 2] = [Leave::Fin, Leave::Reset];

    fn with(self, client: Wire) {
        match self {
            Leave::Fin => drop(client),
            Leave::Reset => client.reset(),
        }
    }
}

/// One place, so that one that was not given back would be missed.
async fn one_place() -> (Rig, Upstream) {
    Rig::with(|setup| setup.limit(1, 8)).await
}

/// A stream whose head has come to the client.
async fn begun_stream() -> (Rig, Upstream, Wire, Wire) {
    let (rig, upstream) = one_place().await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m","stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    client.response_head().await;
    (rig, upstream, client, engine)
}

/// A request was answered: the place is free.
async fn place_is_free(rig: &mut Rig, upstream: &Upstream) {
    assert_eq!(rig.global().in_flight.load(Relaxed), 0);
    let mut client = rig.client().await;
    client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
}

#[tokio::test]
async fn while_queued() {
    for leave in Leave::BOTH {
        let (mut rig, upstream) = one_place().await;
        let mut busy = rig.client().await;
        busy.ask(r#"{"model":"busy"}"#).await;
        let (mut engine, _) = upstream.asked().await;
        let lane = rig.global();
        let mut queued = Vec::new();
        for place in 1..=5 {
            let mut client = rig.client().await;
            client.ask(r#"{"model":"queued"}"#).await;
            until(|| lane.queued.load(Relaxed) == place).await;
            queued.push(client);
        }
        let mut last = queued.pop().unwrap();
        for client in queued {
            leave.with(client);
            let record = rig.record().await;
            assert_eq!((verdict(&record), record.status), (BEFORE, None), "{leave:?}");
            assert!(record.timeline.at(Mark::Queued).is_some());
            assert_eq!(record.timeline.at(Mark::Admitted), None);
        }
        assert_eq!((lane.queued.load(Relaxed), lane.abandoned.load(Relaxed)), (1, 4));
        engine.send(response("200 OK", "", "{}")).await;
        busy.response().await;
        assert_eq!(
            engine.request().await.body,
            br#"{"model":"queued"}"#,
            "the one that stayed, and no other"
        );
        engine.send(response("200 OK", "", "{}")).await;
        last.response().await;
        assert!(engine.is_quiet().await && upstream.is_untouched().await);
    }
}

#[tokio::test]
async fn before_the_response_head() {
    for leave in Leave::BOTH {
        for body in [r#"{"model":"m","stream":true}"#, r#"{"model":"m"}"#] {
            let (mut rig, upstream) = one_place().await;
            let mut client = rig.client().await;
            client.ask(body).await;
            let (mut engine, _) = upstream.asked().await;
            leave.with(client);
            eprintln!("closed after {:?}", engine.closed_soon().await);
            let record = rig.record().await;
            assert_eq!((verdict(&record), record.status), (BEFORE, None));
            assert_eq!(record.timeline.at(Mark::ResponseHead), None);
            place_is_free(&mut rig, &upstream).await;
        }
    }
}

#[tokio::test]
async fn before_the_first_token() {
    for leave in Leave::BOTH {
        for said in [String::new(), ": processing\n\n".to_owned(), role()] {
            let (mut rig, upstream, mut client, mut engine) = begun_stream().await;
            if !said.is_empty() {
                engine.send(chunk(&said)).await;
                client.body_of(said.len()).await;
            }
            leave.with(client);
            eprintln!("closed after {:?}", engine.closed_soon().await);
            let record = rig.record().await;
            assert_eq!((verdict(&record), record.status), (BEFORE, Some(200)), "{leave:?} {said}");
            assert_eq!((record.timeline.ttft(), record.answer.tokens), (None, None));
            place_is_free(&mut rig, &upstream).await;
        }
    }
}

#[tokio::test]
async fn in_mid_stream() {
    for leave in Leave::BOTH {
        let (mut rig, upstream, mut client, mut engine) = begun_stream().await;
        let mut length = 0;
        for event in [role(), content("a"), content("b")] {
            length += event.len();
            engine.send(chunk(event)).await;
            client.body_of(length).await;
        }
        leave.with(client);
        eprintln!("closed after {:?}", engine.closed_soon().await);
        let record = rig.record().await;
        assert_eq!((verdict(&record), record.status), (MIDWAY, Some(200)));
        assert_eq!(record.answer.tokens.map(|tokens| tokens.count), Some(2));
        assert_eq!(record.answer.bytes, length as u64);
        place_is_free(&mut rig, &upstream).await;
    }
}

/// In the middle of an answer that is no stream.
#[tokio::test]
async fn in_the_middle_of_a_document() {
    let (mut rig, upstream) = one_place().await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m"}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine
        .send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":1")
        .await;
    client.response_head().await;
    client.body_of(7).await;
    drop(client);
    engine.closed_soon().await;
    assert_eq!(verdict(&rig.record().await), BEFORE);
    place_is_free(&mut rig, &upstream).await;
}

/// Plays `said` to a client that leaves then; `rest` comes later and completes the answer.
async fn satisfied(leave: Leave, said: &[String], rest: &[String]) {
    let (mut rig, _upstream, mut client, mut engine) = begun_stream().await;
    engine.send(chunk(said.concat())).await;
    client.body_of(said.concat().len()).await;
    leave.with(client);
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("completed", None), "{leave:?} after {:?}", said.last());
    assert_eq!(record.answer.finish_reasons.len(), 1);
    assert_eq!(record.answer.tokens.map(|tokens| tokens.count), Some(3));
    assert_eq!(rig.global().in_flight.load(Relaxed), 0, "the place is free before the rest has come");

    for event in rest {
        engine.send(chunk(event)).await;
    }
    engine.send(LAST_CHUNK).await;
    let drained = &rig.tally.upstream_drained;
    until(|| drained.load(Relaxed) == 1).await;
    let mut client = rig.client().await;
    client.ask("{}").await;
    engine.request().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
    assert_eq!(rig.tally.upstream_connects.load(Relaxed), 1, "the connection served again");
}

#[tokio::test]
async fn after_the_terminal_event() {
    for leave in Leave::BOTH {
        satisfied(leave, &three_tokens(), &[]).await;
    }
}

#[tokio::test]
async fn after_the_finish_reason() {
    for leave in Leave::BOTH {
        let all = three_tokens();
        satisfied(leave, &all[..5], &all[5..]).await;
    }
}

/// What is left of an answer is read within bounds.
#[tokio::test]
async fn after_the_end_of_a_stream_that_goes_on() {
    let (mut rig, upstream, mut client, mut engine) = begun_stream().await;
    let said = [content("a"), finish("stop"), usage(7, 1), DONE.to_owned()].concat();
    engine.send(chunk(&said)).await;
    client.body_of(said.len()).await;
    drop(client);
    assert_eq!(verdict(&rig.record().await), ("completed", None));
    let more = chunk(vec![b'x'; 64 * 1024]);
    while engine.try_send(&more).await.is_ok() {}
    engine.closed_soon().await;
    place_is_free(&mut rig, &upstream).await;
}

/// Whenever they leave, nothing leaks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_any_moment() {
    const ROUNDS: u64 = 250;
    let behaviour =
        Behaviour { ttft: std::time::Duration::from_millis(1), tps: 5000.0, ..Behaviour::default() };
    let config = EngineConfig { behaviour, ..EngineConfig::default() };
    let engine = Engine::bind(config, ([127, 0, 0, 1], 0).into()).await.unwrap();
    let rig = Rig::towards(engine.addr(), |setup| setup.limit(1, 4));
    let mut clients = tokio::task::JoinSet::new();
    for worker in 0..5_u64 {
        let address = rig.address;
        clients.spawn(async move {
            for round in 0..ROUNDS {
                let mut client = Wire::connect(address).await;
                client.ask(r#"{"messages":[],"stream":true,"max_tokens":20}"#).await;
                let patience = std::time::Duration::from_micros((round * 7919 + worker * 104_729) % 12_000);
                let _ = tokio::time::timeout(patience, client.closed()).await;
            }
        });
    }
    clients.join_all().await;
    let lane = rig.global();
    until(|| rig.inflight.is_empty() && lane.in_flight.load(Relaxed) + lane.queued.load(Relaxed) == 0).await;
    let read = |count: &std::sync::atomic::AtomicU64| count.load(Relaxed);
    let left = read(&lane.rejected_full) + read(&lane.timed_out) + read(&lane.abandoned);
    assert_eq!(read(&lane.arrivals), read(&lane.completions) + left);
    assert!(read(&lane.abandoned) > 0 && read(&lane.completions) > 0, "{lane:?}");

    let mut client = rig.client().await;
    client.ask(r#"{"messages":[],"max_tokens":1}"#).await;
    assert_eq!(client.response().await.status(), 200);
    until(|| engine.stats().active == 0).await;
}
