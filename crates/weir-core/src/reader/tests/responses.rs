//! The Responses API, as OpenAI, vLLM, SGLang, llama.cpp and others speak it.

use super::*;

fn responses(body: &str) -> (Reader, Vec<Seen>) {
    read_as(Dialect::Responses, &RequestPeek::default(), &head(200, EVENTS), body)
}

const CREATED: (&str, &str) = (
    "response.created",
    r#""sequence_number":0,"response":{"id":"r","object":"response","model":"m-1","status":"in_progress","usage":null,"error":null,"incomplete_details":null,"output":[]}"#,
);

fn end(kind: &str, fields: &str) -> String {
    typed(&[(
        kind,
        &format!(
            r#""sequence_number":99,"response":{{"id":"r","object":"response","model":"m-1",{fields}}}"#
        ),
    )])
}

const USAGE: &str = r#""usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":8,"cache_write_tokens":4},"output_tokens":51,"output_tokens_details":{"reasoning_tokens":44},"total_tokens":87}"#;

fn delta(kind: &str, ordinal: u32, text: &str) -> String {
    typed(&[(
        kind,
        &format!(
            r#""sequence_number":{ordinal},"item_id":"msg_1","output_index":0,"content_index":0,"delta":"{text}","logprobs":[],"obfuscation":"{}""#,
            "x".repeat(ordinal as usize % 5)
        ),
    )])
}

fn text(ordinal: u32, text: &str) -> String {
    delta("response.output_text.delta", ordinal, text)
}

