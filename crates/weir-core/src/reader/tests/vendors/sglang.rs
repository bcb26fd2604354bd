use super::*;

fn piece(delta: &str, reason: &str, matched: &str) -> String {
    event(&format!(
        r#""choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason},"matched_stop":{matched}}}]"#
    ))
}

#[test]
fn every_delta_has_a_reasoning_that_is_mostly_null() {
    let body = piece(r#"{"reasoning_content":null,"role":"assistant","content":""}"#, "null", "null")
        + &piece(r#"{"reasoning_content":"hm","content":null}"#, "null", "null")
        + &piece(r#"{"reasoning_content":"hm","content":null}"#, "null", "null")
        + &piece(r#"{"reasoning_content":null,"content":"a"}"#, "null", "null")
        + &piece(r#"{"reasoning_content":null,"content":"b"}"#, "null", "null")
        + &piece(r#"{"reasoning_content":null}"#, r#""stop""#, "151645")
        + &event(
            r#""choices":[],"usage":{"prompt_tokens":38,"total_tokens":42,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":30},"reasoning_tokens":2,"completion_tokens_details":{"reasoning_tokens":2}}"#,
        )
        + DONE;
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &body);
    let (e, r, o) = (Seen::Event, output(0, false), output(0, true));
    assert_eq!(seen, [e, r, r, o, o, e, e, Seen::Terminal]);
    let usage = reader.facts().tokens.reported.unwrap();
    assert_eq!((usage.input, usage.output), (Some(38), Some(4)));
    assert_eq!((usage.reasoning, usage.cached_input), (Some(2), Some(30)));
}

#[test]
fn reasoning_tokens_may_stand_at_the_top_alone() {
    let last = r#""choices":[],"usage":{"prompt_tokens":5,"total_tokens":9,"completion_tokens":4,"prompt_tokens_details":null,"reasoning_tokens":3,"completion_tokens_details":null}"#;
    let (reader, _) = chat(&(token("a") + &stop() + &event(last)));
    assert_eq!(reader.facts().tokens.reported.and_then(|usage| usage.reasoning), Some(3));
}

#[test]
fn a_chunk_of_its_own_extensions_is_no_token() {
    let extra = event(
        r#""choices":[{"index":0,"delta":{},"finish_reason":null}],"sglext":{"routed_experts":"AAAA"}"#,
    );
    let bare = event(r#""choices":[],"sglext":{"cached_tokens_details":{"device":3}}"#);
    let (reader, seen) = chat(&(token("a") + &stop() + &extra + &bare + &usage(1, 1) + DONE));
    let (o, e) = (output(0, true), Seen::Event);
    assert_eq!(seen, [o, e, e, e, e, Seen::Terminal]);
    assert!(reader.facts().all_finished);
}

#[test]
fn an_aborted_request_ends_with_a_reason_of_its_own() {
    let (reader, _) = chat(&(token("a") + &piece("{}", r#""abort""#, "null") + DONE));
    assert_eq!(reasons(&reader), ["abort"]);
    assert!(reader.facts().error.is_none());
}

#[test]
fn an_error_in_mid_stream_is_followed_by_done() {
    let error = data(
        r#"{"error":{"object":"error","message":"aborted","type":"InternalServerError","param":null,"code":500}}"#,
    );
    let (reader, seen) = chat(&(role() + &token("a") + &error + DONE));
    assert_eq!(seen, [Seen::Event, output(0, true), Seen::Error, Seen::Terminal]);
    assert_eq!(said(&reader), (Some("500"), Some("InternalServerError")));
}

#[test]
fn an_error_that_is_flat_is_one_in_a_stream_and_in_a_document() {
    let flat = r#"{"object":"error","message":"bad","type":"BadRequestError","param":null,"code":400}"#;
    let (reader, seen) = chat(&(data(flat) + DONE));
    assert_eq!(seen, [Seen::Error, Seen::Terminal]);
    assert_eq!(said(&reader), (Some("400"), Some("BadRequestError")));
    let reader = document(Dialect::Chat, flat);
    assert_eq!(said(&reader), (Some("400"), Some("BadRequestError")));
}
