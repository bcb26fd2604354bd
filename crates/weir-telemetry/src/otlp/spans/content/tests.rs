use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use regex::Regex;
use serde_json::{Value, json};
use weir_analysis::cost::Valuation;
use weir_core::content::{CaptureLimit, Content, Input, Output, Part, Said};
use weir_core::dialect::Dialect;
use weir_core::outcome::Outcome;

use crate::config::Scheme;
use crate::fixture::exchange;
use crate::otlp::Surroundings;
use crate::otlp::config::SpanRules;
use crate::otlp::spans::SpanWriter;
use crate::valued::Valued;

/// The attributes of all spans of an exchange with this content.
fn spans(
    dialect: Dialect,
    content: Option<Content>,
    redact: &[&str],
) -> Vec<(String, BTreeMap<String, Any>)> {
    let mut exchange = exchange(dialect, Some(200), Outcome::ClientGoneMidStream, None, &[]);
    exchange.content = content.map(Box::new);
    let redact = redact.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
    let rules = SpanRules { redact, ..SpanRules::default() };
    let writer = SpanWriter::new(rules, false, Surroundings { upstreams: Vec::new(), scheme: Scheme::Http });
    let attributes = |list: Vec<_>| {
        let pair =
            |it: opentelemetry_proto::tonic::common::v1::KeyValue| (it.key, it.value.unwrap().value.unwrap());
        list.into_iter().map(pair).collect()
    };
    writer
        .spans(&Valued { exchange, valuation: Valuation::UNKNOWN })
        .into_iter()
        .map(|span| (span.name, attributes(span.attributes)))
        .collect()
}

/// What the span of the call says.
struct Call(BTreeMap<String, Any>);

impl Call {
    fn of(dialect: Dialect, input: Option<&str>, choices: Vec<Said>, redact: &[&str]) -> Self {
        let input = input
            .map(|body| Input::read(dialect, [body.as_bytes()].into_iter(), CaptureLimit(16 << 10)).unwrap());
        let content = Content { input, output: Output { choices, cut: false } };
        let mut spans = spans(dialect, Some(content), redact);
        // The root says the same in short, and no other span anything of it.
        let place = spans.iter().position(|(name, _)| name.ends_with(" m")).unwrap();
        for key in ["input.value", "input.mime_type", "output.value", "output.mime_type"] {
            assert_eq!(spans[0].1.get(key), spans[place].1.get(key), "{key}");
        }
        for (nth, (name, other)) in spans.iter().enumerate().filter(|(nth, _)| *nth != place) {
            let told = other.keys().filter(|key| is_content(key));
            assert!(told.clone().all(|key| nth == 0 && key.contains("put.")), "{name}");
        }
        let (_, call) = spans.remove(place);
        Self(call)
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            Any::StringValue(text) => Some(text),
            other => panic!("{key}: {other:?}"),
        }
    }

    fn json(&self, key: &str) -> Value {
        serde_json::from_str(self.text(key).unwrap()).unwrap()
    }

    fn value(&self, side: &str) -> (&str, &str) {
        let of = |name: &str| self.text(&format!("{side}.{name}")).unwrap();
        (of("mime_type"), of("value"))
    }
}

fn is_content(key: &str) -> bool {
    ["messages", "instructions", "input.", "output.", "content"].iter().any(|part| key.contains(part))
        && !key.starts_with("gen_ai.usage")
}

