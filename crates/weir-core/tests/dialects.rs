//! Streams that mix events of every dialect, as no server should send them: what is said of them does
//! not depend on how the bytes are cut, and no bytes are too strange.

use proptest::prelude::*;
use proptest::sample::select;
use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::reader::{Reader, ResponseHead, Seen};

const DIALECTS: [Dialect; 11] = [
    Dialect::Chat,
    Dialect::Completions,
    Dialect::Embeddings,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::OllamaChat,
    Dialect::OllamaGenerate,
    Dialect::TgiGenerate,
    Dialect::Transcription,
    Dialect::Rerank,
    Dialect::Other,
];

const CONTENT_TYPES: [&str; 4] =
    ["text/event-stream", "application/x-ndjson", "application/json", "text/plain"];

/// Data of events, each telling something that a reader looks for.
const DATA: &[&str] = &[
    r#"{"type":"response.created","response":{"model":"m","status":"in_progress","usage":null}}"#,
    r#"{"type":"response.output_text.delta","sequence_number":4,"item_id":"i","delta":"a","logprobs":[]}"#,
    r#"{"type":"response.output_text.delta","sequence_number":5,"item_id":"i","delta":"b\"","logprobs":[]}"#,
    r#"{"type":"response.output_text.delta","sequence_number":16,"item_id":"i","delta":"","logprobs":[]}"#,
    r#"{"delta":"t","sequence_number":17,"type":"response.reasoning_text.delta"}"#,
    r#"{"type":"response.output_text.delta","delta":"ab","logprobs":[{"token":"a"},{"token":"b"}]}"#,
    r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":2}}}"#,
    r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"x"}}}"#,
    r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"b"}  }"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
    r#"{"type":"message_stop"}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
    r#"{"error":"m","error_type":"generation"}"#,
    r#"{"model":"m","created_at":"1","message":{"role":"assistant","content":"a"},"done":false}"#,
    r#"{"model":"m","created_at":"12","message":{"role":"assistant","content":"b"},"done":false}"#,
    r#"{"model":"m","created_at":"3","response":"","done":true,"done_reason":"stop","eval_count":4}"#,
    r#"{"index":1,"token":{"id":7,"text":"a","logprob":-0.5,"special":false},"generated_text":null}"#,
    r#"{"index":2,"token":{"id":2,"text":"","logprob":0,"special":true},"generated_text":"a"}"#,
    r#"{"text":"a","meta_info":{"completion_tokens":1,"prompt_tokens":2,"finish_reason":null}}"#,
    r#"{"text":"ab","index":1,"meta_info":{"completion_tokens":3,"finish_reason":{"type":"stop"}}}"#,
    r#"{"type":"transcript.text.delta","delta":"a"}"#,
    r#"{"type":"transcript.text.segment","text":"a"}"#,
    r#"{"type":"transcript.text.done","text":"a","usage":{"type":"duration","seconds":1}}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"results":[{"generated_text":"a"}]}"#,
    r#"{"type":"response.output_text.delta","del"#,
    "[DONE]",
    "{}",
];

fn event() -> impl Strategy<Value = String> {
    let data = select(DATA);
    let name =
        select(vec!["", "", "", "event: message_stop\n", "event: error\n", "event: response.failed\n"]);
    (name, data).prop_map(|(name, data)| format!("{name}data: {data}\n\n"))
}

fn line() -> impl Strategy<Value = String> {
    (select(DATA), select(vec!["\n", "\r\n", "\n\n"])).prop_map(|(data, end)| format!("{data}{end}"))
}

/// One event many times over, so that its short cut is taken, and then others.
fn stream(one: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    proptest::collection::vec((one, 1_usize..5), 0..20)
        .prop_map(|parts| parts.into_iter().map(|(part, times)| part.repeat(times)).collect())
}

fn read<'a>(
    dialect: Dialect,
    content_type: &str,
    parts: impl Iterator<Item = &'a [u8]>,
) -> (Reader, Vec<Seen>) {
    let head =
        ResponseHead { status: 200, content_type: Some(content_type.as_bytes()), content_encoding: None };
    let mut reader = Reader::new(dialect, &RequestPeek::default(), &head);
    let mut seen = Vec::new();
    for part in parts {
        reader.feed(part, &mut |one| seen.push(one));
    }
    reader.finish(&mut |one| seen.push(one));
    (reader, seen)
}

fn cut_is_no_matter(
    dialect: Dialect,
    content_type: &str,
    bytes: &[u8],
    size: usize,
) -> Result<(), TestCaseError> {
    let (whole, expected) = read(dialect, content_type, std::iter::once(bytes));
    let (cut, seen) = read(dialect, content_type, bytes.chunks(size));
    prop_assert_eq!(seen, expected);
    prop_assert_eq!(format!("{:?}", cut.facts()), format!("{:?}", whole.facts()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn events_do_not_depend_on_how_they_are_cut(
        dialect in select(&DIALECTS[..]),
        text in stream(event()),
        end in 0_usize..4,
        size in 1_usize..200,
    ) {
        let bytes = &text.as_bytes()[..text.len().saturating_sub(end)];
        cut_is_no_matter(dialect, "text/event-stream", bytes, size)?;
    }

    #[test]
    fn lines_do_not_depend_on_how_they_are_cut(
        dialect in select(&DIALECTS[..]),
        text in stream(line()),
        end in 0_usize..4,
        size in 1_usize..200,
    ) {
        let bytes = &text.as_bytes()[..text.len().saturating_sub(end)];
        cut_is_no_matter(dialect, "application/x-ndjson", bytes, size)?;
    }

    #[test]
    fn documents_do_not_depend_on_how_they_are_cut(
        dialect in select(&DIALECTS[..]),
        data in select(DATA),
        end in 0_usize..30,
        size in 1_usize..50,
    ) {
        let bytes = &data.as_bytes()[..data.len().saturating_sub(end)];
        cut_is_no_matter(dialect, "application/json", bytes, size)?;
    }

    /// A short cut that was taken must come to the same as the long way: a blank before the data
    /// changes nothing in JSON, and no event then looks like the one before.
    #[test]
    fn short_cuts_say_what_the_long_way_says(dialect in select(&DIALECTS[..]), text in stream(event())) {
        let (_, short) = read(dialect, "text/event-stream", std::iter::once(text.as_bytes()));
        let mut blanks = 0;
        let long: String = text.split_inclusive('\n').map(|line| {
            blanks += 1;
            line.replacen("data: {", &format!("data: {}{{", " ".repeat(blanks)), 1)
        }).collect();
        let (_, seen) = read(dialect, "text/event-stream", std::iter::once(long.as_bytes()));
        prop_assert_eq!(seen, short);
    }

    #[test]
    fn no_bytes_are_too_strange(
        dialect in select(&DIALECTS[..]),
        content_type in select(&CONTENT_TYPES[..]),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        cut_is_no_matter(dialect, content_type, &bytes, 5)?;
    }
}
