//! What was asked.

use serde_json::{Value, json};

use super::*;
use crate::content::Input;

fn read(dialect: Dialect, body: &str, limit: usize) -> Option<Input> {
    let parts = |size: usize| Input::read(dialect, body.as_bytes().chunks(size), CaptureLimit(limit));
    let whole = parts(body.len().max(1));
    for size in [1, 7, 50] {
        assert_eq!(parts(size), whole, "by {size}");
    }
    whole
}

fn body(dialect: Dialect, body: &str) -> Value {
    let input = read(dialect, body, ROOM).unwrap();
    assert!(!input.cut);
    Value::Object(input.fields())
}

#[test]
fn only_what_the_model_is_told_is_kept() {
    let others =
        r#""model":"m","stream":true,"tools":[{"a":1}],"metadata":{"user_id":"u"},"text":{"format":1}"#;
    for (dialect, told) in [
        (Dialect::Chat, r#""messages":[{"role":"user","content":"H\u00e9"}]"#),
        (Dialect::Completions, r#""prompt":["a","b"],"suffix":"c""#),
        (Dialect::Embeddings, r#""input":"a""#),
        (
            Dialect::Responses,
            r#""instructions":"be","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}]"#,
        ),
        (Dialect::Messages, r#""system":"be","messages":[{"role":"user","content":"a"}]"#),
        (Dialect::OllamaChat, r#""messages":[{"role":"user","content":"a"}]"#),
        (Dialect::OllamaGenerate, r#""prompt":"a","system":"be""#),
        (Dialect::Rerank, r#""query":"a","documents":["b",{"text":"c"}]"#),
    ] {
        let expected: Value = serde_json::from_str(&format!("{{{told}}}")).unwrap();
        assert_eq!(body(dialect, &format!("{{{others},{told}}}")), expected);
        assert_eq!(body(dialect, &format!("{{{told},{others}}}")), expected);
    }
    assert_eq!(body(Dialect::TgiGenerate, r#"{"inputs":"a","parameters":{"x":1}}"#), json!({"inputs": "a"}));
    assert_eq!(body(Dialect::TgiGenerate, r#"{"text":"a"}"#), json!({"text": "a"}));
}

#[test]
fn nothing_is_made_of_what_says_nothing() {
    for (dialect, body) in [
        (Dialect::Chat, "{}"),
        (Dialect::Chat, ""),
        (Dialect::Chat, "no json"),
        (Dialect::Chat, "[1]"),
        (Dialect::Chat, r#"{"model":"m"}"#),
        (Dialect::Other, r#"{"messages":[{"role":"user","content":"a"}]}"#),
        (Dialect::Transcription, r#"{"prompt":"a"}"#),
    ] {
        assert_eq!(read(dialect, body, ROOM), None, "{body}");
    }
}

#[test]
fn it_is_cut_between_characters_and_the_rest_is_not_read() {
    let asked = format!(
        r#"{{"messages":[{{"role":"user","content":"{}"}},{{"role":"user"}}]}}"#,
        "\u{e9}".repeat(500)
    );
    let input = read(Dialect::Chat, &asked, 256).unwrap();
    assert!(input.cut);
    let fields = input.fields();
    let kept = fields["messages"][0]["content"].as_str().unwrap();
    assert!(kept.len() >= 128 && kept.chars().all(|letter| letter == '\u{e9}'), "{kept}");
    assert_eq!(fields["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_body_of_which_only_the_beginning_was_seen() {
    let asked = r#"{"messages":[{"role":"system","content":"be"},{"role":"user","content":"unfini"#;
    let input = read(Dialect::Chat, asked, ROOM).unwrap();
    assert!(input.cut);
    let expected = json!([{"role": "system", "content": "be"}, {"role": "user"}]);
    assert_eq!(input.fields()["messages"], expected);
}

#[test]
fn pictures_and_sounds_are_left_out() {
    let blob = "A".repeat(5000);
    let asked = format!(
        r#"{{"messages":[{{"role":"user","images":["{blob}"],"content":[
        {{"type":"image_url","image_url":{{"url":"data:image/png;base64,{blob}"}}}},
        {{"type":"image_url","image_url":{{"url":"https://host/picture.png"}}}},
        {{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{blob}"}}}},
        {{"type":"input_audio","input_audio":{{"data":"{blob}","format":"wav"}}}},
        {{"type":"file","file":{{"file_data":"data:application/pdf;base64,{blob}"}}}},
        {{"type":"tool_use","id":"t","input":{{"data":"{blob}"}}}}]}}]}}"#
    );
    let body = body(Dialect::Chat, &asked);
    let message = &body["messages"][0];
    let left_out = "[5000 bytes left out]";
    assert_eq!(message["images"], json!([left_out]));
    let content = &message["content"];
    assert_eq!(content[0]["image_url"]["url"], format!("data:image/png;base64,{left_out}"));
    assert_eq!(content[1]["image_url"]["url"], "https://host/picture.png");
    assert_eq!(content[2]["source"]["data"], left_out);
    assert_eq!(content[3]["input_audio"], json!({"data": left_out, "format": "wav"}));
    assert_eq!(content[4]["file"]["file_data"], format!("data:application/pdf;base64,{left_out}"));
    // What a model wrote for a tool is no picture.
    assert_eq!(content[5]["input"]["data"], blob);
}

#[test]
fn many_small_values_stay_within_the_bound() {
    let asked = format!(r#"{{"prompt":[{}1]}}"#, "1,".repeat(400_000));
    let input = read(Dialect::Completions, &asked, 4096).unwrap();
    assert!(input.cut);
    assert!(input.fields()["prompt"].as_array().unwrap().len() <= 256);
    let deep = format!(r#"{{"prompt":{}"#, "[".repeat(5000));
    assert!(read(Dialect::Completions, &deep, ROOM).is_none_or(|input| input.cut));
}

#[test]
fn it_keeps_to_itself() {
    let content = crate::content::Content {
        input: read(Dialect::Chat, r#"{"messages":[{"content":"secret"}]}"#, ROOM),
        ..Default::default()
    };
    assert!(!format!("{content:?}").contains("secret"));
}
