//! Connections to the upstream that are kept between requests.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::harness::message::chunked_head;
use crate::harness::play::verdict;
use crate::harness::upstream::Reply;
use crate::harness::{LAST_CHUNK, Rig, chunk, request, response, until};

/// An upstream that closes after each answer without having said so. It has closed before the
/// client asks again: what crosses on the wire nobody can know.
async fn never_an_error(rig: Rig, upstream: crate::harness::Upstream) {
    let served = upstream.serve(|_| Reply { bytes: response("200 OK", "", "{}"), closes: true });
    let mut client = rig.client().await;
    for asked in 1..=200 {
        client.ask("{}").await;
        assert_eq!(client.response().await.status(), 200, "request {asked}");
        assert_eq!(served.requests(), asked, "no request is sent twice");
        served.is_left().await;
    }
}

#[tokio::test]
async fn closed_after_each_answer_without_a_word() {
    let (rig, upstream) = Rig::start().await;
    never_an_error(rig, upstream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_on_several_threads() {
    let (rig, upstream) = Rig::start().await;
    never_an_error(rig, upstream).await;
}

/// The request was on its way when the connection died. It may have been processed.
#[tokio::test]
async fn a_request_that_was_written_is_not_written_again() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    client.response().await;
    rig.record().await;

    client.ask(r#"{"model":"m"}"#).await;
    engine.request().await;
    drop(engine);
    let answer = client.response().await;
    assert_eq!((answer.status(), answer.head.header("weir-error")), (502, Some("upstream_reset")));
    assert_eq!(verdict(&rig.record().await), ("upstream_unreachable", Some("upstream_reset")));
    assert!(upstream.is_untouched().await);
    assert_eq!(rig.tally.upstream_retries.load(Relaxed), 0);
}

/// An upstream that lets go of a connection just when it is used again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_just_when_it_is_used_again() {
    const IDLE: Duration = Duration::from_millis(4);
    let (rig, upstream) = Rig::start().await;
    let served = upstream.serve_idle(IDLE, |_| response("200 OK", "", "{}").into());
    let mut client = rig.client().await;
    let mut lost = 0;
    for round in 0..200 {
        client.ask("{}").await;
        let answer = client.response().await;
        if answer.status() != 200 {
            assert_eq!((answer.status(), answer.head.header("weir-error")), (502, Some("upstream_reset")));
            lost += 1;
        }
        assert!(served.requests() <= round + 1, "no request is sent twice");
        tokio::time::sleep(IDLE.mul_f64(0.9 + f64::from(round as u32 % 5) * 0.05)).await;
    }
    eprintln!("{lost} of 200 met the end of their connection");
}

/// One that dies while nobody uses it is not used.
#[tokio::test]
async fn a_connection_that_died_unused_is_replaced() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    for reset in [false, true] {
        client.ask("{}").await;
        let (mut engine, _) = upstream.asked().await;
        engine.send(response("200 OK", "", "{}")).await;
        client.response().await;
        if reset {
            engine.reset();
        } else {
            drop(engine);
        }
    }
    client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
}

#[tokio::test]
async fn one_that_is_closed_by_its_own_word_is_not_kept() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    for _ in 0..3 {
        client.ask("{}").await;
        let (mut engine, _) = upstream.asked().await;
        engine.send(response("200 OK", "Connection: close\r\n", "{}")).await;
        client.response().await;
        engine.closed_soon().await;
    }
}

#[tokio::test]
async fn one_that_was_not_used_for_long_is_let_go() {
    let (rig, upstream) =
        Rig::with(|setup| setup.config.upstream.idle_timeout = Duration::from_millis(50)).await;
    let served = upstream.serve(|_| response("200 OK", "", "{}").into());
    let mut client = rig.client().await;
    for _ in 0..2 {
        client.ask("{}").await;
        assert_eq!(client.response().await.status(), 200);
        tokio::time::sleep(Duration::from_millis(80)).await;
    }
    assert_eq!(served.connections(), 2);
}

