//! What is kept of a stream does not depend on how the stream is cut, and stays within its bound.

use proptest::prelude::*;
use proptest::sample::select;
use weir_core::content::{CaptureLimit, Output, Part};
use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::reader::{Reader, ResponseHead};

const DIALECTS: [Dialect; 8] = [
    Dialect::Chat,
    Dialect::Completions,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::OllamaChat,
    Dialect::OllamaGenerate,
    Dialect::TgiGenerate,
    Dialect::Transcription,
];

/// Events of every form, with `TEXT` for a string.
const DATA: [&str; 20] = [
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":1,"delta":{"reasoning":TEXT},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":TEXT,"function":{"name":"f","arguments":TEXT}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"refusal":TEXT}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"object":"text_completion","choices":[{"index":0,"text":TEXT,"finish_reason":null}]}"#,
    r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":TEXT}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":TEXT}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":TEXT}]}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":TEXT,"input":{}}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":TEXT}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
    r#"{"message":{"role":"assistant","content":TEXT},"done":false}"#,
    r#"{"response":TEXT,"done":true,"done_reason":"stop"}"#,
    r#"{"token":{"id":1,"text":TEXT,"special":false},"generated_text":null,"details":null}"#,
    r#"{"text":TEXT,"meta_info":{"completion_tokens":1}}"#,
    r#"{"type":"transcript.text.delta","delta":TEXT}"#,
    r#"{"choices":[{"index":0,"delta":{"content":TEXT"#,
    "[DONE]",
    "{}",
];

fn text() -> impl Strategy<Value = String> {
    "[a-z\u{e9}\u{5317}\u{1f600}\n\"\\\\]{0,12}"
}

fn event() -> impl Strategy<Value = String> {
    (select(&DATA[..]), text()).prop_map(|(data, text)| {
        let text = serde_json::Value::from(text).to_string();
        format!("data: {}\n\n", data.replace("TEXT", &text))
    })
}

fn read<'a>(dialect: Dialect, parts: impl Iterator<Item = &'a [u8]>, limit: usize) -> Output {
    let head = ResponseHead { status: 200, content_type: Some(b"text/event-stream"), content_encoding: None };
    let reader = Reader::new(dialect, &RequestPeek::default(), &head);
    let mut reader = reader.capturing(CaptureLimit(limit));
    parts.for_each(|part| reader.feed(part, &mut |_| {}));
    reader.finish(&mut |_| {});
    reader.take_said()
}

fn length(output: &Output) -> usize {
    let parts = output.choices.iter().flat_map(|choice| &choice.parts);
    parts
        .map(|part| match part {
            Part::Text(text) | Part::Reasoning(text) | Part::Refusal(text) => text.len(),
            Part::Call { id, name, arguments } => id.len() + name.len() + arguments.len(),
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn it_does_not_depend_on_how_the_stream_is_cut(
        dialect in select(&DIALECTS[..]),
        events in proptest::collection::vec(event(), 0..30),
        end in 0_usize..20,
        crlf in any::<bool>(),
        size in 1_usize..200,
        limit in select(vec![256_usize, 400, 16 * 1024]),
    ) {
        let body = events.concat();
        let body = if crlf { body.replace('\n', "\r\n") } else { body };
        let bytes = &body.as_bytes()[..body.len().saturating_sub(end)];
        let whole = read(dialect, std::iter::once(bytes), limit);
        prop_assert!(length(&whole) <= limit);
        prop_assert_eq!(read(dialect, bytes.chunks(size), limit), whole);
    }

    #[test]
    fn a_chat_is_what_its_deltas_come_to(
        deltas in proptest::collection::vec(text(), 0..60),
        size in 1_usize..200,
        limit in 256_usize..800,
    ) {
        let expected = deltas.concat();
        let event = |delta: &String| {
            let delta = serde_json::Value::from(delta.as_str());
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{delta}}}}}]}}\n\n")
        };
        let body: String = deltas.iter().map(event).collect();
        let output = read(Dialect::Chat, body.as_bytes().chunks(size), limit);
        let found = output.choices.first().map(|choice| &choice.parts[..]).unwrap_or_default();
        let found = match found {
            [] => "",
            [Part::Text(text)] => text,
            other => panic!("{other:?}"),
        };
        prop_assert!(expected.starts_with(found));
        prop_assert_eq!(output.cut, found.len() < expected.len());
        // The choice and its part take 32 bytes, and a character at most 4.
        prop_assert!(!output.cut || (limit - 35..=limit - 32).contains(&found.len()));
    }

    #[test]
    fn keeping_it_changes_nothing_else(
        dialect in select(&DIALECTS[..]),
        events in proptest::collection::vec(event(), 0..30),
        size in 1_usize..200,
    ) {
        let body = events.concat();
        let head = ResponseHead { status: 200, content_type: Some(b"text/event-stream"), content_encoding: None };
        let run = |mut reader: Reader| {
            let mut seen = Vec::new();
            body.as_bytes().chunks(size).for_each(|part| reader.feed(part, &mut |one| seen.push(one)));
            reader.finish(&mut |one| seen.push(one));
            (seen, format!("{:?}", reader.facts()))
        };
        let reader = || Reader::new(dialect, &RequestPeek::default(), &head);
        prop_assert_eq!(run(reader().capturing(CaptureLimit(300))), run(reader()));
    }
}
