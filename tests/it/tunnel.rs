//! Upgrades: a WebSocket handshake, and whatever else an engine switches to, becomes a tunnel.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::harness::play::verdict;
use crate::harness::{Close, Rig, Upstream, Wire, guarded, request, response, until};

const ASK: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

async fn asked(rig: &Rig, upstream: &Upstream) -> (Wire, Wire) {
    let mut client = rig.client().await;
    client.send(request("GET /v1/realtime?model=m", ASK, "")).await;
    let (engine, request) = upstream.asked().await;
    assert_eq!(request.head.header("connection"), Some("Upgrade"));
    assert_eq!(request.head.header("upgrade"), Some("websocket"));
    assert_eq!(request.head.header("sec-websocket-key"), Some("dGhlIHNhbXBsZSBub25jZQ=="));
    (client, engine)
}

async fn switched(rig: &Rig, upstream: &Upstream) -> (Wire, Wire) {
    let (mut client, mut engine) = asked(rig, upstream).await;
    engine.send(SWITCH).await;
    let head = client.maybe_head().await.unwrap();
    assert_eq!(head.status(), 101);
    assert_eq!(head.header("upgrade"), Some("websocket"));
    assert_eq!(head.header("connection"), Some("Upgrade"));
    assert_eq!(head.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    (client, engine)
}

async fn read(wire: &mut Wire, expected: &[u8]) {
    let at = wire.raw.len();
    while wire.raw.len() < at + expected.len() {
        assert!(wire.more().await);
    }
    assert_eq!(&wire.raw[at..], expected);
}

#[tokio::test]
async fn bytes_pass_both_ways_and_are_counted() {
    let (mut rig, upstream) = Rig::start().await;
    let (mut client, mut engine) = switched(&rig, &upstream).await;
    client.send(b"\x81\x85mask hello").await;
    read(&mut engine, b"\x81\x85mask hello").await;
    engine.send(b"\x81\x05world").await;
    read(&mut client, b"\x81\x05world").await;
    // It is none of HTTP's business what passes, even if it looks like it.
    client.send("GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    engine.more().await;
    assert_eq!(rig.tally.connections_open.load(Relaxed), 1);
    assert!(rig.has_no_record(), "it runs");
    drop(engine);
    assert_eq!(client.closed().await, Close::Fin);
    drop(client);
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("upgraded", None));
    assert_eq!((record.status, record.answer.bytes), (Some(101), 7));
    assert_eq!(record.request.bytes, 12 + 65);
    assert_eq!(record.request.path.as_ref(), "/v1/realtime");
    until(|| rig.tally.connections_open.load(Relaxed) == 0).await;
}

#[tokio::test]
async fn a_client_that_leaves_closes_the_engine_s_end() {
    let (mut rig, upstream) = Rig::start().await;
    let (client, mut engine) = switched(&rig, &upstream).await;
    drop(client);
    engine.closed_soon().await;
    drop(engine);
    assert_eq!(verdict(&rig.record().await), ("upgraded", None));
}

#[tokio::test]
async fn what_an_engine_says_along_with_the_switch_is_not_lost() {
    let (rig, upstream) = Rig::start().await;
    let (mut client, mut engine) = asked(&rig, &upstream).await;
    engine.send(format!("{SWITCH}first words")).await;
    assert_eq!(client.maybe_head().await.unwrap().status(), 101);
    while !client.raw.ends_with(b"first words") {
        assert!(client.more().await);
    }
}

#[tokio::test]
async fn an_engine_may_decline() {
    let (mut rig, upstream) = Rig::start().await;
    let (mut client, mut engine) = asked(&rig, &upstream).await;
    engine.send(response("426 Upgrade Required", "", "no")).await;
    let answer = client.response().await;
    assert_eq!((answer.status(), &answer.body[..]), (426, &b"no"[..]));
    assert_eq!(rig.record().await.outcome.as_str(), "upstream_error");
    // The connection goes on as before.
    client.ask("{}").await;
    let request = engine.request().await;
    assert_eq!(request.body, b"{}");
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
}

#[tokio::test]
async fn a_switch_that_nobody_asked_for_is_an_error() {
    let plain = request("GET /v1/models", "", "");
    let http2 = request("GET /v1/models", "Connection: Upgrade\r\nUpgrade: h2c\r\n", "");
    let other = request("GET /v1/models", "Connection: Upgrade\r\nUpgrade: other\r\n", "");
    let unlisted = request("GET /v1/models", "Upgrade: websocket\r\n", "");
    for ask in [plain, http2, other, unlisted] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        client.send(&ask).await;
        let (mut engine, _) = upstream.asked().await;
        engine.send(SWITCH).await;
        let answer = client.response().await;
        assert_eq!(answer.status(), 502);
        assert_eq!(answer.head.header("weir-error"), Some("upstream_reset"));
        assert_eq!(verdict(&rig.record().await), ("upstream_unreachable", Some("upstream_reset")));
        engine.closed_soon().await;
    }
}