#[tokio::test]
async fn no_more_are_kept_than_may_be() {
    let (rig, upstream) = Rig::with(|setup| setup.config.upstream.max_idle = 1).await;
    let mut pairs = Vec::new();
    for _ in 0..3 {
        let mut client = rig.client().await;
        client.ask("{}").await;
        let (engine, _) = upstream.asked().await;
        pairs.push((client, engine));
    }
    for (client, engine) in &mut pairs {
        engine.send(response("200 OK", "", "{}")).await;
        client.response().await;
    }
    let (_, mut last) = pairs.pop().unwrap();
    for (_, engine) in &mut pairs {
        engine.closed_soon().await;
    }
    let mut client = rig.client().await;
    client.ask("{}").await;
    last.request().await;
}

/// A pool is not filled with what others left unread.
#[tokio::test]
async fn answers_are_never_mixed_up() {
    let (rig, upstream) = Rig::start().await;
    let served = upstream.serve(|asked| response("200 OK", "", asked.head.target()).into());
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..8 {
        let address = rig.address;
        clients.spawn(async move {
            let mut client = crate::harness::Wire::connect(address).await;
            for round in 0..50 {
                let path = format!("/{number}/{round}");
                client.send(request(&format!("GET {path}"), "", "")).await;
                assert_eq!(client.response().await.body, path.as_bytes());
            }
        });
    }
    clients.join_all().await;
    assert_eq!(served.requests(), 400);
    assert!(served.connections() <= 8, "{} connections", served.connections());
    drop(rig);
    served.is_left().await;
}

/// What the upstream says without having been asked is nobody's answer.
#[tokio::test]
async fn an_answer_that_nobody_asked_for_reaches_nobody() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    let mut two = response("200 OK", "", "one");
    two.extend_from_slice(&response("200 OK", "", "two"));
    engine.send(two).await;
    assert_eq!(client.response().await.body, b"one");
    engine.closed_soon().await;
    client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "three")).await;
    assert_eq!(client.response().await.body, b"three");
    until(|| rig.inflight.is_empty()).await;
}

/// An answer in chunks, the last of them included.
fn chunked() -> Vec<u8> {
    [chunked_head("200 OK", ""), chunk("{}"), LAST_CHUNK.to_vec()].concat()
}

/// A server that ends its connections behind answers in chunks, without a word, as llama.cpp's does. Once
/// that was seen, a connection is not used right behind such an answer, where a request could meet the
/// closing; behind others it is.
#[tokio::test]
async fn who_closes_behind_answers_is_not_asked_right_behind_one() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask("{}").await;
    let (mut closing, _) = upstream.asked().await;
    closing.send(chunked()).await;
    client.response().await;
    drop(closing);

    // The second request finds the first connection closed.
    client.ask("{}").await;
    let (mut second, _) = upstream.asked().await;
    second.send(chunked()).await;
    client.response().await;

    // The second connection is open, and it was open before.
    client.ask("{}").await;
    let (mut third, _) = upstream.asked().await;
    third.send(response("200 OK", "", "{}")).await;
    client.response().await;

    // An answer with a length was never followed by a closing.
    client.ask("{}").await;
    third.request().await;
    third.send(chunked()).await;
    client.response().await;

    // What stayed open for a while may be used again, and shows that there is nothing to fear.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    client.ask("{}").await;
    third.request().await;
    third.send(chunked()).await;
    client.response().await;
    client.ask("{}").await;
    third.request().await;
    third.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
    assert!(upstream.is_untouched().await);
}

/// The same server, asked as fast as can be, closes some time after each answer: at most the first
/// request meets that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_closes_a_little_later_is_met_once_at_most() {
    let (mut rig, upstream) = Rig::start().await;
    let served = upstream.serve_idle(Duration::from_millis(2), |_| chunked().into());
    let mut client = rig.client().await;
    let mut lost = 0;
    for _ in 0..100 {
        client.ask("{}").await;
        lost += usize::from(client.response().await.status() != 200);
        rig.record().await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(lost <= 1, "{lost} of 100 met the end of their connection");
    assert!(served.connections() > 50);
}
