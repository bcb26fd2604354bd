//! DeepSeek, OpenRouter, Gemini, Ollama's copy of OpenAI, LiteLLM.

use super::*;

#[test]
fn deepseek_keeps_a_queued_request_alive() {
    let body = ": keep-alive\n\n".repeat(40)
        + &chunk(r#"{"role":"assistant","content":null,"reasoning_content":""}"#, "null")
        + &chunk(r#"{"content":null,"reasoning_content":"hm"}"#, "null")
        + &chunk(r#"{"content":"a","reasoning_content":null}"#, "null")
        + &event(
            r#""choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":1},"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}"#,
        )
        + DONE;
    let (reader, seen) = chat(&body);
    assert_eq!(seen, [Seen::Event, output(0, false), output(0, true), Seen::Event, Seen::Terminal]);
    let facts = reader.facts();
    assert_eq!(facts.counts.comments, 40);
    let usage = facts.tokens.reported.unwrap();
    assert_eq!((usage.input, usage.output), (Some(9), Some(2)));
    assert_eq!((usage.cached_input, usage.reasoning), (Some(8), Some(1)));
}

#[test]
fn deepseek_sends_empty_lines_before_a_document() {
    let answer = r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#;
    let reader = document(Dialect::Chat, &("\n".repeat(500) + answer));
    let facts = reader.facts();
    assert!(facts.terminal && facts.all_finished && facts.error.is_none());
    assert_eq!(facts.usage().map(|(usage, _)| usage.output), Some(Some(4)));
    // Nothing but those: no answer came.
    let reader = document(Dialect::Chat, &"\n".repeat(500));
    assert!(!reader.facts().terminal && reader.facts().usage().is_none());
}

#[test]
fn openrouter_says_that_it_works_and_what_it_costs() {
    let last = r#""choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null,"native_finish_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"cost":0.00014,"is_byok":false,"cost_details":{"upstream_inference_cost":null}}"#;
    let body = ": OPENROUTER PROCESSING\n\n".repeat(3)
        + &chunk(r#"{"role":"assistant","content":"a"}"#, "null")
        + &stop()
        + &event(last)
        + DONE;
    let (reader, seen) = chat(&body);
    assert_eq!(seen, [output(0, true), Seen::Event, Seen::Event, Seen::Terminal]);
    let facts = reader.facts();
    assert_eq!((facts.counts.comments, facts.all_finished), (3, true));
    assert_eq!(facts.usage().map(|(usage, _)| (usage.input, usage.output)), Some((Some(9), Some(1))));
}

#[test]
fn openrouter_ends_a_stream_that_failed_with_an_error_and_a_reason() {
    let failed = event(
        r#""provider":"p","error":{"code":502,"message":"down","metadata":{"provider_name":"p"}},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":"error"}]"#,
    );
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &(token("a") + &failed + DONE));
    assert_eq!(seen, [output(0, true), Seen::Error, Seen::Terminal]);
    assert_eq!(said(&reader), (Some("502"), None));
    // Either of the two will do.
    let reason = event(
        r#""choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":"x"}]"#,
    );
    let (reader, seen) = chat(&(token("a") + &reason + DONE));
    assert_eq!(seen, [output(0, true), Seen::Error, Seen::Terminal]);
    assert_eq!(said(&reader), (None, None));
}

#[test]
fn gemini_ends_tool_calls_with_stop_and_without_done() {
    let call = chunk(
        r#"{"role":"assistant","tool_calls":[{"index":0,"id":"","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
        "null",
    );
    let (reader, seen) = chat(&(call + &stop()));
    assert_eq!(seen, [output(0, true), Seen::Event]);
    let facts = reader.facts();
    assert!(facts.all_finished && !facts.terminal);
    assert_eq!(reasons(&reader), ["stop"]);
}

#[test]
fn gemini_tells_an_error_by_its_status() {
    let error = data(r#"{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}"#);
    let (reader, seen) = chat(&(token("a") + &error));
    assert_eq!(seen, [output(0, true), Seen::Error]);
    assert_eq!(said(&reader), (Some("503"), Some("UNAVAILABLE")));
}

#[test]
fn ollama_repeats_the_role_and_sends_tool_calls_whole() {
    let piece = |delta: &str, reason: &str| {
        data(&format!(
            r#"{{"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp_ollama","choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]}}"#
        ))
    };
    let body = piece(r#"{"role":"assistant","content":"","reasoning":"hm"}"#, "null")
        + &piece(r#"{"role":"assistant","content":""}"#, "null")
        + &piece(r#"{"role":"assistant","content":"a"}"#, "null")
        + &piece(
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
            "null",
        )
        + &piece(r#"{"role":"assistant","content":""}"#, r#""tool_calls""#)
        + &data(
            r#"{"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp_ollama","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}"#,
        )
        + DONE;
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &body);
    let (e, r, o) = (Seen::Event, output(0, false), output(0, true));
    assert_eq!(seen, [r, e, o, o, e, e, Seen::Terminal]);
    assert_eq!(reader.facts().usage().map(|(usage, _)| usage.output), Some(Some(12)));
}

#[test]
fn litellm_turns_what_broke_into_an_error_event() {
    let error =
        data(r#"{"error":{"message":"litellm.APIConnectionError","type":null,"param":null,"code":"500"}}"#);
    let (reader, seen) = chat(&(token("a") + &error));
    assert_eq!(seen, [output(0, true), Seen::Error]);
    assert_eq!(said(&reader), (Some("500"), None));
}
