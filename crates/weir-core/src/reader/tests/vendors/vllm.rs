use super::*;

/// A chunk of choice 0 with fields beside the delta, and beside the choices.
fn piece(delta: &str, beside: &str, behind: &str) -> String {
    event(&format!(r#""choices":[{{"index":0,"delta":{delta},"logprobs":null,{beside}}}]{behind}"#))
}

const OPEN: &str = r#""finish_reason":null,"token_ids":null"#;

/// Usage as it stands on each chunk with `continuous_usage_stats`.
fn so_far(output: u64) -> String {
    format!(
        r#","usage":{{"prompt_tokens":38,"total_tokens":{},"completion_tokens":{output},"completion_tokens_details":null}}"#,
        38 + output
    )
}

#[test]
fn running_usage_tells_the_tokens_of_each_chunk_whatever_the_interval() {
    let text = r#"{"content":"a b"}"#;
    let start = r#"{"role":"assistant","content":""}"#;
    let body = piece(start, r#""finish_reason":null"#, &(so_far(0) + r#","prompt_token_ids":null"#))
        + &piece(text, OPEN, &so_far(1))
        + &piece(text, OPEN, &so_far(5))
        + &piece(text, OPEN, &so_far(9))
        // The last chunk may carry the last text.
        + &piece(text, r#""finish_reason":"stop","stop_reason":"\n\n","token_ids":null"#, &so_far(11))
        + &event(&format!(r#""choices":[]{}"#, so_far(11)))
        + DONE;
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &body);
    assert_eq!(counts(&seen), [1, 4, 4, 2]);
    let facts = reader.facts();
    assert_eq!((facts.tokens.uncounted_chunks, facts.all_finished), (0, true));
    let (usage, from) = facts.usage().unwrap();
    assert_eq!((usage.input, usage.output, from), (Some(38), Some(11), Provenance::Reported));
}

#[test]
fn without_usage_an_interval_leaves_the_tokens_of_a_chunk_unknown() {
    let text = r#"{"content":"four tokens in one"}"#;
    let body = role() + &piece(text, OPEN, "").repeat(3) + &stop() + &usage(38, 12) + DONE;
    let (reader, seen) = chat(&body);
    assert_eq!(counts(&seen), [0; 3]);
    // Only the sum is known, and it is not the number of chunks.
    assert_eq!(reader.facts().counts.chunks, 3);
    assert_eq!(reader.facts().usage().map(|(usage, _)| usage.output), Some(Some(12)));
}

#[test]
fn token_ids_count_those_of_the_output_and_not_of_the_prompt() {
    let ids = |ids: &str| format!(r#""finish_reason":null,"token_ids":{ids}"#);
    let start = piece(
        r#"{"role":"assistant","content":""}"#,
        r#""finish_reason":null"#,
        r#","prompt_token_ids":[1,2,3,4,5,6],"prompt_text":null"#,
    );
    let text = r#"{"content":"a"}"#;
    let (reader, seen) =
        chat(&(start + &piece(text, &ids("[7,8]"), "") + &piece(text, &ids("[9]"), "") + &stop() + DONE));
    assert_eq!(counts(&seen), [2, 1]);
    let (usage, from) = reader.facts().usage().unwrap();
    assert_eq!((usage.output, from), (Some(3), Provenance::TokenIds));
}

#[test]
fn reasoning_has_a_field_of_its_own_under_two_names() {
    for name in ["reasoning", "reasoning_content"] {
        let thought = piece(&format!(r#"{{"{name}":"hm"}}"#), OPEN, "");
        let body = role() + &thought + &thought + &token("a") + &stop() + DONE;
        let (_, seen) = chat(&body);
        let (r, o, e) = (output(0, false), output(0, true), Seen::Event);
        assert_eq!(seen, [e, r, r, o, e, Seen::Terminal], "{name}");
    }
}

#[test]
fn stop_reasons_and_metrics_change_nothing() {
    for stop_reason in ["null", "128009", r#""\n""#] {
        let end = piece("{}", &format!(r#""finish_reason":"stop","stop_reason":{stop_reason}"#), "");
        let last = event(
            r#""choices":[],"usage":{"prompt_tokens":5,"total_tokens":6,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4,"created_cache_tokens":1,"multimodal_tokens":0}},"metrics":{"completion_tokens":99,"ttft":0.5},"kv_transfer_params":null"#,
        );
        let (reader, seen) = chat(&(role() + &token("a") + &end + &last + DONE));
        let (o, e) = (output(0, true), Seen::Event);
        assert_eq!(seen, [e, o, e, e, Seen::Terminal], "{stop_reason}");
        assert_eq!(reasons(&reader), ["stop"]);
        let usage = reader.facts().tokens.reported.unwrap();
        assert_eq!((usage.output, usage.cached_input, usage.cache_write_input), (Some(1), Some(4), Some(1)));
    }
}

#[test]
fn an_idle_stream_is_kept_alive_by_comments() {
    let body = role() + ": keep-alive\n\n: keep-alive\n\n" + &token("a") + &stop() + DONE;
    let (reader, seen) = chat(&body);
    assert_eq!(counts(&seen), [0]);
    assert_eq!((reader.facts().counts.comments, reader.facts().counts.events), (2, 4));
}

#[test]
fn an_error_in_mid_stream_is_followed_by_done() {
    let error = data(
        r#"{"error":{"message":"EngineCore died","type":"InternalServerError","param":null,"code":500}}"#,
    );
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &(role() + &token("a") + &error + DONE));
    assert_eq!(seen, [Seen::Event, output(0, true), Seen::Error, Seen::Terminal]);
    assert_eq!(said(&reader), (Some("500"), Some("InternalServerError")));
    let facts = reader.facts();
    assert!(facts.terminal && !facts.all_finished);
    assert_eq!((facts.counts.chunks, facts.counts.parse_errors), (1, 0));
    // Before any output as well.
    let (_, seen) = chat(&(error + DONE));
    assert_eq!(seen, [Seen::Error, Seen::Terminal]);
}

#[test]
fn a_completion_may_have_tokens_without_text() {
    let part = |text: &str, ids: &str| {
        data(&format!(
            r#"{{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{{"index":0,"text":"{text}","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":{ids}}}],"usage":null}}"#
        ))
    };
    let (_, seen) = completions(&(part("a", "[1]") + &part("", "[2]") + &part("\u{5317}", "[3]")));
    assert_eq!(seen, [output(1, true); 3]);
    let (_, seen) = completions(&(part("a", "null") + &part("", "null")));
    assert_eq!(seen, [output(0, true), Seen::Event]);
}
