use crate::harness::message::{Message, chunked_head};
use crate::harness::{LAST_CHUNK, Rig, Wire, chunk, request, response};

/// What the upstream gets of these bytes.
async fn asked(bytes: &str) -> Message {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(bytes).await;
    let (mut engine, asked) = upstream.asked().await;
    engine.send(response("200 OK", "", "x")).await;
    assert_eq!(client.response().await.body, b"x");
    asked
}

fn framing(message: &Message) -> (bool, Option<u64>) {
    (message.head.is_chunked(), message.head.length())
}

#[tokio::test]
async fn a_chunked_body_stays_one_for_every_method() {
    for method in ["GET", "DELETE", "POST", "OPTIONS", "PUT"] {
        for body in ["5\r\nhello\r\n0\r\n\r\n", "0\r\n\r\n"] {
            let head = format!("{method} /v1/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
            let asked = asked(&(head + body)).await;
            assert_eq!(framing(&asked), (true, None), "{method}");
            assert_eq!(asked.body, if body.len() > 5 { &b"hello"[..] } else { b"" }, "{method}");
        }
    }
}

#[tokio::test]
async fn a_length_stays_one_for_every_method() {
    for method in ["GET", "DELETE", "POST", "OPTIONS"] {
        let head = format!("{method} /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        let asked = asked(&head).await;
        assert_eq!(framing(&asked), (false, Some(5)), "{method}");
        assert_eq!(asked.body, b"hello");
    }
}

#[tokio::test]
async fn no_body_and_a_body_of_nothing_are_told_apart() {
    for path in ["/v1/x", "/v1/chat/completions"] {
        let with = asked(&format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")).await;
        assert_eq!(framing(&with), (false, Some(0)), "{path}");
        let without = asked(&format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")).await;
        assert_eq!(framing(&without), (false, None), "{path}");
        let chunked =
            asked(&format!("POST {path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
                .await;
        assert_eq!((framing(&chunked), chunked.body.len()), ((true, None), 0), "{path}");
    }
}

#[tokio::test]
async fn trailers_of_a_request_pass() {
    for path in ["/v1/x", "/v1/chat/completions"] {
        let asked = asked(&format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
             5\r\nhello\r\n0\r\nX-Sum: 9\r\n\r\n"
        ))
        .await;
        assert_eq!((framing(&asked), asked.body.as_slice()), ((true, None), &b"hello"[..]));
        assert_eq!(asked.trailers, [("x-sum".to_owned(), "9".to_owned())], "{path}");
    }
}

/// A client that sent `line`, and an upstream that is about to answer.
async fn before_answer(line: &str, headers: &str) -> (Rig, Wire, Wire) {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(request(line, headers, "")).await;
    let (engine, _) = upstream.asked().await;
    (rig, client, engine)
}

#[tokio::test]
async fn answers_without_a_body_keep_their_headers() {
    for (line, answer, length) in [
        ("HEAD /", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", Some("1234")),
        ("HEAD /", "HTTP/1.1 200 OK\r\n\r\n", None),
        ("GET /", "HTTP/1.1 204 No Content\r\n\r\n", None),
        ("GET /", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", None),
        // A length of what is not sent may be left out (RFC 9110, section 8.6), and is.
        ("GET /", "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", None),
        ("GET /", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Some("0")),
    ] {
        let (mut rig, mut client, mut engine) = before_answer(line, "").await;
        engine.send(answer).await;
        let head = client.response_to_head().await.head;
        assert_eq!(head.line, answer.lines().next().unwrap());
        assert_eq!(head.header("content-length"), length, "{answer}");
        assert_eq!(head.header("transfer-encoding"), None, "{answer}");
        assert_eq!(rig.record().await.outcome.as_str(), "completed", "{answer}");

        // The connections are in step: both serve on.
        client.send(request("GET /next", "", "")).await;
        assert_eq!(engine.request().await.head.target(), "/next");
        engine.send(response("200 OK", "", "next")).await;
        assert_eq!(client.response().await.body, b"next", "{answer}");
    }
}

#[tokio::test]
async fn an_answer_to_head_may_say_that_it_would_be_chunked() {
    let (_rig, mut client, mut engine) = before_answer("HEAD /", "").await;
    engine.send(chunked_head("200 OK", "")).await;
    let head = client.response_to_head().await.head;
    assert_eq!((head.status(), head.header("content-length")), (200, None));
    client.send(request("GET /next", "", "")).await;
    engine.request().await;
    engine.send(response("200 OK", "", "next")).await;
    assert_eq!(client.response().await.body, b"next");
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_is_passed_whole() {
    for version in ["HTTP/1.0", "HTTP/1.1"] {
        let (mut rig, mut client, mut engine) = before_answer("GET /", "").await;
        engine.send(format!("{version} 200 OK\r\nX-End: 1\r\n\r\nsome ")).await;
        let head = client.response_head().await;
        assert_eq!((head.line.as_str(), head.is_chunked()), ("HTTP/1.1 200 OK", true));
        client.body_of(5).await;
        engine.send("bytes").await;
        drop(engine);
        assert!(client.body_to_end().await, "{version}");
        assert_eq!(client.body(), b"some bytes");
        assert_eq!(rig.record().await.outcome.as_str(), "completed");
    }
}

#[tokio::test]
async fn an_upstream_that_speaks_http_1_0_serves() {
    let (rig, upstream) = Rig::start().await;
    for keep_alive in ["", "Connection: keep-alive\r\n"] {
        let mut client = rig.client().await;
        client.send(request("GET /", "", "")).await;
        let (mut engine, _) = upstream.asked().await;
        engine.send(format!("HTTP/1.0 200 OK\r\n{keep_alive}Content-Length: 2\r\n\r\nok")).await;
        let answer = client.response().await;
        assert_eq!((answer.head.line.as_str(), answer.body.as_slice()), ("HTTP/1.1 200 OK", &b"ok"[..]));
        drop(engine);
    }
}

#[tokio::test]
async fn a_client_that_speaks_http_1_0_is_served() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send("GET /v1/models HTTP/1.0\r\nHost: h\r\n\r\n").await;
    let (mut engine, asked) = upstream.asked().await;
    assert_eq!(asked.head.line, "GET /v1/models HTTP/1.1");
    engine.send(chunked_head("200 OK", "")).await;
    engine.send(chunk("streamed")).await;
    engine.send(LAST_CHUNK).await;
    let answer = client.response().await;
    assert!(!answer.head.is_chunked(), "HTTP/1.0 has no chunks");
    assert_eq!(answer.body, b"streamed");
}

#[tokio::test]
async fn trailers_of_a_response_pass() {
    let (mut rig, mut client, mut engine) = before_answer("GET /", "TE: trailers\r\n").await;
    engine.send(chunked_head("200 OK", "Trailer: X-Sum\r\n")).await;
    engine.send(chunk("hello")).await;
    engine.send("0\r\nX-Sum: 9\r\n\r\n").await;
    let answer = client.response().await;
    assert_eq!(answer.body, b"hello");
    assert_eq!(answer.trailers, [("x-sum".to_owned(), "9".to_owned())]);
    assert_eq!(rig.record().await.outcome.as_str(), "completed");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let (mut rig, upstream) = Rig::start().await;
    let _served = upstream.serve(|asked| response("200 OK", "", asked.head.target()).into());
    let mut client = rig.client().await;
    let three: Vec<u8> =
        ["/1", "/2", "/3"].iter().flat_map(|path| request(&format!("GET {path}"), "", "")).collect();
    client.send(three).await;
    for path in ["/1", "/2", "/3"] {
        assert_eq!(client.response().await.body, path.as_bytes());
        assert_eq!(&*rig.record().await.request.path, path);
    }
}
