//! What the events themselves tell goes before what the path lets expect.

use super::*;

fn read(dialect: Dialect, content_type: &str, body: &str) -> (Reader, Vec<Seen>) {
    read_as(dialect, &RequestPeek::default(), &head(200, content_type), body)
}

/// Short streams of each kind, with the number of outputs in them.
fn streams() -> Vec<(&'static str, String)> {
    let responses = typed(&[
        ("response.created", r#""response":{"model":"m","status":"in_progress"}"#),
        ("response.output_text.delta", r#""delta":"a""#),
        ("response.output_text.delta", r#""delta":"b""#),
        ("response.completed", r#""response":{"status":"completed"}"#),
    ]);
    let messages = typed(&[
        ("message_start", r#""message":{"model":"m","usage":{"input_tokens":1}}"#),
        ("content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"a"}"#),
        ("content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"b"}"#),
        ("message_delta", r#""delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}"#),
        ("message_stop", ""),
    ]);
    let transcript = typed(&[
        ("transcript.text.delta", r#""delta":"a""#),
        ("transcript.text.delta", r#""delta":"b""#),
        ("transcript.text.done", r#""text":"ab""#),
    ]);
    let tgi = |end: &str| {
        format!(
            "data:{{\"index\":1,\"token\":{{\"id\":1,\"text\":\"a\",\"logprob\":0.0,\"special\":false}},\"generated_text\":{end},\"details\":null}}\n\n"
        )
    };
    vec![
        (EVENTS, responses),
        (EVENTS, messages),
        (EVENTS, transcript),
        (EVENTS, tgi("null") + &tgi("\"aa\"")),
        (EVENTS, token("a") + &token("b") + &stop() + DONE),
        (
            "application/x-ndjson",
            "{\"model\":\"m\",\"response\":\"a\",\"done\":false}\n{\"model\":\"m\",\"response\":\"b\",\"done\":false}\n{\"model\":\"m\",\"response\":\"\",\"done\":true}\n".to_owned(),
        ),
    ]
}

#[test]
fn events_of_any_dialect_are_understood_under_any_path() {
    for (content_type, body) in streams() {
        for dialect in
            [Dialect::Other, Dialect::Chat, Dialect::Messages, Dialect::Responses, Dialect::TgiGenerate]
        {
            let (reader, seen) = read(dialect, content_type, &body);
            let outputs = seen.iter().filter(|seen| matches!(seen, Seen::Output { .. })).count();
            assert_eq!(outputs, 2, "{dialect:?} {body}");
            let facts = reader.facts();
            assert!(reader.is_stream() && facts.terminal && facts.all_finished, "{dialect:?} {body}");
            assert_eq!(facts.counts.parse_errors, 0);
        }
    }
}

#[test]
fn events_of_an_unknown_kind_are_counted_and_not_guessed_at() {
    for data in [
        r#"{"type":"content-delta","delta":{"message":{"content":{"text":"a"}}}}"#,
        r#"{"object":"thread.message.delta","delta":{"content":[{"text":"a"}]}}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#,
        r#"{"choices":[{"text":"a"}]}"#,
        r#"{"text":"a","done":false}"#,
        r#"{"type":"ping"}"#,
        r#"{"error":"m"}"#,
        "a",
    ] {
        let (reader, seen) = read(Dialect::Other, EVENTS, &format!("data: {data}\n\n").repeat(3));
        assert_eq!(seen, [Seen::Event; 3], "{data}");
        let facts = reader.facts();
        assert!(!reader.is_stream() && facts.error.is_none() && facts.counts.parse_errors == 0, "{data}");
    }
    let (reader, seen) = read(Dialect::Other, "application/x-ndjson", "{\"status\":\"pulling\"}\n");
    assert_eq!((seen, reader.is_stream()), (vec![Seen::Event], false));
}

#[test]
fn a_stream_may_begin_with_what_tells_nothing() {
    let body =
        "event: ping\ndata: {\"type\":\"ping\"}\n\n: hello\n\n".repeat(3) + &token("a") + &stop() + DONE;
    let (e, a) = (Seen::Event, output(0, true));
    assert_eq!(read(Dialect::Other, EVENTS, &body).1, [e, e, e, a, e, Seen::Terminal]);
    // But not for ever.
    let body = "data: {}\n\n".repeat(8) + &token("a");
    let (reader, seen) = read(Dialect::Other, EVENTS, &body);
    assert_eq!((seen, reader.is_stream()), (vec![Seen::Event; 9], false));
}

#[test]
fn once_told_a_stream_keeps_its_grammar() {
    let other = typed(&[("content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"a"}"#)]);
    let body = token("a") + &other + &token("b");
    assert_eq!(read(Dialect::Chat, EVENTS, &body).1, [output(0, true), Seen::Event, output(0, true)]);
}

#[test]
fn a_broken_first_event_tells_nothing() {
    let broken = "data: {\"type\":\"message_start\",\"message\":{\n\n";
    let (_, seen) = read(Dialect::Chat, EVENTS, &(broken.to_owned() + &token("a")));
    assert_eq!(seen, [Seen::Broken, output(0, true)]);
    assert_eq!(read(Dialect::Other, EVENTS, broken).1, [Seen::Event]);
}

#[test]
fn documents_on_other_paths_are_not_read() {
    let body = r#"{"object":"response","status":"completed","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let reader = document(Dialect::Other, body);
    assert!(reader.facts().usage().is_none() && reasons(&reader).is_empty());
}
