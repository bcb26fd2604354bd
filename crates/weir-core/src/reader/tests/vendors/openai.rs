use super::*;

/// A chunk as OpenAI writes it: usage is null on all but the last, and padding hides the length.
fn padded(choices: &str, padding: &str) -> String {
    data(&format!(
        r#"{{"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":{choices},"usage":null,"obfuscation":"{padding}"}}"#
    ))
}

fn delta(delta: &str, reason: &str, padding: &str) -> String {
    let choice = format!(r#"[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}]"#);
    padded(&choice, padding)
}

#[test]
fn a_whole_chat_with_padding_and_usage() {
    let usage = r#""usage":{"prompt_tokens":20,"completion_tokens":14,"total_tokens":34,
        "prompt_tokens_details":{"cached_tokens":16,"cache_write_tokens":4,"audio_tokens":0},
        "completion_tokens_details":{"reasoning_tokens":9,"audio_tokens":0,"accepted_prediction_tokens":1,"rejected_prediction_tokens":3}}"#;
    let body = delta(r#"{"role":"assistant","content":"","refusal":null}"#, "null", "kJ8")
        + &delta(r#"{"content":"Hi"}"#, "null", "")
        + &delta(r#"{"content":" you"}"#, "null", "kq0Tz1")
        + &delta(r#"{"content":""}"#, "null", "9")
        + &delta("{}", r#""stop""#, "hPw")
        + &padded("[]", "x").replace(r#""usage":null"#, &usage.replace('\n', ""))
        + DONE;
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &body);
    let (e, o) = (Seen::Event, output(0, true));
    assert_eq!(seen, [e, o, o, e, e, e, Seen::Terminal]);
    let facts = reader.facts();
    assert_eq!(facts.model.as_deref(), Some("gpt-x"));
    // Rejected predictions are part of the output as it is billed; reasoning and cached tokens are
    // parts of the two sides.
    let expected = Usage {
        input: Some(20),
        output: Some(14),
        total: Some(34),
        cached_input: Some(16),
        cache_write_input: Some(4),
        reasoning: Some(9),
        input_audio: Some(0),
        output_audio: Some(0),
        ..Usage::default()
    };
    assert_eq!(facts.usage(), Some((expected, Provenance::Reported)));
}

#[test]
fn tool_calls_come_in_pieces_of_which_the_first_has_the_name() {
    let call = |index: u32, rest: &str| {
        delta(&format!(r#"{{"tool_calls":[{{"index":{index},{rest}}}]}}"#), "null", "p")
    };
    let first = r#""id":"call_1","type":"function","function":{"name":"f","arguments":""}"#;
    let piece = r#""function":{"arguments":"{\"a\":"}"#;
    let body = delta(r#"{"role":"assistant","content":null}"#, "null", "p")
        + &call(0, first)
        + &call(0, piece)
        + &call(1, first)
        + &call(1, piece)
        + &delta("{}", r#""tool_calls""#, "p")
        + DONE;
    let (reader, seen) = chat(&body);
    let (e, o) = (Seen::Event, output(0, true));
    assert_eq!(seen, [e, o, o, o, o, e, Seen::Terminal]);
    assert_eq!(reasons(&reader), ["tool_calls"]);
    // Two calls are one choice.
    assert_eq!(reader.facts().choices.seen().len(), 1);
}

#[test]
fn choices_interleave_and_usage_is_the_sum_of_all() {
    let of = |index: u32, fields: &str, reason: &str| {
        padded(
            &format!(r#"[{{"index":{index},"delta":{fields},"logprobs":null,"finish_reason":{reason}}}]"#),
            "q",
        )
    };
    let (start, text) = (r#"{"role":"assistant","content":""}"#, r#"{"content":"a"}"#);
    let begun = of(0, start, "null") + &of(1, start, "null") + &of(1, text, "null") + &of(0, text, "null");
    let one_over = begun + &of(0, "{}", r#""stop""#) + &of(1, text, "null");
    let all_over = one_over.clone() + &of(1, "{}", r#""length""#);
    let two = RequestPeek { choices: 2, ..RequestPeek::default() };
    let read = |body: &str| read_as(Dialect::Chat, &two, &head(200, EVENTS), body);
    assert!(!read(&one_over).0.facts().all_finished);
    let (reader, seen) = read(&(all_over + &usage(9, 5) + DONE));
    assert_eq!(counts(&seen), [0; 3]);
    assert!(reader.facts().all_finished);
    assert_eq!(reasons(&reader), ["stop", "length"]);
    assert_eq!(reader.facts().usage().map(|(usage, _)| usage.output), Some(Some(5)));
}

#[test]
fn finish_reasons_are_an_open_set() {
    for reason in [
        "stop",
        "length",
        "tool_calls",
        "content_filter",
        "function_call",
        "abort",
        "repetition",
        "eos_token",
        "stop_sequence",
        "sensitive",
        "insufficient_system_resource",
        "eos",
    ] {
        let (reader, seen) = chat(&(token("a") + &chunk("{}", &format!("\"{reason}\""))));
        assert_eq!(seen, [output(0, true), Seen::Event], "{reason}");
        assert_eq!((reasons(&reader), reader.facts().all_finished), (vec![reason], true));
    }
    // One that no label could hold is cut.
    let (reader, _) = chat(&chunk("{}", &format!("\"{}\"", "r".repeat(500))));
    assert_eq!(reasons(&reader), ["r".repeat(64)]);
}

#[test]
fn log_probabilities_list_the_tokens_of_a_chunk() {
    let with = |text: &str, logprobs: &str| {
        let choice = format!(
            r#"[{{"index":0,"delta":{{"content":"{text}"}},"logprobs":{logprobs},"finish_reason":null}}]"#
        );
        padded(&choice, "z")
    };
    let two = r#"{"content":[{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[{"token":"x"}]},{"token":"b"}],"refusal":null}"#;
    let refused = r#"{"content":null,"refusal":[{"token":"n"}]}"#;
    let (reader, seen) = chat(&(with("ab", two) + &with("n", refused) + &stop() + DONE));
    assert_eq!(counts(&seen), [2, 1]);
    let (usage, from) = reader.facts().usage().unwrap();
    assert_eq!((usage.output, from), (Some(3), Provenance::Logprobs));
}

#[test]
fn data_that_begins_with_done_ends_the_stream() {
    for done in ["[DONE]", "[DONE] ", "[DONE]x", "[DONE]\ndata: more"] {
        let (reader, seen) = chat(&(stop() + &data(done)));
        assert_eq!(seen, [Seen::Event, Seen::Terminal], "{done:?}");
        assert!(reader.facts().terminal);
    }
    for other in ["[\"DONE\"]", "DONE"] {
        assert_eq!(chat(&data(other)).1, [Seen::Broken], "{other}");
    }
}

#[test]
fn separators_of_lines_elsewhere_are_text_here() {
    let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}";
    let (reader, seen) = chat(&(token(text) + &token(text) + &stop()));
    assert_eq!(counts(&seen), [0, 0]);
    assert_eq!((reader.facts().counts.events, reader.facts().counts.parse_errors), (3, 0));
}

/// A chunk of a legacy completion.
fn text(index: u32, text: &str, reason: &str) -> String {
    data(&format!(
        r#"{{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{{"index":{index},"text":"{text}","logprobs":null,"finish_reason":{reason}}}],"usage":null}}"#
    ))
}

#[test]
fn a_whole_legacy_completion() {
    let body =
        text(0, "a", "null") + &text(0, " b", "null") + &text(0, "", r#""length""#) + &usage(4, 2) + DONE;
    let (reader, seen) = golden(Dialect::Completions, EVENTS, &body);
    let (e, o) = (Seen::Event, output(0, true));
    assert_eq!(seen, [o, o, e, e, Seen::Terminal]);
    let facts = reader.facts();
    assert!(facts.terminal && facts.all_finished);
    assert_eq!(facts.usage().map(|(usage, _)| (usage.input, usage.output)), Some((Some(4), Some(2))));
}

#[test]
fn a_completion_of_several_prompts_interleaves_its_choices() {
    let body =
        text(0, "a", "null") + &text(2, "b", "null") + &text(1, "c", "null") + &text(0, "", r#""stop""#);
    let request = RequestPeek { prompts: Prompts::Counted(3), ..RequestPeek::default() };
    let read = |body: &str| read_as(Dialect::Completions, &request, &head(200, EVENTS), body).0;
    assert!(!read(&body).facts().all_finished);
    let rest = text(2, "d", r#""stop""#) + &text(1, "", r#""length""#);
    let reader = read(&(body + &rest));
    assert!(reader.facts().all_finished);
    assert_eq!(reasons(&reader), ["stop", "stop", "length"]);
}