fn choice(parts: Vec<Part>, reason: Option<&str>) -> Said {
    Said { index: 0, parts, finish_reason: reason.map(Into::into) }
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

#[test]
fn a_chat_in_the_conventions_form() {
    let asked = r#"{"messages":[
        {"role":"system","content":"be"},
        {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"http://h/i.png"}}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
        {"role":"tool","tool_call_id":"c","content":"42"}]}"#;
    let called = Part::Call { id: "d".into(), name: "g".into(), arguments: "{\"b\"".into() };
    let parts = vec![Part::Reasoning("hm".into()), text("Hi"), called];
    let call = Call::of(Dialect::Chat, Some(asked), vec![choice(parts, Some("stop"))], &[]);
    let expected = json!([
        {"role": "system", "parts": [{"type": "text", "content": "be"}]},
        {"role": "user", "parts": [
            {"type": "text", "content": "look"},
            {"type": "uri", "modality": "image", "uri": "http://h/i.png"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "42"}]},
    ]);
    assert_eq!(call.json("gen_ai.input.messages"), expected);
    assert_eq!(call.text("gen_ai.system_instructions"), None);
    let expected = json!([{"role": "assistant", "finish_reason": "stop", "parts": [
        {"type": "reasoning", "content": "hm"},
        {"type": "text", "content": "Hi"},
        {"type": "tool_call", "id": "d", "name": "g", "arguments": "{\"b\""},
    ]}]);
    assert_eq!(call.json("gen_ai.output.messages"), expected);
    let (mime, value) = call.value("input");
    assert_eq!(
        (mime, serde_json::from_str::<Value>(value).unwrap()),
        ("application/json", serde_json::from_str(asked).unwrap())
    );
    let (mime, value) = call.value("output");
    let expected = json!({"role": "assistant", "content": "Hi", "reasoning_content": "hm", "tool_calls": [
        {"id": "d", "type": "function", "function": {"name": "g", "arguments": "{\"b\""}}]});
    assert_eq!((mime, serde_json::from_str::<Value>(value).unwrap()), ("application/json", expected));
    assert!(
        !call.0.contains_key("weir.content.input_cut") && !call.0.contains_key("weir.content.output_cut")
    );
}

#[test]
fn other_requests_in_the_conventions_form() {
    let user = |part: Value| json!([{"role": "user", "parts": [part]}]);
    let said = |text: &str| json!({"type": "text", "content": text});
    for (dialect, asked, messages, instructions) in [
        (Dialect::Completions, r#"{"prompt":"a"}"#, user(said("a")), None),
        (
            Dialect::Completions,
            r#"{"prompt":["a","b"]}"#,
            json!([{"role": "user", "parts": [said("a")]}, {"role": "user", "parts": [said("b")]}]),
            None,
        ),
        (
            Dialect::Completions,
            r#"{"prompt":[[1,2]]}"#,
            user(json!({"type": "token_ids", "content": [1, 2]})),
            None,
        ),
        (Dialect::TgiGenerate, r#"{"inputs":"a"}"#, user(said("a")), None),
        (
            Dialect::OllamaGenerate,
            r#"{"prompt":"a","system":"be"}"#,
            user(said("a")),
            Some(json!([said("be")])),
        ),
        (
            Dialect::OllamaChat,
            r#"{"messages":[{"role":"user","content":"a","images":["QUJD"]}]}"#,
            json!([{"role": "user", "parts": [said("a"), {"type": "image", "content": "QUJD"}]}]),
            None,
        ),
        (
            Dialect::Responses,
            r#"{"input":"a","instructions":"be"}"#,
            user(said("a")),
            Some(json!([said("be")])),
        ),
        (
            Dialect::Responses,
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},
            {"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},
            {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
            {"type":"function_call_output","call_id":"c","output":"42"}]}"#,
            json!([{"role": "user", "parts": [said("a")]},
                {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {}}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "42"}]}]),
            None,
        ),
        (
            Dialect::Messages,
            r#"{"system":[{"type":"text","text":"be"}],"messages":[
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"42"},{"type":"image","source":{"type":"url","url":"u"}}]}]}"#,
            json!([{"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"},
                    {"type": "tool_call", "id": "t", "name": "f", "arguments": {"a": 1}}]},
                {"role": "user", "parts": [{"type": "tool_call_response", "id": "t", "response": "42"},
                    {"type": "image", "source": {"type": "url", "url": "u"}}]}]),
            Some(json!([said("be")])),
        ),
    ] {
        let call = Call::of(dialect, Some(asked), Vec::new(), &[]);
        assert_eq!(call.json("gen_ai.input.messages"), messages, "{asked}");
        let found = call.text("gen_ai.system_instructions").map(|_| call.json("gen_ai.system_instructions"));
        assert_eq!(found, instructions, "{asked}");
    }
}

