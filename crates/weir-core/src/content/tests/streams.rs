//! Streams, put together.

use super::*;

fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

fn chat(delta: &str, reason: &str) -> String {
    event(&format!(
        r#"{{"id":"a","object":"chat.completion.chunk","model":"m","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}],"usage":null}}"#
    ))
}

fn word(text: &str) -> String {
    chat(&format!(r#"{{"content":{}}}"#, serde_json::Value::from(text)), "null")
}

const DONE: &str = "data: [DONE]\n\n";

/// Events whose type stands in the data and in the event's name.
fn typed(events: &[(&str, &str)]) -> String {
    let event =
        |&(kind, fields): &(&str, &str)| format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{fields}}}\n\n");
    events.iter().map(event).collect()
}

#[test]
fn a_chat_thinks_answers_and_calls() {
    let body = chat(r#"{"role":"assistant","content":""}"#, "null")
        + &chat(r#"{"reasoning_content":"let me ","content":null}"#, "null")
        + &chat(r#"{"reasoning":"see","reasoning_content":"see"}"#, "null")
        + &word("H\u{e9}l")
        + &word("lo \"\u{1f600}\"")
        + &word("")
        + &chat(
            r#"{"tool_calls":[{"index":0,"id":"c0","type":"function","function":{"name":"f","arguments":""}}]}"#,
            "null",
        )
        + &chat(r#"{"tool_calls":[{"index":1,"id":"c1","function":{"name":"g","arguments":"{}"}}]}"#, "null")
        + &chat(
            r#"{"tool_calls":[{"index":0,"id":"c0","function":{"name":"f","arguments":"{\"a\":"}}]}"#,
            "null",
        )
        + &chat(r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#, "null")
        + &chat("{}", "\"tool_calls\"")
        + DONE;
    let (parts, reason) = only(said(Dialect::Chat, EVENTS, &body, ROOM));
    let expected = [
        reasoning("let me see"),
        text("H\u{e9}llo \"\u{1f600}\""),
        call("c0", "f", "{\"a\":1}"),
        call("c1", "g", "{}"),
    ];
    assert_eq!(parts, expected);
    assert_eq!(reason.as_deref(), Some("tool_calls"));
}

#[test]
fn a_chat_in_other_forms() {
    for (delta, expected) in [
        (r#"{"refusal":"No."}"#, Part::Refusal("No.".into())),
        (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, text("ab")),
        (r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#, reasoning("hm")),
        (r#"{"function_call":{"name":"f","arguments":"{}"}}"#, call("", "f", "{}")),
        (r#"{"audio":{"transcript":"spoken","data":"AAAA"}}"#, text("spoken")),
    ] {
        assert_eq!(only(said(Dialect::Chat, EVENTS, &chat(delta, "null"), ROOM)).0, [expected], "{delta}");
    }
}

#[test]
fn choices_are_kept_apart() {
    let part = |index: u32, text: &str, reason: &str| {
        event(&format!(r#"{{"choices":[{{"index":{index},"text":"{text}","finish_reason":{reason}}}]}}"#))
    };
    let body =
        part(1, "a", "null") + &part(0, "b", "null") + &part(1, "c", "\"length\"") + &part(0, "d", "null");
    let output = said(Dialect::Completions, EVENTS, &body, ROOM);
    let found: Vec<_> = output
        .choices
        .iter()
        .map(|choice| (choice.index, choice.parts.clone(), choice.finish_reason.as_deref()))
        .collect();
    assert_eq!(found, [(1, vec![text("ac")], Some("length")), (0, vec![text("bd")], None)]);
}

#[test]
fn responses_with_several_items() {
    let body = typed(&[
        ("response.created", r#""response":{"status":"in_progress","instructions":"secret"}"#),
        ("response.reasoning_summary_text.delta", r#""output_index":0,"summary_index":0,"delta":"hm""#),
        ("response.output_text.delta", r#""output_index":1,"content_index":0,"delta":"Hel""#),
        ("response.output_text.delta", r#""output_index":1,"content_index":0,"delta":"lo""#),
        ("response.output_text.done", r#""output_index":1,"content_index":0,"text":"Hello""#),
        ("response.refusal.delta", r#""output_index":1,"content_index":1,"delta":"but""#),
        (
            "response.output_item.added",
            r#""output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":""}"#,
        ),
        ("response.function_call_arguments.delta", r#""output_index":2,"delta":"{\"a\"""#),
        ("response.function_call_arguments.delta", r#""output_index":2,"delta":":1}""#),
        (
            "response.output_item.done",
            r#""output_index":2,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}"#,
        ),
        (
            "response.output_item.done",
            r#""output_index":3,"item":{"type":"function_call","call_id":"d","name":"g","arguments":"{}"}"#,
        ),
        (
            "response.completed",
            r#""response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]}]}"#,
        ),
    ]);
    let (parts, reason) = only(said(Dialect::Responses, EVENTS, &body, ROOM));
    let expected = [
        reasoning("hm"),
        text("Hello"),
        Part::Refusal("but".into()),
        call("c", "f", "{\"a\":1}"),
        call("d", "g", "{}"),
    ];
    assert_eq!((parts, reason.as_deref()), (expected.to_vec(), Some("completed")));
}

#[test]
fn a_last_event_that_says_it_all_again_cuts_nothing() {
    let text_of = |length: usize| "x".repeat(length);
    let body = typed(&[
        ("response.output_text.delta", r#""output_index":0,"delta":"short""#),
        (
            "response.completed",
            &format!(r#""response":{{"status":"completed","instructions":"{}"}}"#, text_of(9000)),
        ),
    ]);
    assert_eq!(only(said(Dialect::Responses, EVENTS, &body, 256)).0, [text("short")]);
}

#[test]
fn messages_with_several_blocks() {
    let body = typed(&[
        (
            "message_start",
            r#""message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":3}}"#,
        ),
        (
            "content_block_start",
            r#""index":0,"content_block":{"type":"thinking","thinking":"","signature":""}"#,
        ),
        ("content_block_delta", r#""index":0,"delta":{"type":"thinking_delta","thinking":"hm"}"#),
        ("content_block_delta", r#""index":0,"delta":{"type":"signature_delta","signature":"c2ln"}"#),
        ("content_block_start", r#""index":1,"content_block":{"type":"text","text":"A"}"#),
        ("content_block_delta", r#""index":1,"delta":{"type":"text_delta","text":"b"}"#),
        (
            "content_block_start",
            r#""index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}"#,
        ),
        (
            "content_block_delta",
            r#""index":2,"delta":{"type":"input_json_delta","partial_json":"{\"usage\""}"#,
        ),
        ("content_block_delta", r#""index":2,"delta":{"type":"input_json_delta","partial_json":":1}"}"#),
        ("content_block_start", r#""index":3,"content_block":{"type":"text","text":""}"#),
        ("content_block_delta", r#""index":3,"delta":{"type":"text_delta","text":"c"}"#),
        ("message_delta", r#""delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}"#),
        ("message_stop", r#""x":0"#),
    ]);
    let (parts, reason) = only(said(Dialect::Messages, EVENTS, &body, ROOM));
    assert_eq!(parts, [reasoning("hm"), text("Ab"), call("t", "f", "{\"usage\":1}"), text("c")]);
    assert_eq!(reason.as_deref(), Some("tool_use"));
}

#[test]
fn ollamas_lines() {
    let chat = concat!(
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"usage":1}}}]},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"content":"","tool_calls":[{"function":{"name":"g","arguments":{}}}]},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"content":""},"done":true,"done_reason":"stop"}"#,
        "\n",
    );
    let (parts, reason) = only(said(Dialect::OllamaChat, LINES, chat, ROOM));
    assert_eq!(parts, [reasoning("hm"), text("Hi"), call("", "f", "{\"usage\":1}"), call("", "g", "{}")]);
    assert_eq!(reason.as_deref(), Some("stop"));
    let generate = concat!(
        r#"{"model":"m","response":"a","done":false}"#,
        "\n",
        r#"{"model":"m","response":"b","done":true,"done_reason":"length","context":[1,2]}"#,
        "\n",
    );
    let expected = (vec![text("ab")], Some("length".to_owned()));
    assert_eq!(only(said(Dialect::OllamaGenerate, LINES, generate, ROOM)), expected);
}

#[test]
fn tgis_tokens_and_sglangs_text_so_far() {
    let token = |text: &str, special: bool, whole: &str| {
        event(&format!(
            r#"{{"index":1,"token":{{"id":1,"text":"{text}","special":{special}}},"generated_text":{whole},"details":null}}"#
        ))
    };
    let body = token("a", false, "null") + &token("b", false, "null") + &token("</s>", true, "\"ab\"");
    assert_eq!(only(said(Dialect::TgiGenerate, EVENTS, &body, ROOM)).0, [text("ab")]);
    let so_far = |text: &str, tokens: u32| {
        event(&format!(
            r#"{{"text":"{text}","meta_info":{{"finish_reason":null,"prompt_tokens":9,"completion_tokens":{tokens}}}}}"#
        ))
    };
    let body = so_far("a", 1) + &so_far("ab", 2) + &so_far("ab", 3) + &so_far("abc", 4) + DONE;
    assert_eq!(only(said(Dialect::TgiGenerate, EVENTS, &body, ROOM)).0, [text("abc")]);
}

#[test]
fn transcriptions() {
    let deltas = typed(&[
        ("transcript.text.delta", r#""delta":"Hel""#),
        ("transcript.text.delta", r#""delta":"lo""#),
        ("transcript.text.segment", r#""text":"Hello""#),
        ("transcript.text.done", r#""text":"Hello""#),
    ]);
    assert_eq!(only(said(Dialect::Transcription, EVENTS, &deltas, ROOM)).0, [text("Hello")]);
    let segments = typed(&[
        ("transcript.text.segment", r#""text":"Hello""#),
        ("transcript.text.segment", r#""text":" you""#),
        ("transcript.text.done", r#""text":"Hello you""#),
    ]);
    assert_eq!(only(said(Dialect::Transcription, EVENTS, &segments, ROOM)).0, [text("Hello you")]);
    let done = typed(&[("transcript.text.done", r#""text":"Hello""#)]);
    assert_eq!(only(said(Dialect::Transcription, EVENTS, &done, ROOM)).0, [text("Hello")]);
}

#[test]
fn it_is_cut_between_characters() {
    let body: String = (0..300).map(|_| word("\u{e9}\u{e9}")).collect();
    let output = said(Dialect::Chat, EVENTS, &(body + &chat("{}", "\"stop\"") + DONE), 256);
    let [choice] = &output.choices[..] else { panic!() };
    // The choice and its part count too.
    assert_eq!(choice.parts, [text(&"\u{e9}".repeat(112))]);
    assert_eq!(choice.finish_reason.as_deref(), Some("stop"));
    assert!(output.cut);
    let odd = said(Dialect::Chat, EVENTS, &(word("a") + &word(&"\u{e9}".repeat(300))), 256);
    assert_eq!(
        (odd.choices[0].parts[0].clone(), odd.cut),
        (text(&format!("a{}", "\u{e9}".repeat(111))), true)
    );
}

#[test]
fn what_fits_to_the_byte_is_not_cut() {
    let body = word(&"x".repeat(224));
    assert_eq!(only(said(Dialect::Chat, EVENTS, &body, 256)).0, [text(&"x".repeat(224))]);
    assert!(said(Dialect::Chat, EVENTS, &(body + &word("y")), 256).cut);
}

#[test]
fn many_small_parts_stay_within_the_bound() {
    let body: String = (0..5000)
        .map(|index| {
            chat(&format!(r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":""}}}}]}}"#), "null")
        })
        .collect();
    let output = said(Dialect::Chat, EVENTS, &body, 1024);
    assert!(output.cut);
    assert!(output.choices[0].parts.len() < 64);
    let choices: String =
        (0..5000).map(|index| event(&format!(r#"{{"choices":[{{"index":{index},"text":"a"}}]}}"#))).collect();
    let output = said(Dialect::Completions, EVENTS, &choices, 1 << 20);
    assert!(output.cut);
    assert_eq!(output.choices.len(), 128);
}

#[test]
fn what_breaks_off_says_what_came() {
    let body = word("Hel") + &word("lo") + "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"unfi";
    assert_eq!(only(said(Dialect::Chat, EVENTS, &body, ROOM)), (vec![text("Hello")], None));
    assert_eq!(said(Dialect::Chat, EVENTS, "", ROOM), Output::default());
}

#[test]
fn events_of_no_known_form_say_nothing() {
    let body = event(r#"{"hello":"a"}"#)
        + &event("no json")
        + &event("[1,2]")
        + &event(r#"{"error":{"message":"m"}}"#);
    assert_eq!(said(Dialect::Chat, EVENTS, &body, ROOM), Output::default());
}
