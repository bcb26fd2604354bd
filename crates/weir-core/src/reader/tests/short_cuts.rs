//! Whether the short cut is taken where it can be, and only there.

use super::*;
use crate::dialect::grammar::Grammar;
use crate::reader::choices::Choices;
use crate::reader::template::Template;
use crate::sse::Event;

/// What a template says of an event after it has seen some others.
fn after(dialect: Dialect, seen: &[&str], data: &str) -> Option<bool> {
    let mut grammar = Grammar::expected(dialect);
    let mut choices = Choices::default();
    let mut template = Template::default();
    for data in seen {
        let event = Event { name: b"", data: data.as_bytes(), terminated: true };
        template.learn(event.data, &grammar.read(event, &mut choices).unwrap());
    }
    template.matches(data.as_bytes())
}

fn delta(ordinal: &str, text: &str) -> String {
    format!(
        r#"{{"type":"response.output_text.delta","sequence_number":{ordinal},"delta":"{text}","obfuscation":"{text}"}}"#
    )
}

#[test]
fn ordinals_and_padding_of_responses_may_differ() {
    let seen = [delta("9", "a"), delta("10", "bc")];
    let seen: Vec<_> = seen.iter().map(String::as_str).collect();
    let says = |ordinal, text| after(Dialect::Responses, &seen, &delta(ordinal, text));
    assert_eq!(says("11", "d"), Some(true));
    assert_eq!(says("0", "\\\""), Some(true));
    assert_eq!(says("123456", ""), Some(false));
    // What is no whole number is looked into.
    for ordinal in ["", "011", "-1", "1.5", "1e3", "\"1\"", "null"] {
        assert_eq!(says(ordinal, "d"), None, "{ordinal}");
    }
    // What did not change before may mean something.
    assert_eq!(after(Dialect::Responses, &seen[..1], &delta("10", "b")), None);
}

#[test]
fn stamps_of_lines_may_differ() {
    let line =
        |stamp: &str, text: &str| format!(r#"{{"created_at":"{stamp}","response":"{text}","done":false}}"#);
    let seen = [line("1", "a"), line("22", "b")];
    let seen: Vec<_> = seen.iter().map(String::as_str).collect();
    assert_eq!(after(Dialect::OllamaGenerate, &seen, &line("333", "c")), Some(true));
    let done = line("4", "c").replace("false", "true");
    assert_eq!(after(Dialect::OllamaGenerate, &seen, &done), None);
}

#[test]
fn blanks_before_the_last_brace_may_differ() {
    let padded = |blanks: &str, end: &str| {
        format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"text":"a"}}{blanks}}}{end}"#)
    };
    for before in ["", "   "] {
        let seen = padded(before, "");
        let says = |data: String| after(Dialect::Messages, &[&seen], &data);
        for blanks in ["", " ", "        "] {
            assert_eq!(says(padded(blanks, "")), Some(true), "{before:?} {blanks:?}");
        }
        assert_eq!(says(padded("", "}")), None);
        assert_eq!(says(padded(r#","x":1"#, "")), None);
        assert_eq!(says(padded("\u{c}", "")), None);
    }
}
