use crate::harness::message::{Head, chunked_head};
use crate::harness::{LAST_CHUNK, Rig, Upstream, request, response};

/// The headers by name, those of one name in their order.
fn sorted(head: &Head) -> Vec<(String, String)> {
    let mut headers = head.headers.clone();
    headers.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    headers
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn every_method_and_unknown_path_passes() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let mut engine = None;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X-OWN"] {
        let line = format!("{method} /no/such/path");
        client.send(request(&line, "", "")).await;
        if engine.is_none() {
            engine = Some(upstream.accept().await);
        }
        let engine = engine.as_mut().unwrap();
        let asked = engine.request().await;
        assert_eq!(asked.head.line, format!("{line} HTTP/1.1"));
        engine.send(response("200 OK", "", method)).await;
        assert_eq!(client.response().await.body, method.as_bytes());
        let record = rig.record().await;
        assert_eq!((&*record.request.method, &*record.request.path), (method, "/no/such/path"));
        assert_eq!((record.status, record.outcome.as_str()), (Some(200), "completed"));
    }
    client.send(request("HEAD /no/such/path", "", "")).await;
    let engine = engine.as_mut().unwrap();
    assert_eq!(engine.request().await.head.line, "HEAD /no/such/path HTTP/1.1");
    engine.send("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n").await;
    let head = client.response_to_head().await.head;
    assert_eq!(head.header("content-length"), Some("17"));
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
}

#[tokio::test]
async fn header_names_keep_their_case_and_repeats_their_order() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client
        .send(request(
            "GET /v1/models",
            "X-Custom-ID: one\r\nanthropic-beta: a\r\nAnthropic-Beta: b\r\nAUTHORIZATION: Bearer k\r\n\
             cookie: a=1\r\nCookie: b=2\r\nx-empty:\r\nX-Latin: caf\u{e9}\r\n",
            "",
        ))
        .await;
    let (mut engine, asked) = upstream.asked().await;
    let host = upstream.address().to_string();
    let expected = pairs(&[
        ("anthropic-beta", "a"),
        ("Anthropic-Beta", "b"),
        ("AUTHORIZATION", "Bearer k"),
        ("cookie", "a=1"),
        ("Cookie", "b=2"),
        ("Host", &host),
        ("X-Custom-ID", "one"),
        ("x-empty", ""),
        ("X-Latin", "caf\u{e9}"),
    ]);
    assert_eq!(sorted(&asked.head), expected);

    let headers = "Set-Cookie: a=1\r\nset-cookie: b=2\r\nLink: </a>\r\nLink: </b>\r\n\
                   X-Request-ID: r\r\nX-Accel-Buffering: no\r\nCache-Control: no-cache\r\n";
    engine.send(response("200 OK", headers, "{}")).await;
    let expected = pairs(&[
        ("Cache-Control", "no-cache"),
        ("Content-Length", "2"),
        ("Link", "</a>"),
        ("Link", "</b>"),
        ("Set-Cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("X-Accel-Buffering", "no"),
        ("X-Request-ID", "r"),
    ]);
    assert_eq!(sorted(&client.response().await.head), expected, "and nothing is added");
}

#[tokio::test]
async fn a_date_is_passed_and_none_is_added() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(request("GET /", "", "")).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "x")).await;
    let head = client.response().await.head;
    assert_eq!(head.headers, pairs(&[("Content-Length", "1")]));

    client.send(request("GET /", "", "")).await;
    engine.request().await;
    let headers = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nServer: uvicorn\r\n";
    engine.send(response("200 OK", headers, "x")).await;
    let head = client.response().await.head;
    assert_eq!(head.header("date"), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
    assert_eq!(head.header("server"), Some("uvicorn"));
}

#[tokio::test]
async fn hop_by_hop_headers_stay_on_their_hop() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let headers = "Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n\
                   Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nUpgrade: h2c\r\nX-End: 1\r\n";
    client.send(request("POST /v1/chat/completions", headers, "{}")).await;
    let (mut engine, asked) = upstream.asked().await;
    let host = upstream.address().to_string();
    let expected = [("Content-Length", "2"), ("Host", &host), ("TE", "trailers"), ("X-End", "1")];
    assert_eq!(sorted(&asked.head), pairs(&expected));

    let headers = "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n\
                   Proxy-Connection: close\r\nX-End: 1\r\n";
    engine.send(response("200 OK", headers, "x")).await;
    let expected = pairs(&[("Content-Length", "1"), ("X-End", "1")]);
    assert_eq!(sorted(&client.response().await.head), expected);
}