#[test]
fn every_message_has_a_finish_reason_and_there_is_always_an_output() {
    // The client left in mid-stream.
    let call = Call::of(Dialect::Chat, None, vec![choice(vec![text("Hel")], None)], &[]);
    assert_eq!(call.json("gen_ai.output.messages")[0]["finish_reason"], "error");
    assert_eq!(call.value("output"), ("text/plain", "Hel"));
    assert_eq!((call.text("input.value"), call.text("gen_ai.input.messages")), (None, None));
    let call = Call::of(Dialect::Chat, None, Vec::new(), &[]);
    assert_eq!(call.text("gen_ai.output.messages"), None);
    assert_eq!(call.value("output"), ("text/plain", ""));
    let two = vec![choice(vec![text("a")], None), choice(vec![Part::Refusal("no".into())], None)];
    let call = Call::of(Dialect::Chat, None, two, &[]);
    let (mime, value) = call.value("output");
    let expected =
        json!([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "", "refusal": "no"}]);
    assert_eq!((mime, serde_json::from_str::<Value>(value).unwrap()), ("application/json", expected));
}

#[test]
fn what_is_embedded_is_told_and_is_no_message() {
    let call = Call::of(Dialect::Embeddings, Some(r#"{"input":"a"}"#), Vec::new(), &[]);
    assert_eq!(call.value("input"), ("text/plain", "a"));
    assert_eq!(call.text("gen_ai.input.messages"), None);
    let call = Call::of(Dialect::Rerank, Some(r#"{"query":"a","documents":["b"]}"#), Vec::new(), &[]);
    assert_eq!(call.value("input").0, "application/json");
    assert_eq!(call.text("gen_ai.input.messages"), None);
}

#[test]
fn matches_are_taken_out_of_all_that_is_told() {
    let asked = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"my key is sk-abc1, yes"}]},
        {"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"key\":\"sk-abc2\"}"}}]}]}"#;
    let parts = vec![
        text("sk-abc3"),
        Part::Reasoning("sk-abc4".into()),
        Part::Refusal("sk-abc5".into()),
        Part::Call { id: "c".into(), name: "f".into(), arguments: "{\"k\":\"sk-abc6\"}".into() },
    ];
    // The second pattern would have the first one's work for a word of the API.
    let call = Call::of(
        Dialect::Chat,
        Some(asked),
        vec![choice(parts, Some("stop"))],
        &[r"sk-\w+", "text|user|\\d{4}"],
    );
    let all = format!("{:?}", call.0);
    assert!(!all.contains("sk-abc"), "{all}");
    let messages = call.json("gen_ai.input.messages");
    assert_eq!(messages[0]["parts"][0], json!({"type": "text", "content": "my key is [redacted], yes"}));
    assert_eq!(messages[1]["parts"][0]["arguments"], json!({"key": "[redacted]"}));
    assert_eq!(call.json("gen_ai.output.messages")[0]["parts"][3]["arguments"], json!({"k": "[redacted]"}));
    // What looks like a group of the pattern is none.
    let call = Call::of(Dialect::Completions, Some(r#"{"prompt":"a$1"}"#), Vec::new(), &[r"(a)\$1"]);
    assert_eq!(call.value("input").1, "[redacted]");
}

#[test]
fn a_cut_is_told() {
    let input = Input { body: r#"{"prompt":"a"}"#.into(), cut: true };
    let content = Content { input: Some(input), output: Output { choices: Vec::new(), cut: true } };
    let spans = spans(Dialect::Completions, Some(content), &[]);
    let (_, call) = spans.iter().find(|(name, _)| name.ends_with(" m")).unwrap();
    assert_eq!(call["weir.content.input_cut"], Any::BoolValue(true));
    assert_eq!(call["weir.content.output_cut"], Any::BoolValue(true));
}

#[test]
fn without_content_nothing_is_told() {
    for (_, attributes) in spans(Dialect::Chat, None, &["."]) {
        assert!(!attributes.keys().any(|key| is_content(key)), "{attributes:?}");
    }
}