#[tokio::test]
async fn silence_both_ways_ends_it() {
    let idle = Duration::from_millis(100);
    let (mut rig, upstream) = Rig::with(|setup| setup.config.timeouts.idle = idle).await;
    let (mut client, mut engine) = switched(&rig, &upstream).await;
    for _ in 0..5 {
        tokio::time::sleep(idle / 2).await;
        client.send("x").await;
    }
    assert!(rig.has_no_record(), "something passed");
    engine.closed_soon().await;
    client.closed_soon().await;
    assert_eq!(verdict(&rig.record().await), ("upgraded", Some("upstream_timeout_idle")));
}

#[tokio::test]
async fn a_shutdown_waits_for_it_and_then_cuts_it() {
    let (mut rig, upstream) = Rig::start().await;
    let (mut client, mut engine) = switched(&rig, &upstream).await;
    assert!(!guarded(rig.drain.finish(Duration::from_millis(50))).await);
    assert!(matches!(client.closed().await, Close::Fin | Close::Reset));
    engine.closed_soon().await;
    assert_eq!(verdict(&rig.record().await), ("upgraded", Some("proxy_shutdown")));
}

/// Each direction ends by itself.
#[tokio::test]
async fn one_end_may_have_said_all_while_the_other_goes_on() {
    let (mut rig, upstream) = Rig::start().await;
    let (client, mut engine) = switched(&rig, &upstream).await;
    let mut client = client.into_stream();
    tokio::io::AsyncWriteExt::write_all(&mut client, b"last words").await.unwrap();
    tokio::io::AsyncWriteExt::shutdown(&mut client).await.unwrap();
    read(&mut engine, b"last words").await;
    assert_eq!(engine.closed().await, Close::Fin);
    engine.send("and the answer").await;
    drop(engine);
    let mut came = Vec::new();
    guarded(tokio::io::AsyncReadExt::read_to_end(&mut client, &mut came)).await.unwrap();
    assert_eq!(came, b"and the answer");
    assert_eq!(verdict(&rig.record().await), ("upgraded", None));
}

/// A tunnel keeps its place: clients beyond the bound wait for one to end.
#[tokio::test]
async fn tunnels_count_as_connections() {
    let (rig, upstream) = Rig::with(|setup| setup.config.listen.max_connections = 2).await;
    let (first, first_engine) = switched(&rig, &upstream).await;
    let (_second, _other) = switched(&rig, &upstream).await;
    let mut third = rig.client().await;
    third.send(request("GET /v1/models", "", "")).await;
    assert!(upstream.is_untouched().await);
    drop((first, first_engine));
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(third.response().await.status(), 200);
}

#[tokio::test]
async fn http_1_0_and_requests_with_a_body_switch_to_nothing() {
    for ask in [
        format!("GET /v1/realtime HTTP/1.0\r\nHost: a\r\n{ASK}\r\n").into_bytes(),
        request("POST /v1/realtime", ASK, "body"),
    ] {
        let (rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        client.send(&ask).await;
        let (mut engine, request) = upstream.asked().await;
        assert_eq!(request.head.header("upgrade"), None);
        engine.send(response("200 OK", "", "{}")).await;
        assert_eq!(client.response().await.status(), 200);
    }
}