#[tokio::test]
async fn a_client_that_closes_does_not_close_the_upstreams_connection() {
    let (rig, upstream) = Rig::start().await;
    let served = upstream.serve(|_| response("200 OK", "", "x").into());
    for _ in 0..3 {
        let mut client = rig.client().await;
        client.send(request("GET /", "Connection: close\r\n", "")).await;
        let answer = client.response().await;
        assert_eq!(answer.body, b"x");
        client.closed().await;
    }
    assert_eq!((served.requests(), served.connections()), (3, 1));
}

#[tokio::test]
async fn statuses_pass_with_their_reasons() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let mut engine = None;
    for status in ["200 OK", "299 Something Of Our Own", "404 Nicht gefunden", "529 Overloaded", "418 "] {
        client.send(request("GET /", "", "")).await;
        if engine.is_none() {
            engine = Some(upstream.accept().await);
        }
        let engine = engine.as_mut().unwrap();
        engine.request().await;
        engine.send(response(status, "", "x")).await;
        assert_eq!(client.response().await.head.line, format!("HTTP/1.1 {status}"));
    }
}

/// Whoever traces goes on tracing, with whatever was sent.
#[tokio::test]
async fn trace_context_passes_untouched() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let headers = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\
                   tracestate: a=1,b=2\r\ntraceparent: ff-0-0-00\r\ntracestate: c=3\r\nbaggage: k=v\r\n";
    client.send(request("POST /v1/chat/completions", headers, "{}")).await;
    let (_engine, asked) = upstream.asked().await;
    let parents = ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "ff-0-0-00"];
    assert_eq!(asked.head.all("traceparent"), parents);
    assert_eq!(asked.head.all("tracestate"), ["a=1,b=2", "c=3"]);
    assert_eq!(asked.head.header("baggage"), Some("k=v"));
}

#[tokio::test]
async fn redirects_are_relayed_and_never_followed() {
    let (mut rig, upstream) = Rig::start().await;
    let other = Upstream::bind().await;
    let mut client = rig.client().await;
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let headers = "x-api-key: secret\r\nConnection: close\r\n";
        client.send(request("POST /v1/chat/completions", headers, "{}")).await;
        let (mut engine, _) = upstream.asked().await;
        let location = format!("http://{}/v1/chat/completions", other.address());
        let headers = format!("Location: {location}\r\nConnection: close\r\n");
        engine.send(response(status, &headers, "")).await;
        let answer = client.response().await;
        assert_eq!(answer.head.line, format!("HTTP/1.1 {status}"));
        assert_eq!(answer.head.header("location"), Some(location.as_str()));
        assert_eq!(rig.record().await.outcome.as_str(), "completed");
        client = rig.client().await;
    }
    assert!(other.is_untouched().await);
}

#[tokio::test]
async fn what_the_configuration_asks_for_is_added() {
    let (rig, upstream) = Rig::with(|setup| {
        let rules = &mut setup.config.headers;
        (rules.keep_host, rules.via, rules.forwarded) = (true, true, true);
    })
    .await;
    let mut client = rig.client().await;
    client.send(request("GET /", "X-Forwarded-For: 10.0.0.1\r\n", "")).await;
    let (mut engine, asked) = upstream.asked().await;
    assert_eq!(asked.head.header("host"), Some("weir.test"));
    assert_eq!(asked.head.all("x-forwarded-for"), ["10.0.0.1", "127.0.0.1"]);
    assert_eq!(asked.head.header("x-forwarded-proto"), Some("http"));
    assert_eq!(asked.head.header("x-forwarded-host"), Some("weir.test"));
    assert_eq!(asked.head.header("via"), Some("1.1 weir"));
    engine.send(response("200 OK", "", "x")).await;
    assert_eq!(client.response().await.head.header("via"), Some("1.1 weir"));
}

#[tokio::test]
async fn no_coding_is_added_for_a_client_that_would_take_one() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let headers = "Accept-Encoding: gzip, br, zstd\r\n";
    client.send(request("POST /v1/chat/completions", headers, r#"{"stream":true}"#)).await;
    let (mut engine, asked) = upstream.asked().await;
    assert_eq!(asked.head.header("accept-encoding"), Some("gzip, br, zstd"));
    engine.send(chunked_head("200 OK", "Content-Type: text/event-stream\r\n")).await;
    let head = client.response_head().await;
    assert_eq!((head.header("content-encoding"), head.is_chunked()), (None, true));
    for event in 1..=20 {
        // Small, and each of them there before the next is written.
        engine.send("a\r\ndata: 1234\r\n").await;
        client.body_of(event * 10).await;
    }
    engine.send(LAST_CHUNK).await;
    assert!(client.body_to_end().await);
}
