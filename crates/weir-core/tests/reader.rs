//! What the reader says of a stream does not depend on how the bytes are cut, nor on which of its
//! short cuts it could take.

mod oracle;

use oracle::Kind;
use proptest::prelude::*;
use proptest::sample::select;
use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::reader::{Reader, ResponseHead, Seen};

fn read<'a>(dialect: Dialect, parts: impl Iterator<Item = &'a [u8]>) -> (Reader, Vec<Seen>) {
    let head = ResponseHead { status: 200, content_type: Some(b"text/event-stream"), content_encoding: None };
    let mut reader = Reader::new(dialect, &RequestPeek::default(), &head);
    let mut seen = Vec::new();
    for part in parts {
        reader.feed(part, &mut |one| seen.push(one));
    }
    reader.finish(&mut |one| seen.push(one));
    (reader, seen)
}

/// A JSON string, with all that needs an escape, or looks like JSON and is not.
fn string() -> BoxedStrategy<String> {
    let text = prop_oneof![
        2 => Just(String::new()),
        8 => "[ -~\u{e9}\u{2028}\u{5317}\u{1f600}\n\t\"\\\\]{1,8}",
        1 => Just(r#"","finish_reason":"stop""#.to_owned()),
        1 => Just(r#"\"#.to_owned()),
    ];
    text.prop_map(|text| serde_json::Value::from(text).to_string()).boxed()
}

fn delta() -> BoxedStrategy<String> {
    prop_oneof![
        12 => string().prop_map(|s| format!(r#""delta":{{"content":{s}}}"#)),
        4 => string().prop_map(|s| format!(r#""delta":{{"content":null,"reasoning_content":{s}}}"#)),
        3 => (string(), string()).prop_map(|(a, b)| format!(r#""delta":{{"reasoning":{a},"content":{b}}}"#)),
        3 => string().prop_map(|s| format!(r#""text":{s}"#)),
        1 => string().prop_map(|s| format!(r#""delta": {{"role":"assistant","refusal" : {s} }}"#)),
        1 => string().prop_map(|s| format!(r#""delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":{s}}}}}]}}"#)),
        1 => select(vec![r#""delta":null"#, r#""delta":{}"#, r#""x":1"#, r#""delta":{"content":[{"type":"thinking"}]}"#])
            .prop_map(str::to_owned),
    ]
    .boxed()
}

fn choice() -> BoxedStrategy<String> {
    let index = prop_oneof![9 => Just(0), 1 => 0..3_u32];
    let rest = prop_oneof![
        8 => Just(r#""logprobs":null,"finish_reason":null"#),
        3 => Just(r#""finish_reason":null,"token_ids":null"#),
        1 => Just(r#""finish_reason":"""#),
        1 => Just(r#""finish_reason":"stop""#),
        1 => Just(r#""finish_reason":"error""#),
        1 => Just(r#""logprobs":{"tokens":["a"]},"finish_reason":null"#),
        1 => Just(r#""token_ids":[1,2]"#),
    ];
    (index, delta(), rest)
        .prop_map(|(index, delta, rest)| format!(r#"{{"index":{index},{delta},{rest}}}"#))
        .boxed()
}

fn event() -> BoxedStrategy<String> {
    let choices = prop_oneof![
        12 => choice(),
        1 => Just(String::new()),
        1 => (choice(), choice()).prop_map(|(a, b)| format!("{a}, {b}")),
    ];
    let tail = prop_oneof![
        8 => Just(String::new()),
        4 => string().prop_map(|s| format!(r#","usage":null,"obfuscation":{s}"#)),
        1 => Just(r#","usage":{"prompt_tokens":1,"completion_tokens":2}"#.to_owned()),
        1 => Just(r#","error":{"message":"m"}"#.to_owned()),
        1 => Just(r#","error":null"#.to_owned()),
    ];
    let before =
        prop_oneof![9 => Just(String::new()), 1 => string().prop_map(|s| format!(r#""obfuscation":{s},"#))];
    let data = (before, choices, tail).prop_map(|(before, choices, tail)| {
        format!(r#"{{"id":"a","model":"m",{before}"choices":[{choices}]{tail}}}"#)
    });
    prop_oneof![
        40 => data.prop_map(|data| format!("data: {data}\n\n")),
        1 => Just(": comment\n\n".to_owned()),
        1 => Just("data: {\"choices\":[{\"delta\":{\"content\":\"cut\n\n".to_owned()),
        1 => Just("event: error\ndata: {\"error\":{}}\n\n".to_owned()),
        1 => Just("data: [DONE]\n\n".to_owned()),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn agrees_with_a_full_parse(events in proptest::collection::vec(event(), 0..40)) {
        let text = events.concat();
        let expected: Vec<_> = oracle::events(&text)
            .iter()
            .flat_map(|(name, data)| oracle::judge(name, data))
            .collect();
        let (reader, seen) = read(Dialect::Chat, std::iter::once(text.as_bytes()));
        let kinds: Vec<_> = seen.into_iter().map(Kind::from).collect();
        prop_assert_eq!(&kinds, &expected);
        let chunks = kinds.iter().filter(|kind| matches!(kind, Kind::Output { .. })).count();
        prop_assert_eq!(reader.facts().counts.chunks, chunks as u64);
    }

    #[test]
    fn does_not_depend_on_how_it_is_cut(
        events in proptest::collection::vec(event(), 0..20),
        end in 0_usize..4,
        crlf in any::<bool>(),
        size in 1_usize..200,
    ) {
        let text = events.concat();
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let bytes = &text.as_bytes()[..text.len().saturating_sub(end)];
        let (whole, expected) = read(Dialect::Completions, std::iter::once(bytes));
        let (cut, seen) = read(Dialect::Completions, bytes.chunks(size));
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(format!("{:?}", cut.facts()), format!("{:?}", whole.facts()));
    }

    #[test]
    fn no_bytes_are_too_strange(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        content_type in select(vec!["text/event-stream", "application/json", "text/html"]),
        status in select(vec![200_u16, 400, 502]),
    ) {
        let head = ResponseHead { status, content_type: Some(content_type.as_bytes()), content_encoding: None };
        let mut reader = Reader::new(Dialect::Chat, &RequestPeek::default(), &head);
        bytes.chunks(5).for_each(|part| reader.feed(part, &mut |_| {}));
        reader.finish(&mut |_| {});
    }
}
