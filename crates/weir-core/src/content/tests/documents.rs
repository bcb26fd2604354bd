//! Answers that are one document.

use super::*;

#[test]
fn a_chat() {
    let body = r#"{"id":"a","choices":[
        {"index":0,"message":{"role":"assistant","reasoning":"hm","content":"Hi","tool_calls":[
            {"id":"c","type":"function","function":{"name":"f","arguments":"{}"}},
            {"id":"d","type":"function","function":{"name":"g","arguments":"{}"}}]},
         "logprobs":{"content":[{"token":"Hi","logprob":-0.1}]},"finish_reason":"stop"},
        {"index":1,"message":{"role":"assistant","content":null,"refusal":"No."},"finish_reason":"length"}],
        "usage":{"prompt_tokens":1}}"#;
    let output = said(Dialect::Chat, JSON, body, ROOM);
    assert!(!output.cut);
    let [first, second] = &output.choices[..] else { panic!("{output:?}") };
    assert_eq!(first.parts, [reasoning("hm"), text("Hi"), call("c", "f", "{}"), call("d", "g", "{}")]);
    assert_eq!(first.finish_reason.as_deref(), Some("stop"));
    assert_eq!((&second.parts[..], second.index), (&[Part::Refusal("No.".into())][..], 1));
    assert_eq!(second.finish_reason.as_deref(), Some("length"));
}

#[test]
fn every_other_dialect() {
    let of = |dialect, body| only(said(dialect, JSON, body, ROOM));
    let reason = |text: &str| Some(text.to_owned());
    let body = r#"{"choices":[{"index":0,"text":" there","finish_reason":"length"}]}"#;
    assert_eq!(of(Dialect::Completions, body), (vec![text(" there")], reason("length")));
    let body = r#"{"object":"response","status":"completed","instructions":"x","text":{"format":{"type":"text"}},"output":[
        {"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xxxx"},
        {"type":"message","content":[{"type":"output_text","text":"Hi","annotations":[{"a":1}]},{"type":"refusal","refusal":"No."}]},
        {"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}"#;
    let parts = vec![reasoning("hm"), text("Hi"), Part::Refusal("No.".into()), call("c", "f", "{}")];
    assert_eq!(of(Dialect::Responses, body), (parts, reason("completed")));
    let body = r#"{"type":"message","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"hm","signature":"s"},
        {"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"f","input":{"data":"x","signature":1}}]}"#;
    let parts = vec![reasoning("hm"), text("Hi"), call("t", "f", r#"{"data":"x","signature":1}"#)];
    assert_eq!(of(Dialect::Messages, body), (parts, reason("tool_use")));
    let body = r#"{"message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop"}"#;
    assert_eq!(of(Dialect::OllamaChat, body), (vec![text("Hi")], reason("stop")));
    let body = r#"{"response":"Hi","done":true,"done_reason":"stop","context":[1,2,3]}"#;
    assert_eq!(of(Dialect::OllamaGenerate, body), (vec![text("Hi")], reason("stop")));
    let body = r#"{"generated_text":"Hi","details":{"finish_reason":"length","generated_tokens":2}}"#;
    assert_eq!(of(Dialect::TgiGenerate, body), (vec![text("Hi")], reason("length")));
    let body = r#"{"text":"Hi","meta_info":{"finish_reason":{"type":"stop"},"completion_tokens":2}}"#;
    assert_eq!(of(Dialect::TgiGenerate, body), (vec![text("Hi")], reason("stop")));
    let body = r#"{"text":"Hi","segments":[{"text":"Hi"}],"language":"en"}"#;
    assert_eq!(of(Dialect::Transcription, body), (vec![text("Hi")], None));
}

#[test]
fn several_answers_in_an_array() {
    let body = r#"[{"generated_text":"a"},{"generated_text":"b"}]"#;
    let output = said(Dialect::TgiGenerate, JSON, body, ROOM);
    let texts: Vec<_> = output.choices.iter().map(|choice| (choice.index, choice.parts.clone())).collect();
    assert_eq!(texts, [(0, vec![text("a")]), (1, vec![text("b")])]);
}

#[test]
fn what_does_not_fit_is_cut() {
    let body = format!(r#"{{"choices":[{{"index":0,"message":{{"content":"{}"}}}}]}}"#, "x".repeat(400));
    let output = said(Dialect::Chat, JSON, &body, 256);
    assert_eq!((output.choices[0].parts.clone(), output.cut), (vec![text(&"x".repeat(224))], true));
    // Even one that cannot be held is kept as far as it was seen.
    let body = body.replace("{\"choices\"", &format!("{{\"x\":\"{}\",\"choices\"", "y".repeat(100_000)));
    assert_eq!(said(Dialect::Chat, JSON, &body, 256), Output { choices: Vec::new(), cut: true });
}

#[test]
fn a_picture_is_no_text() {
    let body =
        format!(r#"{{"choices":[{{"message":{{"content":"Hi","images":["{}"]}}}}]}}"#, "A".repeat(9000));
    assert_eq!(only(said(Dialect::Chat, JSON, &body, 8192)).0, [text("Hi")]);
}

#[test]
fn errors_are_not_what_a_model_says() {
    let body = r#"{"error":{"message":"no","type":"x"},"choices":[{"index":0,"text":"a"}]}"#;
    let head = ResponseHead { status: 500, content_type: Some(b"application/json"), content_encoding: None };
    let reader = Reader::new(Dialect::Chat, &RequestPeek::default(), &head);
    let mut reader = reader.capturing(CaptureLimit(ROOM));
    reader.feed(body.as_bytes(), &mut |_| {});
    reader.finish(&mut |_| {});
    assert_eq!(reader.take_said(), Output::default());
}
