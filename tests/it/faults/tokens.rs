//! Several choices, other APIs, and tokens that are told one by one.

use crate::harness::Play;
use crate::harness::sse::{DONE, data, delta, finish, role, usage};

#[tokio::test]
async fn every_choice_has_to_finish() {
    let one = |index, reason| delta(index, r#"{"content":"a"}"#, reason);
    let asked = r#"{"model":"m","stream":true,"n":2}"#;
    let mut events = vec![one(0, "null"), one(1, "null"), delta(0, "{}", r#""stop""#)];
    let played = Play::post("/v1/chat/completions", asked).parts(&events).await;
    assert_eq!(played.verdict(), ("truncated", Some("stream_truncated")));
    assert_eq!(played.record.request.choices, 2);

    events.extend([delta(1, "{}", r#""length""#), usage(7, 2), DONE.to_owned()]);
    let played = Play::post("/v1/chat/completions", asked).parts(&events).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!(played.finish_reasons(), ["stop", "length"]);
    assert_eq!(played.tokens(), Some((2, "reported")));
    assert_eq!(played.record.tpot(), None, "of several choices there is no time per token");
}

#[tokio::test]
async fn legacy_completions_are_read() {
    let text = |text: &str, reason: &str| {
        data(&format!(
            r#"{{"object":"text_completion","choices":[{{"index":0,"text":"{text}","finish_reason":{reason}}}]}}"#
        ))
    };
    let events = [text("a", "null"), text("b", "null"), text("", r#""stop""#), usage(3, 2), DONE.to_owned()];
    let played = Play::post("/v1/completions", r#"{"model":"m","stream":true}"#).parts(&events).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!(played.record.request.dialect.as_str(), "openai_completions");
    assert_eq!(played.tokens(), Some((2, "reported")));
    played.came_with(&[0, 1]);
}

#[tokio::test]
async fn tokens_that_are_listed_are_counted() {
    let listed = |count: usize| {
        let tokens = vec![r#"{"token":"a","logprob":-0.1}"#; count].join(",");
        data(&format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"logprobs":{{"content":[{tokens}]}},"finish_reason":null}}]}}"#
        ))
    };
    let events = [role(), listed(3), listed(1), listed(2), finish("stop"), DONE.to_owned()];
    let played = Play::chat().parts(&events).await;
    assert_eq!((played.tokens(), played.usage()), (Some((6, "logprobs")), None));
    let output = played.output();
    assert_eq!((output.chunks, output.tokens, output.gaps.itl.count), (3, 6, 3));
    played.came_with(&[1, 2, 3]);
}

#[tokio::test]
async fn embeddings_have_usage_and_no_tokens_of_output() {
    let head = crate::harness::message::chunked_head("200 OK", "Content-Type: application/json\r\n");
    let body = r#"{"object":"list","data":[{"embedding":[0.1,0.2]}],"model":"e","usage":{"prompt_tokens":8,"total_tokens":8}}"#;
    let played = Play::post("/v1/embeddings", r#"{"model":"e","input":"x"}"#).head(head).parts(&[body]).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!(played.record.request.dialect.as_str(), "openai_embeddings");
    assert_eq!((played.usage(), played.tokens()), (Some((Some(8), None)), None));
    assert_eq!(played.record.answer.model.as_deref(), Some("e"));
}

/// An error in an answer of status 200 that is no stream.
#[tokio::test]
async fn an_error_under_status_200_is_one() {
    let head = crate::harness::message::chunked_head("200 OK", "Content-Type: application/json\r\n");
    let body = r#"{"object":"error","message":"no","code":40303}"#;
    let played = Play::post("/v1/chat/completions", r#"{"model":"m"}"#).head(head).parts(&[body]).await;
    assert_eq!(played.verdict(), ("stream_error", Some("stream_error")));
}
