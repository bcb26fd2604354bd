//! The Messages API, as Anthropic and the engines that copy it speak it.

use super::*;

fn messages(body: &str) -> (Reader, Vec<Seen>) {
    read_as(Dialect::Messages, &RequestPeek::default(), &head(200, EVENTS), body)
}

fn start(usage: &str) -> String {
    let message = format!(
        r#""message":{{"id":"msg_1","type":"message","role":"assistant","model":"c-1","content":[],"stop_reason":null,"usage":{{{usage}}}}}"#
    );
    typed(&[("message_start", &message)])
}

fn block(index: u32, block: &str) -> String {
    typed(&[("content_block_start", &format!(r#""index":{index},"content_block":{{{block}}}"#))])
}

fn delta(index: u32, delta: &str) -> String {
    typed(&[("content_block_delta", &format!(r#""index":{index},"delta":{{{delta}}}"#))])
}

fn text(index: u32, text: &str) -> String {
    delta(index, &format!(r#""type":"text_delta","text":"{text}""#))
}

fn end(reason: &str, usage: &str) -> String {
    let fields = format!(r#""delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{{usage}}}"#);
    typed(&[("message_delta", &fields), ("message_stop", "")])
}

const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

#[test]
fn a_whole_stream_of_thought_text_and_a_tool() {
    let body = start(
        r#""input_tokens":20,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1"#,
    ) + PING
        + &block(0, r#""type":"thinking","thinking":"","signature":"""#)
        + &delta(0, r#""type":"thinking_delta","thinking":"Let me""#)
        + &delta(0, r#""type":"thinking_delta","thinking":" see""#)
        + &delta(0, r#""type":"signature_delta","signature":"EqQB""#)
        + &typed(&[("content_block_stop", r#""index":0"#)])
        + &block(1, r#""type":"text","text":"""#)
        + &text(1, "Hi")
        + &text(1, " you")
        + PING
        + &text(1, "\\n\\\"")
        + &delta(1, r#""type":"citations_delta","citation":{"type":"char_location","cited_text":"x"}"#)
        + &block(2, r#""type":"tool_use","id":"toolu_1","name":"divide","input":{}"#)
        + &delta(2, r#""type":"input_json_delta","partial_json":"""#)
        + &delta(2, r#""type":"input_json_delta","partial_json":"{\"x\": 4""#)
        + &delta(2, r#""type":"input_json_delta","partial_json":"8}""#)
        + &end("tool_use", r#""output_tokens":89"#);
    let (reader, seen) = golden(Dialect::Messages, EVENTS, &body);
    let (e, r, a) = (Seen::Event, output(0, false), output(0, true));
    assert_eq!(seen, [e, e, e, r, r, e, e, e, a, a, e, a, e, e, e, a, a, e, e, Seen::Terminal]);
    let facts = reader.facts();
    assert!(reader.is_stream() && facts.terminal && facts.all_finished && facts.error.is_none());
    // Three blocks are one choice.
    assert_eq!((facts.model.as_deref(), reasons(&reader)), (Some("c-1"), vec!["tool_use"]));
    assert_eq!(facts.choices.seen().len(), 1);
    // Cached tokens are counted apart there, and belong to the input here.
    let expected = Usage {
        input: Some(125),
        output: Some(89),
        total: None,
        cached_input: Some(100),
        cache_write_input: Some(5),
        reasoning: None,
        ..Usage::default()
    };
    assert_eq!(facts.usage(), Some((expected, Provenance::Reported)));
}

#[test]
fn counts_are_running_totals_of_which_the_last_value_holds() {
    let body = start(r#""input_tokens":17,"output_tokens":1"#).repeat(2)
        + &text(0, "Hello, World!")
        + &end("end_turn", r#""output_tokens":227"#);
    let (reader, _) = messages(&body);
    let usage = reader.facts().usage().unwrap().0;
    assert_eq!((usage.input, usage.output, usage.cached_input), (Some(17), Some(227), None));
    // A later count of the prompt is the better one, and null is none.
    let body = start(r#""input_tokens":10,"cache_read_input_tokens":4,"output_tokens":1"#)
        + &end(
            "end_turn",
            r#""input_tokens":33,"cache_read_input_tokens":null,"output_tokens":16,"output_tokens_details":{"thinking_tokens":7}"#,
        );
    let usage = messages(&body).0.facts().usage().unwrap().0;
    assert_eq!(
        (usage.input, usage.output, usage.cached_input, usage.reasoning),
        (Some(37), Some(16), Some(4), Some(7))
    );
}

#[test]
fn writes_to_the_cache_are_told_apart_by_how_long_they_are_kept() {
    let body = start(
        r#""input_tokens":20,"cache_creation_input_tokens":300,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1"#,
    ) + &text(0, "Hi")
        + &end("end_turn", r#""cache_creation_input_tokens":300,"output_tokens":9"#);
    let usage = messages(&body).0.facts().usage().unwrap().0;
    assert_eq!((usage.input, usage.cache_write_input), (Some(320), Some(300)));
    assert_eq!((usage.cache_write_5m_input, usage.cache_write_1h_input), (Some(100), Some(200)));
    let untold = start(r#""input_tokens":20,"cache_creation":null,"output_tokens":1"#);
    let usage = messages(&(untold + &text(0, "Hi"))).0.facts().usage().unwrap().0;
    assert_eq!((usage.input, usage.cache_write_5m_input, usage.cache_write_1h_input), (Some(20), None, None));
}

#[test]
fn a_stream_that_breaks_off_has_no_more_than_was_counted() {
    let (reader, _) =
        messages(&(start(r#""input_tokens":17,"output_tokens":1"#) + &text(0, "a") + &text(0, "b")));
    let facts = reader.facts();
    assert!(!facts.terminal && !facts.all_finished);
    assert_eq!(facts.tokens.reported.map(|usage| usage.input), Some(Some(17)));
}

#[test]
fn neither_the_start_nor_a_ping_nor_an_empty_delta_is_a_token() {
    let body = start(r#""input_tokens":1,"output_tokens":1"#)
        + PING
        + &block(0, r#""type":"text","text":"""#)
        + &text(0, "")
        + &block(1, r#""type":"tool_use","name":"now","input":{}"#)
        + &block(2, r#""type":"redacted_thinking","data":"EqkE""#);
    assert_eq!(messages(&body).1, [Seen::Event; 6]);
    assert_eq!(messages(&block(0, r#""type":"text","text":"a""#)).1, [output(0, true)]);
}

#[test]
fn keys_come_in_any_order_and_padding_means_nothing() {
    let sorted = "event: content_block_delta\ndata: {\"delta\":{\"text\":\"a\",\"type\":\"text_delta\"},\"index\":0,\"type\":\"content_block_delta\"}\n\n";
    let padded = |blanks: usize| text(0, "a").replace("}}\n", &format!("}}{}}}\n", " ".repeat(blanks)));
    let body = sorted.repeat(3) + &padded(0) + &padded(7) + &padded(2) + &padded(2);
    assert_eq!(messages(&body).1, [output(0, true); 7]);
}

#[test]
fn the_type_may_stand_in_the_data_alone() {
    let body = start(r#""input_tokens":1,"output_tokens":1"#)
        + &text(0, "a")
        + &end("end_turn", r#""output_tokens":1"#);
    let bare: String =
        body.lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\n")).collect();
    assert_eq!(messages(&bare).1, messages(&body).1);
}

#[test]
fn a_stop_reason_without_the_stop_is_an_end_without_its_terminal_event() {
    let body = text(0, "a") + &end("max_tokens", r#""output_tokens":1"#);
    let cut = body.split("event: message_stop").next().unwrap();
    let (reader, _) = messages(cut);
    assert!(reader.facts().all_finished && !reader.facts().terminal);
    assert_eq!(reasons(&reader), ["max_tokens"]);
}

#[test]
fn an_error_comes_after_status_200_named_or_not() {
    let error = [("error", r#""error":{"type":"overloaded_error","message":"Overloaded"}"#)];
    for body in [typed(&error), typed(&error).replace("event: error\n", "")] {
        let (reader, seen) = messages(&(text(0, "a") + &body));
        assert_eq!(seen, [output(0, true), Seen::Error], "{body}");
        assert_eq!(said(&reader), (None, Some("overloaded_error")));
        assert!(!reader.facts().terminal);
    }
}

#[test]
fn documents_tell_stop_reason_and_usage() {
    let body = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"model":"c-1",
        "stop_reason":"end_turn","stop_sequence":null,"usage":{"cache_read_input_tokens":32,"input_tokens":1,"output_tokens":16}}"#;
    // Whatever the path lets expect.
    for dialect in [Dialect::Messages, Dialect::Chat] {
        let reader = document(dialect, body);
        let facts = reader.facts();
        assert!(!reader.is_stream() && facts.terminal && facts.all_finished && facts.error.is_none());
        let usage = facts.usage().unwrap().0;
        assert_eq!((usage.input, usage.output, usage.cached_input), (Some(33), Some(16), Some(32)));
        assert_eq!((facts.model.as_deref(), reasons(&reader)), (Some("c-1"), vec!["end_turn"]));
    }
    let reader =
        document(Dialect::Messages, r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#);
    assert_eq!(said(&reader), (None, Some("api_error")));
}
