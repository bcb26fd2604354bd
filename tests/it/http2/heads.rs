//! What becomes of heads between HTTP/2 and HTTP/1.1.

use http::Request;

use crate::harness::http2::chat2;
use crate::harness::{Rig, request, response};

#[tokio::test]
async fn a_request_takes_the_form_of_http_1() {
    let (rig, upstream) = Rig::with(|setup| {
        setup.config.headers.forwarded = true;
        setup.config.headers.keep_host = true;
    })
    .await;
    let mut client = rig.http2_client().await;
    let head = Request::post("http://public.test/v1/models/a%2Fb?x=1&y=")
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .header("te", "trailers")
        .header("x-custom", "v")
        .body(())
        .unwrap();
    let asked = client.send(head, "{}").await;
    let (mut engine, request) = upstream.asked().await;
    assert_eq!(request.head.line, "POST /v1/models/a%2Fb?x=1&y= HTTP/1.1");
    assert_eq!(request.head.header("host"), Some("public.test"));
    assert_eq!(request.head.header("x-forwarded-host"), Some("public.test"));
    assert_eq!(request.head.header("cookie"), Some("a=1; b=2"));
    assert_eq!(request.head.header("te"), Some("trailers"));
    assert_eq!(request.head.header("x-custom"), Some("v"));
    assert!(request.head.is_chunked());
    assert_eq!(request.body, b"{}");
    let hop =
        "Connection: X-Hop, close\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n";
    engine.send(response("207 Odd", hop, "{}")).await;
    let mut answer = asked.answer().await;
    answer.end().await.unwrap();
    assert_eq!(answer.status(), 207);
    let mut names: Vec<_> = answer.head.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["content-length", "set-cookie"]);
    assert_eq!(answer.head.headers.get_all("set-cookie").iter().count(), 2);
}

#[tokio::test]
async fn a_get_stays_without_a_body() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let asked = client.send(Request::get("http://weir.test/v1/models").body(()).unwrap(), "").await;
    let (mut engine, request) = upstream.asked().await;
    assert_eq!((request.head.is_chunked(), request.head.length()), (false, None));
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(asked.answer().await.status(), 200);
}

#[tokio::test]
async fn a_request_takes_the_form_of_http_2() {
    let (rig, upstream) = Rig::with(|setup| {
        setup.http2_upstream();
        setup.config.upstream.url = format!("{}/base", setup.config.upstream.url).parse().unwrap();
    })
    .await;
    let mut client = rig.client().await;
    let headers = "Connection: X-Hop\r\nX-Hop: 1\r\nX-Custom: v\r\nTransfer-Encoding: chunked\r\n";
    client
        .send(format!("POST /v1/x?y=1 HTTP/1.1\r\nHost: weir.test\r\n{headers}\r\n2\r\n{{}}\r\n0\r\n\r\n"))
        .await;
    let mut engine = upstream.accept2().await;
    let (request, mut respond) = engine.asked().await;
    let authority = upstream.address().to_string();
    assert_eq!(request.uri().authority().unwrap().as_str(), authority);
    assert_eq!(request.uri().path_and_query().unwrap(), "/base/v1/x?y=1");
    let all: Vec<_> =
        request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    assert_eq!(all, [("x-custom", &b"v"[..])]);
    assert_eq!(request.body(), b"{}");
    let head = http::Response::builder().status(201).header("x-b", "1").body(()).unwrap();
    respond.send_response(head, false).unwrap().send_data("{}".into(), true).unwrap();
    let answer = client.response().await;
    assert_eq!((answer.status(), &answer.body[..]), (201, &b"{}"[..]));
    assert_eq!(answer.head.header("x-b"), Some("1"));
}

#[tokio::test]
async fn two_hosts_or_lengths_are_refused() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let mut other = chat2();
    other.headers_mut().insert("host", "other.test".parse().unwrap());
    let answer = client.send(other, "{}").await.answer().await;
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.head.headers["weir-error"], "client_request");
    assert_eq!(rig.record().await.outcome.as_str(), "refused");
    let mut twice = chat2();
    twice.headers_mut().append("content-length", "2".parse().unwrap());
    twice.headers_mut().append("content-length", "3".parse().unwrap());
    let answered = client.send(twice, "{}").await.try_answer().await;
    assert!(answered.is_err() || answered.is_ok_and(|answer| answer.status() == 400));
    // A length that the frames belie resets the stream.
    let mut lie = chat2();
    lie.headers_mut().insert("content-length", "5".parse().unwrap());
    let answered = client.send(lie, "{}").await.try_answer().await;
    assert!(answered.is_err() || answered.is_ok_and(|answer| answer.status() == 400));
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn an_upgrade_to_http_2_is_never_passed_on() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let headers =
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n";
    client.send(request("GET /v1/models", headers, "")).await;
    let (mut engine, request) = upstream.asked().await;
    for name in ["connection", "upgrade", "http2-settings"] {
        assert_eq!(request.head.header(name), None);
    }
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
}

#[tokio::test]
async fn heads_beyond_bounds_cost_the_client_its_request_alone() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.http2_client().await;
    let mut huge = chat2();
    for index in 0..200 {
        let name = http::HeaderName::from_bytes(format!("x-{index}").as_bytes()).unwrap();
        huge.headers_mut().insert(name, "v".repeat(1000).parse().unwrap());
    }
    let answered = client.send(huge, "{}").await.try_answer().await;
    assert!(answered.is_err() || answered.is_ok_and(|answer| answer.status() == 431));
    let mut client = rig.http2_client().await;
    let asked = client.ask("{}").await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(asked.answer().await.status(), 200);
}