fn completed() -> String {
    end(
        "response.completed",
        &format!(r#""status":"completed","incomplete_details":null,"error":null,{USAGE}"#),
    )
}

#[test]
fn a_whole_stream_of_reasoning_and_text() {
    let body = typed(&[
        CREATED,
        ("response.in_progress", r#""sequence_number":1,"response":{"model":"m-1","status":"in_progress"}"#),
        (
            "response.output_item.added",
            r#""output_index":0,"sequence_number":2,"item":{"type":"reasoning","summary":[]}"#,
        ),
    ]) + &delta("response.reasoning_summary_text.delta", 3, "**A")
        + &delta("response.reasoning_summary_text.delta", 4, " b")
        + &typed(&[
            ("response.reasoning_summary_text.done", r#""sequence_number":5,"text":"**A b""#),
            (
                "response.output_item.done",
                r#""sequence_number":6,"item":{"type":"reasoning","summary":[{"text":"**A b"}]}"#,
            ),
            ("response.content_part.added", r#""sequence_number":7,"part":{"type":"output_text","text":""}"#),
        ])
        + &text(8, "Hel")
        + &text(9, "lo \\\"")
        + &text(10, "you")
        + &text(11, "")
        + &typed(&[(
            "response.output_text.done",
            r#""sequence_number":12,"text":"Hello \"you","logprobs":[]"#,
        )])
        + &completed();
    let (reader, seen) = golden(Dialect::Responses, EVENTS, &body);
    let (e, r, a) = (Seen::Event, output(0, false), output(0, true));
    assert_eq!(seen, [e, e, e, r, r, e, e, e, a, a, a, e, e, e, Seen::Terminal]);
    let facts = reader.facts();
    assert!(reader.is_stream() && facts.terminal && facts.all_finished && facts.error.is_none());
    assert_eq!((facts.model.as_deref(), reasons(&reader)), (Some("m-1"), vec!["completed"]));
    assert_eq!((facts.counts.events, facts.counts.chunks), (14, 5));
    let expected = Usage {
        input: Some(36),
        output: Some(51),
        total: Some(87),
        cached_input: Some(8),
        cache_write_input: Some(4),
        reasoning: Some(44),
        ..Usage::default()
    };
    assert_eq!(facts.usage(), Some((expected, Provenance::Reported)));
}

#[test]
fn every_delta_is_output_and_only_reasoning_is_no_answer() {
    for (kind, answer) in [
        ("response.output_text.delta", true),
        ("response.refusal.delta", true),
        ("response.function_call_arguments.delta", true),
        ("response.custom_tool_call_input.delta", true),
        ("response.mcp_call_arguments.delta", true),
        ("response.code_interpreter_call_code.delta", true),
        ("response.shell_call_command.delta", true),
        ("response.audio.delta", true),
        ("response.audio.transcript.delta", true),
        ("response.reasoning_text.delta", false),
        ("response.reasoning_summary_text.delta", false),
    ] {
        let body: String = (3..8).map(|ordinal| delta(kind, ordinal, "a")).collect();
        assert_eq!(responses(&body).1, [output(0, answer); 5], "{kind}");
        assert_eq!(responses(&delta(kind, 3, "")).1, [Seen::Event], "{kind}");
    }
}

#[test]
fn a_partial_image_is_output_and_what_a_tool_printed_is_none() {
    let image = [(
        "response.image_generation_call.partial_image",
        r#""partial_image_index":0,"partial_image_b64":"aGk=""#,
    )];
    assert_eq!(responses(&typed(&image)).1, [output(0, true)]);
    let printed = [("response.shell_call_output_content.delta", r#""delta":{"stdout":"a","stderr":""}"#)];
    assert_eq!(responses(&typed(&printed)).1, [Seen::Event]);
    for kind in ["response.output_text.done", "response.output_item.done", "response.content_part.done"] {
        let done = [(kind, r#""text":"a","logprobs":[{"token":"a"}],"item":{"delta":"a"}"#)];
        let (reader, seen) = responses(&typed(&done));
        assert_eq!((seen, reader.facts().tokens.listed), (vec![Seen::Event], 0), "{kind}");
    }
}

#[test]
fn channels_may_alternate() {
    let thought = |ordinal| delta("response.reasoning_text.delta", ordinal, "a");
    let body = text(1, "a")
        + &thought(2)
        + &thought(3)
        + &thought(4)
        + &text(5, "b")
        + &text(6, "c")
        + &text(7, "d");
    let (a, r) = (output(0, true), output(0, false));
    assert_eq!(responses(&body).1, [a, r, r, r, a, a, a]);
}

#[test]
fn the_type_may_stand_last_or_only_in_the_name() {
    // vLLM sorts the keys; transformers gives no name.
    let sorted = |kind: &str, ordinal: u32| {
        format!(
            "data: {{\"content_index\":0,\"delta\":\" a\",\"item_id\":\"m\",\"logprobs\":[],\"output_index\":0,\"sequence_number\":{ordinal},\"type\":\"{kind}\"}}\n\n"
        )
    };
    let body: String = (9..12).map(|n| sorted("response.output_text.delta", n)).collect::<String>()
        + &sorted("response.reasoning_text.delta", 12);
    let (a, r) = (output(0, true), output(0, false));
    assert_eq!(responses(&body).1, [a, a, a, r]);
    let named = |kind: &str| format!("event: {kind}\ndata: {{\"delta\":\"a\"}}\n\n");
    let (text, thought) = (named("response.output_text.delta"), named("response.reasoning_text.delta"));
    assert_eq!(responses(&(text.repeat(2) + &thought + &text)).1, [a, a, r, a]);
}

#[test]
fn log_probabilities_count_tokens() {
    let two = text(1, "ab").replace("[]", r#"[{"token":"a","logprob":-0.1},{"token":"b","logprob":0}]"#);
    let (reader, seen) = responses(&(two.repeat(2)));
    assert_eq!(seen, [output(2, true); 2]);
    assert_eq!(
        reader.facts().usage().map(|(u, from)| (u.output, from)),
        Some((Some(4), Provenance::Logprobs))
    );
}

#[test]
fn an_incomplete_answer_says_why() {
    let fields = |status: &str| {
        format!(r#""status":"{status}","incomplete_details":{{"reason":"max_output_tokens"}},{USAGE}"#)
    };
    // vLLM calls the event completed all the same.
    for kind in ["response.incomplete", "response.completed"] {
        let (reader, seen) = responses(&(text(1, "a") + &end(kind, &fields("incomplete"))));
        assert_eq!(seen, [output(0, true), Seen::Event, Seen::Terminal], "{kind}");
        assert_eq!(reasons(&reader), ["max_output_tokens"]);
        let facts = reader.facts();
        assert!(facts.terminal && facts.all_finished && facts.error.is_none());
        assert_eq!(facts.usage().unwrap().0.output, Some(51));
    }
    let (reader, _) =
        responses(&end("response.incomplete", r#""status":"incomplete","incomplete_details":null"#));
    assert_eq!(reasons(&reader), ["incomplete"]);
    let (reader, seen) = responses(&end("response.cancelled", r#""status":"cancelled""#));
    assert_eq!((reasons(&reader), seen), (vec!["cancelled"], vec![Seen::Event, Seen::Terminal]));
}

#[test]
fn usage_and_status_count_only_at_the_end() {
    let early = typed(&[(
        "response.in_progress",
        r#""response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":1}}"#,
    )]);
    let (reader, _) = responses(&early);
    assert!(
        reader.facts().tokens.reported.is_none() && !reader.facts().all_finished && !reader.facts().terminal
    );
}

#[test]
fn a_failed_answer_is_an_error_with_its_code() {
    let failed = end(
        "response.failed",
        r#""status":"failed","error":{"code":"server_error","message":"m"},"usage":null"#,
    );
    let (reader, seen) = responses(&(text(1, "a") + &failed));
    assert_eq!(seen, [output(0, true), Seen::Error, Seen::Terminal]);
    assert_eq!((said(&reader), reasons(&reader)), ((Some("server_error"), None), vec!["failed"]));
    let (reader, seen) = responses(&end("response.failed", r#""status":"failed","error":null"#));
    assert_eq!((seen, said(&reader)), (vec![Seen::Error, Seen::Terminal], (None, None)));
}

#[test]
fn an_error_event_ends_the_stream_flat_or_nested_named_or_not() {
    let flat =
        r#"{"type":"error","code":"rate_limit_exceeded","message":"m","param":null,"sequence_number":2}"#;
    let nested = r#"{"type":"error","sequence_number":2,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"m","param":null}}"#;
    for (data, kind) in [(flat, None), (nested, Some("tokens"))] {
        for name in ["event: error\n", ""] {
            let body = text(1, "a") + &format!("{name}data: {data}\n\n");
            let (reader, seen) = responses(&body);
            assert_eq!(seen, [output(0, true), Seen::Error, Seen::Terminal], "{body}");
            assert_eq!(said(&reader), (Some("rate_limit_exceeded"), kind), "{body}");
        }
    }
    // OpenAI sends the failed answer behind it: the first error is the one that holds.
    let (reader, _) = responses(
        &(format!("event: error\ndata: {nested}\n\n") + &end("response.failed", r#""status":"failed""#)),
    );
    assert_eq!(said(&reader), (Some("rate_limit_exceeded"), Some("tokens")));
}

#[test]
fn no_done_is_expected_and_one_does_no_harm() {
    let (reader, seen) = responses(&(text(1, "a") + &completed() + DONE));
    assert_eq!(seen, [output(0, true), Seen::Event, Seen::Terminal, Seen::Terminal]);
    assert_eq!((reasons(&reader), reader.facts().counts.parse_errors), (vec!["completed"], 0));
}

#[test]
fn a_stream_without_its_last_event_is_not_over() {
    let (reader, _) = responses(&(typed(&[CREATED]) + &text(1, "a")));
    let facts = reader.facts();
    assert!(!facts.terminal && !facts.all_finished && !facts.choices.seen_are_finished());
}

#[test]
fn engine_timings_come_with_the_last_event() {
    let timings = r#""timings":{"cache_n":32,"prompt_n":1,"predicted_n":16}"#;
    let fields = format!(r#""response":{{"status":"completed","output":[]}},{timings}"#);
    let body = typed(&[("response.completed", &fields)]);
    let (reader, _) = responses(&(text(1, "a") + &body));
    let (usage, from) = reader.facts().usage().unwrap();
    assert_eq!((usage.input, usage.output, from), (Some(33), Some(16), Provenance::EngineTimings));
}

#[test]
fn an_end_that_repeats_a_long_answer_is_read() {
    let long = format!(r#""status":"completed","output":[{{"text":"{}"}}],{USAGE}"#, "x".repeat(600_000));
    let body = text(1, "a") + &end("response.completed", &long);
    let mut reader = Reader::new(Dialect::Responses, &RequestPeek::default(), &head(200, EVENTS));
    body.as_bytes().chunks(16_000).for_each(|part| reader.feed(part, &mut |_| {}));
    reader.finish(&mut |_| {});
    assert!(reader.facts().terminal && reader.facts().counts.oversized == 0);
    assert_eq!(reader.facts().usage().unwrap().0.output, Some(51));
}

#[test]
fn documents_tell_status_and_usage() {
    let of = |fields: &str| {
        document(Dialect::Responses, &format!(r#"{{"id":"r","object":"response","model":"m-1",{fields}}}"#))
    };
    let output =
        r#""output":[{"type":"message","status":"completed","content":[{"text":"a","finish_reason":"no"}]}]"#;
    let reader =
        of(&format!(r#""error":null,{output},"status":"completed","incomplete_details":null,{USAGE}"#));
    let facts = reader.facts();
    assert!(!reader.is_stream() && facts.terminal && facts.all_finished && facts.error.is_none());
    assert_eq!((facts.model.as_deref(), reasons(&reader)), (Some("m-1"), vec!["completed"]));
    assert_eq!(facts.usage().unwrap().0.cache_write_input, Some(4));
    let reader = of(r#""status":"incomplete","incomplete_details":{"reason":"content_filter"},"usage":null"#);
    assert_eq!(reasons(&reader), ["content_filter"]);
    // An answer made in the background is not over yet.
    let reader = of(r#""status":"queued","error":null"#);
    assert!(reasons(&reader).is_empty() && reader.facts().error.is_none());
    let reader = of(r#""status":"failed","error":{"code":"server_error","message":"m"}"#);
    assert_eq!(said(&reader), (Some("server_error"), None));
}
