//! `Expect: 100-continue`, preflights and interim answers.

use std::sync::atomic::Ordering::Relaxed;

use crate::harness::{Rig, pattern, request, response};

const LARGE: usize = 5 << 20;

/// The head of a large POST that waits for leave to send its body.
fn head(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {LARGE}\r\n\r\n")
}

#[tokio::test]
async fn a_client_that_waits_for_leave_gets_it_and_its_body_passes() {
    for path in ["/v1/chat/completions", "/v1/files"] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        client.send(head(path)).await;
        // An upstream that says nothing until it has the body, as most do.
        let upstream = async {
            let (mut engine, asked) = upstream.asked().await;
            engine.send(response("200 OK", "", "done")).await;
            asked
        };
        let client = async {
            assert_eq!(client.response_head().await.status(), 100);
            client.send(pattern(0, LARGE)).await;
            client.response().await
        };
        let (asked, answer) = tokio::join!(upstream, client);
        assert!(asked.body == pattern(0, LARGE));
        assert_eq!((answer.status(), answer.body.as_slice()), (200, &b"done"[..]));
        let record = rig.record().await;
        assert_eq!((record.status, record.outcome.as_str()), (Some(200), "completed"));
    }
}

/// The client gets one 100, be it the upstream's or Weir's, and then the answer.
#[tokio::test]
async fn an_interim_answer_is_neither_the_answer_nor_its_first_byte() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask(r#"{"stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send("HTTP/1.1 100 Continue\r\n\r\n").await;
    engine.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n").await;
    engine.send(response("200 OK", "Content-Type: application/json\r\n", "{}")).await;
    let mut head = client.response_head().await;
    while head.status() < 200 {
        head = client.response_head().await;
    }
    assert_eq!(head.status(), 200);
    assert!(client.body_to_end().await);
    let record = rig.record().await;
    assert_eq!((record.status, record.answer.bytes), (Some(200), 2));
}

/// Refused without the body.
#[tokio::test]
async fn an_upstream_that_refuses_at_once_is_heard_before_the_body() {
    for path in ["/v1/files", "/v1/chat/completions"] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        let begun = 128 * 1024;
        client.send(format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {LARGE}\r\n\r\n")).await;
        client.send(pattern(0, begun)).await;
        let mut engine = upstream.accept().await;
        engine.request_head().await;
        engine.send(response("401 Unauthorized", "Connection: close\r\n", "no")).await;
        let answer = client.response().await;
        assert_eq!((answer.status(), answer.body.as_slice()), (401, &b"no"[..]), "{path}");
        let record = rig.record().await;
        assert_eq!((record.status, record.outcome.as_str()), (Some(401), "upstream_error"));
    }
}

/// The client waits for leave, and hears the refusal instead.
#[tokio::test]
async fn a_client_that_waits_for_leave_hears_a_refusal_at_once() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(head("/v1/files")).await;
    let mut engine = upstream.accept().await;
    engine.request_head().await;
    engine.send(response("401 Unauthorized", "Connection: close\r\n", "no")).await;
    let mut head = client.response_head().await;
    while head.status() == 100 {
        head = client.response_head().await;
    }
    assert_eq!(head.status(), 401);
    assert!(client.body_to_end().await);
    assert_eq!(rig.record().await.status, Some(401));
}

#[tokio::test]
async fn a_preflight_passes_while_every_place_is_taken() {
    let (mut rig, upstream) = Rig::with(|setup| setup.limit(1, 0)).await;
    let mut busy = rig.client().await;
    busy.ask("{}").await;
    let (_engine, _) = upstream.asked().await;
    assert_eq!(rig.global().in_flight.load(Relaxed), 1);

    let mut client = rig.client().await;
    let headers = "Origin: http://x\r\nAccess-Control-Request-Headers: authorization\r\n";
    client.send(request("OPTIONS /v1/chat/completions", headers, "")).await;
    let (mut engine, asked) = upstream.asked().await;
    assert_eq!(asked.head.header("access-control-request-headers"), Some("authorization"));
    engine.send("HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\n\r\n").await;
    let head = client.response_head().await;
    assert_eq!((head.status(), head.header("access-control-allow-origin")), (204, Some("*")));
    let record = rig.record().await;
    assert_eq!((record.request.dialect.as_str(), record.outcome.as_str()), ("other", "completed"));
    assert_eq!(rig.global().arrivals.load(Relaxed), 1, "it knocks at no lane");
}
