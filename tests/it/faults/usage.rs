//! Token counts as the engine reports them.

use crate::harness::sse::{DONE, content, data, finish, role, usage};
use crate::harness::{Play, chunk};

fn with_usage(usage: &str) -> String {
    data(&format!(
        r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":null}}],"usage":{usage}}}"#
    ))
}

#[tokio::test]
async fn running_totals_are_not_added_up() {
    let total =
        |n: u64| format!(r#"{{"prompt_tokens":10,"completion_tokens":{n},"total_tokens":{}}}"#, 10 + n);
    let mut events: Vec<_> = (1..=50).map(|n| with_usage(&total(n))).collect();
    events.extend([finish("stop"), usage(10, 50), DONE.to_owned()]);
    let played = Play::chat().parts(&events).await;
    assert_eq!((played.usage(), played.tokens()), (Some((Some(10), Some(50))), Some((50, "reported"))));
    assert_eq!(played.output().tokens, 50);
}

#[tokio::test]
async fn the_same_total_given_twice_counts_once() {
    let groq = data(
        r#"{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}}"#,
    );
    let events = [role(), content("a"), content("b"), finish("stop"), groq, usage(10, 2), DONE.to_owned()];
    let played = Play::chat().parts(&events).await;
    assert_eq!((played.usage(), played.tokens()), (Some((Some(10), Some(2))), Some((2, "reported"))));
}

#[tokio::test]
async fn null_is_unknown_and_a_part_never_replaces_the_whole() {
    let events = [
        with_usage("null"),
        with_usage("null"),
        finish("stop"),
        data(
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,
            "completion_tokens_details":null,"prompt_tokens_details":{"cached_tokens":null}}}"#
                .replace('\n', "")
                .as_str(),
        ),
        data(r#"{"choices":[],"usage":{"prompt_tokens_details":{"cached_tokens":0}}}"#),
        data(r#"{"choices":[],"usage":null}"#),
        DONE.to_owned(),
    ];
    let played = Play::chat().parts(&events).await;
    assert_eq!((played.usage(), played.verdict()), (Some((Some(9), Some(2))), ("completed", None)));
    assert_eq!(played.record.answer.usage.unwrap().cached_input, None);
    played.came_with(&[0, 1]);
}

#[tokio::test]
async fn what_was_not_reported_is_not_zero() {
    let played =
        Play::chat().parts(&[role(), content("a"), content("b"), finish("stop"), DONE.to_owned()]).await;
    assert_eq!((played.usage(), played.tokens()), (None, Some((2, "counted_chunks"))));
}

#[tokio::test]
async fn nothing_is_injected_into_requests() {
    for options in ["", r#","stream_options":{"include_usage":false}"#, r#","stream_options":{"x":1}"#] {
        let asked = format!(r#"{{"model":"m","stream":true{options}}}"#);
        let played = Play::post("/v1/chat/completions", &asked)
            .parts(&[role(), content("a"), finish("stop"), DONE.to_owned()])
            .await;
        assert_eq!(played.asked.body, asked.as_bytes());
        assert_eq!(played.usage(), None);
    }
}

/// An upstream that knows no such key says so to the client.
#[tokio::test]
async fn a_refusal_of_the_key_passes() {
    let head = crate::harness::message::chunked_head("400 Bad Request", "Content-Type: application/json\r\n");
    let body = r#"{"error":{"message":"Unrecognized request argument: stream_options"}}"#;
    let played = Play::chat().head(head).parts(&[body]).await;
    assert_eq!((played.head.status(), played.verdict()), (400, ("upstream_error", Some("bad_request"))));
}

#[tokio::test]
async fn usage_of_an_answer_that_is_no_stream() {
    let (mut rig, upstream) = crate::harness::Rig::start().await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m"}"#).await;
    let (mut engine, _) = upstream.asked().await;
    let head = crate::harness::message::chunked_head("200 OK", "Content-Type: application/json\r\n");
    engine.send(head).await;
    // As DeepSeek does while it lets one wait.
    for _ in 0..3 {
        engine.send(chunk("\n")).await;
    }
    let body = r#"{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi \"usage\":{}"},
        "finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21,
        "prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":7}}}"#;
    for part in crate::harness::split(body.as_bytes(), 7) {
        engine.send(chunk(part)).await;
    }
    engine.send(crate::harness::LAST_CHUNK).await;
    assert_eq!(client.response().await.body, format!("\n\n\n{body}").into_bytes());
    let record = rig.record().await;
    let usage = record.answer.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.total), (Some(9), Some(12), Some(21)));
    assert_eq!((usage.cached_input, usage.reasoning), (Some(4), Some(7)));
    assert_eq!(record.answer.model.as_deref(), Some("m-1"));
    assert_eq!((record.timeline.ttft(), record.answer.output), (None, None));
}
