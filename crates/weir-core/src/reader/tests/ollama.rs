//! Ollama's own API: one JSON document a line.

use super::*;

const LINES: &str = "application/x-ndjson";

fn lines(dialect: Dialect, body: &str) -> (Reader, Vec<Seen>) {
    read_as(dialect, &RequestPeek::default(), &head(200, LINES), body)
}

fn line(n: u32, fields: &str) -> String {
    format!("{{\"model\":\"llama3\",\"created_at\":\"2025-08-14T14:53:06.{n}Z\",{fields}}}\n")
}

fn chat_line(n: u32, message: &str) -> String {
    line(n, &format!(r#""message":{{"role":"assistant",{message}}},"done":false"#))
}

const COUNTS: &str = r#""total_duration":2260690000,"load_duration":37414250,"prompt_eval_count":69,"prompt_eval_duration":18515250,"eval_count":7,"eval_duration":1302640791"#;

fn done(reason: &str, counts: &str) -> String {
    line(99, &format!(r#""message":{{"role":"assistant","content":""}},{reason}"done":true,{counts}"#))
}

#[test]
fn a_whole_chat_of_thought_text_and_a_tool() {
    let body = chat_line(1, r#""content":"","thinking":"The""#)
        + &chat_line(22, r#""content":"","thinking":" user""#)
        + &chat_line(333, r#""content":"","thinking":" asks""#)
        + &chat_line(4, r#""content":"Hi""#)
        + &chat_line(55, r#""content":" \"you\"""#)
        + &chat_line(666, r#""content":" there""#)
        + &chat_line(7, r#""content":"","tool_calls":[{"function":{"name":"now","arguments":{}}}]"#)
        + &done(r#""done_reason":"stop","#, COUNTS);
    for content_type in [LINES, "application/jsonl", "application/x-ndjson; charset=utf-8"] {
        let (reader, seen) = golden(Dialect::OllamaChat, content_type, &body);
        let (r, a) = (output(0, false), output(0, true));
        assert_eq!(seen, [r, r, r, a, a, a, a, Seen::Event, Seen::Terminal]);
        let facts = reader.facts();
        assert!(reader.is_stream() && facts.terminal && facts.all_finished && !facts.unterminated);
        assert_eq!((facts.model.as_deref(), reasons(&reader)), (Some("llama3"), vec!["stop"]));
        assert_eq!((facts.counts.events, facts.counts.chunks, facts.counts.parse_errors), (8, 7, 0));
        let (usage, from) = facts.usage().unwrap();
        assert_eq!((usage.input, usage.output, from), (Some(69), Some(7), Provenance::Reported));
    }
}

#[test]
fn a_generation_has_its_text_at_the_top() {
    let body = line(1, r#""response":"","thinking":"Hm","done":false"#)
        + &line(2, r#""response":"Hi","done":false"#)
        + &line(3, r#""response":" you","done":false"#)
        + &line(
            4,
            &format!(r#""response":"","done":true,"done_reason":"length","context":[1,2,3],{COUNTS}"#),
        );
    let (reader, seen) = golden(Dialect::OllamaGenerate, LINES, &body);
    assert_eq!(seen, [output(0, false), output(0, true), output(0, true), Seen::Event, Seen::Terminal]);
    assert_eq!(reasons(&reader), ["length"]);
    assert_eq!(reader.facts().usage().unwrap().0.output, Some(7));
}

#[test]
fn a_cached_prompt_has_no_count_and_the_output_is_reported_all_the_same() {
    let body = chat_line(1, r#""content":"a""#) + &done(r#""done_reason":"stop","#, r#""eval_count":7"#);
    let (reader, _) = lines(Dialect::OllamaChat, &body);
    let expected = Usage { output: Some(7), ..Usage::default() };
    assert_eq!(reader.facts().usage(), Some((expected, Provenance::Reported)));
}

#[test]
fn old_servers_end_without_a_reason() {
    let (reader, seen) = lines(Dialect::OllamaChat, &(chat_line(1, r#""content":"a""#) + &done("", COUNTS)));
    assert_eq!(seen.last(), Some(&Seen::Terminal));
    assert!(reader.facts().all_finished && reasons(&reader).is_empty());
}

#[test]
fn a_whole_answer_in_one_line_has_all_tokens_in_it() {
    let body = line(
        1,
        &format!(
            r#""message":{{"role":"assistant","content":"Hi you"}},"done":true,"done_reason":"stop",{COUNTS}"#
        ),
    );
    assert_eq!(lines(Dialect::OllamaChat, &body).1, [output(7, true), Seen::Terminal]);
}

#[test]
fn log_probabilities_count_tokens() {
    let body = line(1, r#""response":"ab","logprobs":[{"token":"a"},{"token":"b"}],"done":false"#);
    let (reader, seen) = lines(Dialect::OllamaGenerate, &body.repeat(2));
    assert_eq!((seen, reader.facts().tokens.listed), (vec![output(2, true); 2], 4));
}

#[test]
fn the_last_line_may_lack_its_end_or_be_cut() {
    let body = chat_line(1, r#""content":"a""#) + done(r#""done_reason":"stop","#, COUNTS).trim_end();
    let (reader, seen) = golden(Dialect::OllamaChat, LINES, &body);
    assert_eq!(seen, [output(0, true), Seen::Event, Seen::Terminal]);
    assert!(reader.facts().unterminated && reader.facts().terminal);
    let cut = &body[..body.len() - 20];
    let (reader, seen) = lines(Dialect::OllamaChat, cut);
    let facts = reader.facts();
    assert_eq!(seen, [output(0, true)]);
    assert!(facts.unterminated && !facts.terminal && facts.counts.parse_errors == 0);
}

#[test]
fn crlf_and_blank_lines_are_no_lines() {
    let body = chat_line(1, r#""content":"a""#) + "\n" + &done(r#""done_reason":"stop","#, COUNTS);
    let (reader, seen) = lines(Dialect::OllamaChat, &body.replace('\n', "\r\n"));
    assert_eq!(seen, [output(0, true), Seen::Event, Seen::Terminal]);
    assert_eq!((reader.facts().counts.events, reader.facts().unterminated), (2, false));
}

#[test]
fn an_error_is_a_line_of_its_own() {
    let body = chat_line(1, r#""content":"a""#)
        + "{\"error\":\"an error was encountered while running the model\"}\n";
    let (reader, seen) = lines(Dialect::OllamaChat, &body);
    assert_eq!(seen, [output(0, true), Seen::Error]);
    assert_eq!(reader.facts().error.as_ref().map(|error| error.error_type), Some(ErrorType::StreamError));
}

#[test]
fn a_broken_line_breaks_nothing_else() {
    let body = chat_line(1, r#""content":"a""#) + "{\"model\":\n[1]\n" + &chat_line(2, r#""content":"b""#);
    let (reader, seen) = lines(Dialect::OllamaChat, &body);
    assert_eq!(seen, [output(0, true), Seen::Broken, Seen::Broken, output(0, true)]);
    assert_eq!(reader.facts().counts.parse_errors, 2);
}

#[test]
fn documents_have_the_same_fields() {
    let body = done(r#""done_reason":"stop","#, COUNTS);
    for dialect in [Dialect::OllamaChat, Dialect::OllamaGenerate] {
        let reader = document(dialect, &body);
        let facts = reader.facts();
        assert!(!reader.is_stream() && facts.terminal && facts.all_finished);
        assert_eq!((facts.model.as_deref(), reasons(&reader)), (Some("llama3"), vec!["stop"]));
        let usage = facts.usage().unwrap().0;
        assert_eq!((usage.input, usage.output), (Some(69), Some(7)));
    }
    let reader = document(Dialect::OllamaChat, r#"{"error":"model failed to load"}"#);
    assert!(reader.facts().error.is_some());
}
