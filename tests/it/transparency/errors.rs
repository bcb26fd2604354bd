use crate::harness::message::chunked_head;
use crate::harness::play::verdict;
use crate::harness::{Play, Rig, chunk, response};

const LIMITS: &str = "retry-after: 7\r\nanthropic-ratelimit-unified-status: rejected\r\n\
    x-ratelimit-remaining-tokens: 0\r\nx-ratelimit-reset-requests: 6m0s\r\nx-request-id: req_1\r\n";

/// `(status, type, body, class)`
const ERRORS: [(&str, &str, &str, &str); 11] = [
    ("400 Bad Request", "application/json", r#"{"error":{"message":"no","code":null}}"#, "bad_request"),
    (
        "400 Bad Request",
        "application/json",
        r#"{"error":{"message":"This model's maximum context length is 8 tokens.","code":400}}"#,
        "context_length",
    ),
    ("401 Unauthorized", "text/plain", "Invalid key", "auth"),
    ("404 Not Found", "application/json", r#"{"detail":"Not Found"}"#, "not_found"),
    ("421 Misdirected Request", "application/json", r#"{"message":"x"}"#, "http_4xx"),
    ("422 Unprocessable Entity", "text/plain", "Failed to deserialize", "unprocessable"),
    (
        "429 Too Many Requests",
        "application/json",
        r#"{"error":{"code":"rate_limit_exceeded"}}"#,
        "rate_limited",
    ),
    ("429 Too Many Requests", "application/json", r#"{"error":{"type":"insufficient_quota"}}"#, "quota"),
    ("502 Bad Gateway", "text/html", "<html><h1>502</h1></html>", "upstream_5xx"),
    (
        "503 Service Unavailable",
        "application/json",
        r#"{"error":{"type":"Service Unavailable"}}"#,
        "overloaded",
    ),
    (
        "529 Overloaded",
        "application/json",
        r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
        "overloaded",
    ),
];

#[tokio::test]
async fn errors_pass_verbatim_with_their_headers() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let mut engine = None;
    for (status, media, body, class) in ERRORS {
        client.ask(r#"{"model":"m","stream":true}"#).await;
        if engine.is_none() {
            engine = Some(upstream.accept().await);
        }
        let engine = engine.as_mut().unwrap();
        engine.request().await;
        engine.send(response(status, &format!("Content-Type: {media}\r\n{LIMITS}"), body)).await;
        let answer = client.response().await;
        assert_eq!(answer.head.line, format!("HTTP/1.1 {status}"));
        assert_eq!(answer.body, body.as_bytes());
        assert_eq!(answer.head.length(), Some(body.len() as u64));
        assert_eq!(answer.head.header("content-type"), Some(media));
        assert_eq!(answer.head.headers.len(), 7, "nothing is added: {:?}", answer.head);
        for line in LIMITS.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            assert_eq!(answer.head.header(name), Some(value));
        }
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("upstream_error", Some(class)), "{status} {body}");
        assert_eq!(record.status, Some(answer.status()));
        assert_eq!((record.timeline.ttft(), record.answer.tokens), (None, None));
    }
}

#[tokio::test]
async fn a_chunked_error_passes_as_one() {
    let head = chunked_head("400 Bad Request", "Content-Type: application/json\r\n");
    let played = Play::chat().head(head).parts(&[r#"{"error":{"#, r#""code":"content_filter"}}"#]).await;
    assert_eq!(played.head.line, "HTTP/1.1 400 Bad Request");
    assert!(played.whole);
    assert_eq!(played.verdict(), ("upstream_error", Some("content_filter")));
}

#[tokio::test]
async fn rate_limit_headers_pass_on_streams_too() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask(r#"{"stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(chunked_head("200 OK", &format!("Content-Type: text/event-stream\r\n{LIMITS}"))).await;
    engine.send(chunk("data: [DONE]\n\n")).await;
    let head = client.response_head().await;
    for line in LIMITS.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        assert_eq!(head.header(name), Some(value));
    }
}

/// The answer says what it is, and not the request.
#[tokio::test]
async fn an_answer_of_another_kind_than_was_asked_for() {
    let completion = r#"{"model":"x","choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}"#;
    let head = chunked_head("200 OK", "Content-Type: application/json\r\n");
    let played = Play::chat().head(head).parts(&[completion]).await;
    assert_eq!(played.head.header("content-type"), Some("application/json"));
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!((played.usage(), played.finish_reasons()), (Some((Some(4), Some(2))), vec!["stop"]));
    assert!(!played.record.answer.stream && played.record.request.stream);
    assert_eq!(played.record.timeline.ttft(), None, "an answer that is no stream has no first token");

    let asked = r#"{"model":"m","stream":false}"#;
    let events = crate::harness::sse::three_tokens();
    let played = Play::post("/v1/chat/completions", asked).parts(&events).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert!(played.record.answer.stream && !played.record.request.stream);
    played.came_with(&[1, 2, 3]);
    assert_eq!(played.tokens(), Some((3, "reported")));

    let head = chunked_head("502 Bad Gateway", "Content-Type: text/html\r\n");
    let played = Play::chat().head(head).parts(&["<html>"]).await;
    assert_eq!(played.head.header("content-type"), Some("text/html"));
    assert_eq!(played.verdict(), ("upstream_error", Some("upstream_5xx")));
}
