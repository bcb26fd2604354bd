//! What each API writes, byte by byte, and that a stream has as many events as it says.

use std::io::Write as _;

use http::StatusCode;
use serde_json::{Value, json};

use super::audio::Task;
use super::script::Request;
use super::*;
use crate::engine::batch::Cached;
use crate::engine::config::{Behaviour, Length, RoleChunk};
use crate::engine::events::{Due, Events};
use crate::engine::generation::Generation;

/// A form with a file of two seconds.
const FORM: &str = "multipart/form-data; boundary=b";

fn form(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        write!(body, "--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").unwrap();
    }
    let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n";
    write!(body, "{head}{}\r\n--b--\r\n", "x".repeat(64_000)).unwrap();
    body
}

fn read(api: Api, body: &[u8], behaviour: &Behaviour) -> Request {
    let terms = Terms { behaviour, model: "sim", id: "1" };
    match api {
        Api::Chat => chat::read(body, &terms),
        Api::Completions => completions::read(body, &terms),
        Api::Responses => responses::read(body, &terms),
        Api::Messages => messages::read(body, &terms),
        Api::Ollama(endpoint) => ollama::read(body, endpoint, &terms),
        Api::Tgi(endpoint) => tgi::read(body, endpoint, &terms),
        Api::Audio(task) => audio::read(FORM, body, task, &terms),
    }
    .unwrap()
}

fn events(api: Api, body: &[u8], behaviour: &Behaviour, fails_at: Option<u64>) -> Events {
    let Request { ask, script } = read(api, body, behaviour);
    Events::new(Generation::new(ask, 8, Cached::default()), script, fails_at)
}

fn stream_of(api: Api, body: &[u8], fails_at: Option<u64>) -> String {
    let bytes: Vec<u8> =
        events(api, body, &Behaviour::default(), fails_at).flat_map(|event| event.bytes.to_vec()).collect();
    String::from_utf8(bytes).unwrap()
}

fn stream(api: Api, body: &Value) -> String {
    stream_of(api, body.to_string().as_bytes(), None)
}

fn whole_of(api: Api, body: &[u8]) -> String {
    let Request { ask, mut script } = read(api, body, &Behaviour::default());
    let bytes = script.whole(&Generation::new(ask, 8, Cached::default()));
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn whole(api: Api, body: &Value) -> String {
    whole_of(api, body.to_string().as_bytes())
}

fn user() -> Value {
    json!([{"role": "user", "content": "how high"}])
}

/// Events as they are on the wire: each of these with its mark before it and an empty line after it.
fn sse(events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Events whose type names them.
fn typed(events: &[&str]) -> String {
    let name = |event: &str| {
        let json: Value = serde_json::from_str(event).unwrap();
        json["type"].as_str().unwrap().to_owned()
    };
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

#[test]
fn a_chat_stream() {
    let body = json!({"messages": user(), "max_tokens": 2, "stream_options": {"include_usage": true}});
    let head = r#""id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"sim""#;
    let role = r#""delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null"#;
    let rest = r#""logprobs":null,"finish_reason":null,"token_ids":null"#;
    let end = r#""logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null"#;
    let usage = r#""usage":{"prompt_tokens":3,"total_tokens":5,"completion_tokens":2}"#;
    let expected = sse(&[
        &format!(r#"{{{head},"choices":[{{"index":0,{role}}}],"prompt_token_ids":null,"prompt_text":null}}"#),
        &format!(r#"{{{head},"choices":[{{"index":0,"delta":{{"content":" 川0"}},{rest}}}]}}"#),
        &format!(r#"{{{head},"choices":[{{"index":0,"delta":{{"content":" flow1"}},{rest}}}]}}"#),
        &format!(r#"{{{head},"choices":[{{"index":0,"delta":{{}},{end}}}]}}"#),
        &format!(r#"{{{head},"choices":[],{usage},"system_fingerprint":"fp_sim"}}"#),
        "[DONE]",
    ]);
    assert_eq!(stream(Api::Chat, &body), expected);
}

#[test]
fn a_chat_that_is_cut_ends_with_its_last_token() {
    let body = json!({
        "messages": user(), "max_tokens": 1, "ignore_eos": true,
        "logprobs": true, "top_logprobs": 2, "return_token_ids": true,
    });
    let text = stream(Api::Chat, &body);
    let events: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(events.len(), 4, "role, token, [DONE], nothing");
    let token = r#""token":" 川0","logprob":-1.137,"bytes":[32,229,183,157,48]"#;
    let other = r#""token":" naïve1","logprob":-1.387,"bytes":[32,110,97,195,175,118,101,49]"#;
    let logprobs = format!(r#"{{"content":[{{{token},"top_logprobs":[{{{token}}},{{{other}}}]}}]}}"#);
    let ending = r#""finish_reason":"length","stop_reason":null,"token_ids":[9124]"#;
    let head = r#""id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"sim""#;
    assert_eq!(
        events[1],
        format!(
            r#"data: {{{head},"choices":[{{"index":0,"delta":{{"content":" 川0"}},"logprobs":{logprobs},{ending}}}],"system_fingerprint":"fp_sim"}}"#
        )
    );
    assert!(events[0].ends_with(r#"],"prompt_token_ids":[1,19286,26178],"prompt_text":null}"#));
}

#[test]
fn a_whole_chat() {
    let expected = [
        r#"{"id":"chatcmpl-1","object":"chat.completion","created":1760000000,"model":"sim","choices":[{"index":0,"message":{"role":"assistant","content":" 川0 flow1","refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null,"routed_experts":null}]"#,
        r#","service_tier":null,"system_fingerprint":"fp_sim","usage":{"prompt_tokens":3,"total_tokens":5,"completion_tokens":2,"prompt_tokens_details":null,"completion_tokens_details":null}"#,
        r#","prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#,
    ];
    assert_eq!(whole(Api::Chat, &json!({"messages": user(), "max_tokens": 2})), expected.concat());
}

#[test]
fn a_completion_with_its_prompt_and_log_probabilities() {
    let body = json!({"prompt": "how high", "max_tokens": 2, "logprobs": 1, "echo": true});
    let head = r#""id":"cmpl-1","object":"text_completion","created":1760000000,"model":"sim""#;
    let rest = r#""finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null"#;
    let ended = r#""finish_reason":"stop","stop_reason":null,"prompt_token_ids":null,"token_ids":null"#;
    let columns = [
        r#"{"text_offset":[0],"token_logprobs":[null],"tokens":["how high"],"top_logprobs":[null]}"#,
        r#"{"text_offset":[8],"token_logprobs":[-1.137],"tokens":[" 川0"],"top_logprobs":[{" 川0":-1.137}]}"#,
        r#"{"text_offset":[11],"token_logprobs":[-1.631],"tokens":[" flow1"],"top_logprobs":[{" flow1":-1.631}]}"#,
    ];
    let texts = ["how high", " 川0", " flow1"];
    let mut expected: String = texts
        .iter()
        .zip(columns)
        .map(|(text, columns)| {
            sse(&[&format!(
                r#"{{{head},"choices":[{{"index":0,"text":"{text}","logprobs":{columns},{rest}}}]}}"#
            )])
        })
        .collect();
    expected += &sse(&[
        &format!(
            r#"{{{head},"choices":[{{"index":0,"text":"","logprobs":null,{ended}}}],"system_fingerprint":"fp_sim"}}"#
        ),
        "[DONE]",
    ]);
    assert_eq!(stream(Api::Completions, &body), expected);

    let whole: Value = serde_json::from_str(&whole(Api::Completions, &body)).unwrap();
    assert_eq!(whole["choices"][0]["text"], "how high 川0 flow1");
    assert_eq!(whole["choices"][0]["logprobs"]["text_offset"], json!([0, 8, 11]));
    assert_eq!(whole["object"], "text_completion");
}

#[test]
fn the_choices_of_several_prompts_stand_beside_each_other() {
    let body = json!({"prompt": ["once upon", "the cat"], "n": 2, "max_tokens": 1, "echo": true});
    let whole: Value = serde_json::from_str(&whole(Api::Completions, &body)).unwrap();
    let choices = whole["choices"].as_array().unwrap();
    let beginnings: Vec<(u64, bool)> = choices
        .iter()
        .map(|one| (one["index"].as_u64().unwrap(), one["text"].as_str().unwrap().starts_with("the cat")))
        .collect();
    assert_eq!(beginnings, [(0, false), (1, false), (2, true), (3, true)]);
    assert_eq!(whole["usage"]["total_tokens"], 6 + 4);
}

#[test]
fn a_response_that_reasons() {
    let body = json!({"input": "how high", "max_output_tokens": 2, "reasoning": {"effort": "low"}});
    let fixed = r#""background":false,"created_at":1760000000,"id":"resp_1","instructions":null,"max_output_tokens":2,"max_tool_calls":null,"metadata":{},"model":"sim","object":"response","parallel_tool_calls":true,"previous_response_id":null,"prompt":null,"reasoning":{"effort":"low"},"service_tier":"auto","temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","user":null"#;
    let begun = format!(
        r#"{{{fixed},"status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}}"#
    );
    let reasoning = r#"{"id":"rs_1","type":"reasoning","status":"completed","summary":[],"content":[{"type":"reasoning_text","text":" 川0"}],"encrypted_content":null}"#;
    let message = r#"{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":" flow1"}]}"#;
    let usage = r#"{"input_tokens":3,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":5}"#;
    let done = format!(
        r#"{{{fixed},"status":"completed","error":null,"incomplete_details":null,"output":[{reasoning},{message}],"usage":{usage}}}"#
    );
    let expected = typed(&[
        &format!(r#"{{"response":{begun},"sequence_number":0,"type":"response.created"}}"#),
        &format!(r#"{{"response":{begun},"sequence_number":1,"type":"response.in_progress"}}"#),
        r#"{"item":{"id":"rs_1","type":"reasoning","status":"in_progress","summary":[],"content":[],"encrypted_content":null},"output_index":0,"sequence_number":2,"type":"response.output_item.added"}"#,
        r#"{"content_index":0,"item_id":"rs_1","output_index":0,"part":{"type":"reasoning_text","text":""},"sequence_number":3,"type":"response.content_part.added"}"#,
        r#"{"content_index":0,"item_id":"rs_1","output_index":0,"delta":" 川0","sequence_number":4,"type":"response.reasoning_text.delta"}"#,
        r#"{"content_index":0,"item_id":"rs_1","output_index":0,"text":" 川0","sequence_number":5,"type":"response.reasoning_text.done"}"#,
        r#"{"content_index":0,"item_id":"rs_1","output_index":0,"part":{"type":"reasoning_text","text":" 川0"},"sequence_number":6,"type":"response.content_part.done"}"#,
        &format!(
            r#"{{"item":{reasoning},"output_index":0,"sequence_number":7,"type":"response.output_item.done"}}"#
        ),
        r#"{"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]},"output_index":1,"sequence_number":8,"type":"response.output_item.added"}"#,
        r#"{"content_index":0,"item_id":"msg_1","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""},"sequence_number":9,"type":"response.content_part.added"}"#,
        r#"{"content_index":0,"item_id":"msg_1","output_index":1,"delta":" flow1","logprobs":[],"sequence_number":10,"type":"response.output_text.delta"}"#,
        r#"{"content_index":0,"item_id":"msg_1","output_index":1,"logprobs":[],"text":" flow1","sequence_number":11,"type":"response.output_text.done"}"#,
        r#"{"content_index":0,"item_id":"msg_1","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":" flow1"},"sequence_number":12,"type":"response.content_part.done"}"#,
        &format!(
            r#"{{"item":{message},"output_index":1,"sequence_number":13,"type":"response.output_item.done"}}"#
        ),
        &format!(r#"{{"response":{done},"sequence_number":14,"type":"response.completed"}}"#),
    ]);
    assert_eq!(stream(Api::Responses, &body), expected);
    assert_eq!(whole(Api::Responses, &body), done);
}

#[test]
fn a_message_that_thinks() {
    let body = json!({"messages": user(), "max_tokens": 2, "thinking": {"type": "adaptive"}});
    let expected = typed(&[
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"sim","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":0}}}"#,
        r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":"","signature":""},"index":0}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":" 川0"},"index":0}"#,
        r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"0000000000000008"},"index":0}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","content_block":{"type":"text","text":""},"index":1}"#,
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":" flow1"},"index":1}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":3,"output_tokens":2}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    assert_eq!(stream(Api::Messages, &body), expected);
}

#[test]
fn a_whole_message_that_calls() {
    let body = json!({
        "messages": user(), "max_tokens": 3, "tools": [{"name": "gauge"}], "tool_choice": {"type": "any"},
    });
    let expected = r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_9e5651b0ef953636","name":"gauge","input":{"note":" flow1 🌊2"}}],"model":"sim","stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":3}}"#;
    assert_eq!(whole(Api::Messages, &body), expected);
}

#[test]
fn ollamas_lines() {
    let head = r#"{"model":"m","created_at":"2025-10-09T08:53:20Z","#;
    let chat = json!({"model": "m", "messages": user(), "options": {"num_predict": 2}, "think": true});
    let lines = [
        r#""message":{"role":"assistant","content":"","thinking":" 川0"},"done":false}"#,
        r#""message":{"role":"assistant","content":" flow1"},"done":false}"#,
        r#""message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":220000000,"load_duration":0,"prompt_eval_count":3,"prompt_eval_duration":200000000,"eval_count":2,"eval_duration":20000000}"#,
    ];
    let expected: String = lines.iter().map(|line| format!("{head}{line}\n")).collect();
    assert_eq!(stream(Api::Ollama(ollama::Endpoint::Chat), &chat), expected);

    let generate = json!({"model": "m", "prompt": "how high", "options": {"num_predict": 1}});
    let line = r#""response":" 川0","done":true,"done_reason":"stop","total_duration":200000000,"load_duration":0,"prompt_eval_count":3,"prompt_eval_duration":200000000,"eval_count":1,"eval_duration":0}"#;
    assert_eq!(whole(Api::Ollama(ollama::Endpoint::Generate), &generate), format!("{head}{line}"));
    let ask = |body: Value| {
        read(Api::Ollama(ollama::Endpoint::Chat), body.to_string().as_bytes(), &Behaviour::default()).ask
    };
    assert!(ask(json!({"model": "m"})).stream, "it streams unless told otherwise");
    assert!(!ask(json!({"model": "m", "stream": false})).stream);
}

#[test]
fn tgis_tokens() {
    let body = json!({"inputs": "how high", "parameters": {"max_new_tokens": 2}});
    let expected = [
        r#"data:{"index":1,"token":{"id":9124,"text":" 川0","logprob":-1.137,"special":false},"generated_text":null,"details":null}"#,
        r#"data:{"index":2,"token":{"id":4563,"text":" flow1","logprob":-1.631,"special":false},"generated_text":" 川0 flow1","details":{"finish_reason":"eos_token","generated_tokens":2,"seed":null,"input_length":3}}"#,
        "",
    ];
    assert_eq!(stream(Api::Tgi(tgi::Endpoint::Stream), &body), expected.join("\n\n"));

    let detailed = json!({"inputs": "how high", "parameters": {"max_new_tokens": 1, "details": true}});
    let expected = r#"[{"generated_text":" 川0","details":{"finish_reason":"eos_token","generated_tokens":1,"seed":null,"prefill":[],"tokens":[{"id":9124,"text":" 川0","logprob":-1.137,"special":false}]}}]"#;
    assert_eq!(whole(Api::Tgi(tgi::Endpoint::Either), &detailed), expected);
}

#[test]
fn transcripts_in_both_ways() {
    let openai = sse(&[
        r#"{"type":"transcript.text.delta","delta":" 川0"}"#,
        r#"{"type":"transcript.text.delta","delta":" flow1"}"#,
        r#"{"type":"transcript.text.done","text":" 川0 flow1","usage":{"type":"tokens","input_tokens":21,"input_token_details":{"text_tokens":1,"audio_tokens":20},"output_tokens":2,"total_tokens":23}}"#,
    ]);
    let transcription = Api::Audio(Task::Transcription);
    assert_eq!(stream_of(transcription, &form(&[("max_completion_tokens", "2")]), None), openai);

    let head = r#""id":"translate-1","object":"translation.chunk","created":1760000000,"model":"sim""#;
    let vllm = sse(&[
        &format!(r#"{{{head},"choices":[{{"delta":{{"content":" 川0"}}}}]}}"#),
        &format!(
            r#"{{{head},"choices":[{{"delta":{{"content":""}},"finish_reason":"stop","stop_reason":null}}]}}"#
        ),
        &format!(
            r#"{{{head},"choices":[],"usage":{{"prompt_tokens":21,"total_tokens":22,"completion_tokens":1}}}}"#
        ),
        "[DONE]",
    ]);
    let fields = [("max_completion_tokens", "1"), ("stream_include_usage", "True")];
    assert_eq!(stream_of(Api::Audio(Task::Translation), &form(&fields), None), vllm);

    let whole = whole_of(transcription, &form(&[("max_completion_tokens", "1")]));
    assert_eq!(whole, r#"{"text":" 川0","usage":{"type":"duration","seconds":2}}"#);
    let text = whole_of(transcription, &form(&[("max_completion_tokens", "1"), ("response_format", "text")]));
    assert_eq!(text, " 川0\n");
}

/// Every API, with requests for each kind of content it has.
fn every_kind() -> Vec<(Api, Vec<u8>)> {
    let function = json!([{"type": "function", "function": {"name": "gauge"}}]);
    let flat = json!([{"type": "function", "name": "gauge"}]);
    let named = json!([{"name": "gauge"}]);
    let ollama = |endpoint, body| (Api::Ollama(endpoint), body);
    let requests = [
        (Api::Chat, json!({"messages": user(), "n": 3})),
        (Api::Chat, json!({"messages": user(), "stream_options": {"include_usage": true}})),
        (Api::Chat, json!({"messages": user(), "tools": function, "tool_choice": "required"})),
        (Api::Chat, json!({"messages": user(), "reasoning_effort": "low"})),
        (Api::Completions, json!({"prompt": ["a", "b"], "n": 2, "echo": true, "logprobs": 2})),
        (Api::Responses, json!({"input": "a"})),
        (Api::Responses, json!({"input": "a", "reasoning": {"effort": "low"}})),
        (Api::Responses, json!({"input": "a", "tools": flat, "tool_choice": "required"})),
        (Api::Messages, json!({"messages": user(), "max_tokens": 20})),
        (Api::Messages, json!({"messages": user(), "max_tokens": 20, "thinking": {"type": "enabled"}})),
        (
            Api::Messages,
            json!({"messages": user(), "max_tokens": 20, "tools": named, "tool_choice": {"type": "any"}}),
        ),
        ollama(ollama::Endpoint::Chat, json!({"model": "m", "messages": user(), "tools": function})),
        ollama(ollama::Endpoint::Generate, json!({"model": "m", "prompt": "a", "think": "high"})),
        (Api::Tgi(tgi::Endpoint::Stream), json!({"inputs": "a"})),
    ];
    let mut all: Vec<(Api, Vec<u8>)> =
        requests.into_iter().map(|(api, body)| (api, body.to_string().into_bytes())).collect();
    all.push((Api::Audio(Task::Transcription), form(&[])));
    all.push((Api::Audio(Task::Transcription), form(&[("stream_include_usage", "true")])));
    all
}

#[test]
fn a_stream_has_as_many_events_as_it_says() {
    for (api, body) in every_kind() {
        for length in [1, 2, 3, 10, 30] {
            for tokens_per_chunk in [1, 4] {
                let behaviour =
                    Behaviour { length: Length::Own(length), tokens_per_chunk, ..Behaviour::default() };
                for fails_at in [None, Some(0), Some(3), Some(99)] {
                    let events = events(api, &body, &behaviour, fails_at);
                    let total = events.total();
                    let case = format!("{api:?} {length} {tokens_per_chunk} {fails_at:?}");
                    assert_eq!(events.count() as u64, total, "{case}: {}", String::from_utf8_lossy(&body));
                }
            }
        }
    }
}

#[test]
fn every_event_of_every_api_is_json() {
    for (api, body) in every_kind() {
        for event in events(api, &body, &Behaviour::default(), None) {
            let text = String::from_utf8(event.bytes.to_vec()).unwrap();
            for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("event: ")) {
                let json = line.strip_prefix("data:").map_or(line, str::trim);
                let parsed: Result<Value, _> = serde_json::from_str(json);
                assert!(json == "[DONE]" || parsed.unwrap().is_object(), "{api:?}: {line}");
            }
        }
        let whole: Value = serde_json::from_str(&whole_of(api, &body)).unwrap();
        assert!(whole.is_object(), "{api:?}");
    }
}

#[test]
fn each_api_fails_in_its_own_way() {
    let last = |(api, body): &(Api, Vec<u8>)| {
        let text = stream_of(*api, body, Some(1));
        let events: Vec<&str> = text.trim_end().split('\n').filter(|line| !line.is_empty()).collect();
        events[events.len().saturating_sub(2)..].join("|")
    };
    let all = every_kind();
    let of = |api: Api| last(all.iter().find(|(known, _)| *known == api).unwrap());
    let openai = r#"data: {"error":{"message":"simulated failure","type":"InternalServerError","param":null,"code":500}}|data: [DONE]"#;
    assert_eq!(of(Api::Chat), openai);
    assert_eq!(of(Api::Completions), openai);
    assert_eq!(
        of(Api::Messages),
        r#"event: error|data: {"type":"error","error":{"type":"api_error","message":"simulated failure"}}"#
    );
    assert!(of(Api::Responses).starts_with("event: response.failed|data: {\"response\":{"));
    assert!(of(Api::Ollama(ollama::Endpoint::Chat)).ends_with(r#"{"error":"simulated failure"}"#));
    assert!(
        of(Api::Tgi(tgi::Endpoint::Stream))
            .ends_with(r#"|data:{"error":"simulated failure","error_type":"generation"}"#)
    );
    assert!(of(Api::Audio(Task::Transcription)).ends_with(r#""param":null,"code":500}}"#));
}

#[test]
fn tokens_are_due_with_the_first_of_their_chunk() {
    let behaviour = Behaviour { tokens_per_chunk: 4, ..Behaviour::default() };
    let dues = |api, body: Value, behaviour: &Behaviour| -> Vec<Due> {
        events(api, body.to_string().as_bytes(), behaviour, None).map(|event| event.due).collect()
    };
    let chat = json!({"messages": user(), "max_tokens": 10});
    assert_eq!(dues(Api::Chat, chat.clone(), &behaviour), [0, 0, 4, 8, 8, 8].map(Due::With));
    let early = Behaviour { role: RoleChunk::Early, ..behaviour.clone() };
    assert_eq!(dues(Api::Chat, chat, &early)[..2], [Due::AtOnce, Due::With(0)]);
    let messages = json!({"messages": user(), "max_tokens": 1});
    assert_eq!(dues(Api::Messages, messages, &early)[..2], [Due::AtOnce, Due::With(0)]);
    let response = dues(Api::Responses, json!({"input": "a", "max_output_tokens": 1}), &behaviour);
    assert_eq!(response[..3], [Due::AtOnce, Due::AtOnce, Due::With(0)]);
    let tgi = json!({"inputs": "a", "parameters": {"max_new_tokens": 5}});
    assert_eq!(dues(Api::Tgi(tgi::Endpoint::Stream), tgi, &behaviour), [0, 0, 0, 0, 4].map(Due::With));
}

#[test]
fn choices_take_turns() {
    let body = json!({"messages": user(), "max_tokens": 2, "n": 3});
    let text = stream(Api::Chat, &body);
    let indexes: Vec<u64> = text
        .split("\n\n")
        .filter_map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ")?).ok())
        .map(|event| event["choices"][0]["index"].as_u64().unwrap())
        .collect();
    assert_eq!(indexes, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn log_probabilities_are_bounded() {
    let read = |top: u32| {
        let body = json!({
            "messages": user(), "max_tokens": 100_000, "logprobs": true, "top_logprobs": top,
        });
        let terms = Terms { behaviour: &Behaviour::default(), model: "sim", id: "1" };
        chat::read(body.to_string().as_bytes(), &terms).map(|request| request.ask.tokens)
    };
    assert_eq!(read(9), Ok(100_000));
    assert!(read(10).unwrap_err().message.contains("log probabilities"));
}

#[test]
fn what_the_cache_held_is_told() {
    let Request { ask, mut script } = read(
        Api::Messages,
        json!({"messages": user(), "max_tokens": 1}).to_string().as_bytes(),
        &Behaviour::default(),
    );
    let usage =
        crate::engine::generation::Usage { prompt: 10, completion: 1, reasoning: None, cached: Some(8) };
    assert_eq!(messages::usage(usage), r#"{"input_tokens":2,"cache_read_input_tokens":8,"output_tokens":1}"#);
    let unknown = script.whole(&Generation::new(ask, 8, Cached::default()));
    assert!(!String::from_utf8_lossy(&unknown).contains("cache_read"));
}

#[test]
fn paths_and_methods_lead_to_endpoints() {
    let of = |method, path| Endpoint::of(&method, path);
    assert_eq!(of(Method::POST, "/v1/chat/completions"), Ok(Endpoint::Generate(Api::Chat)));
    assert_eq!(of(Method::GET, "/v1/models/a/b"), Ok(Endpoint::Show(Page::Models)));
    assert_eq!(of(Method::POST, "/ping"), Ok(Endpoint::Show(Page::Health)));
    let refused = |method, path| of(method, path).unwrap_err().status;
    assert_eq!(refused(Method::GET, "/v1/chat/completions"), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(refused(Method::POST, "/v1/nothing"), StatusCode::NOT_FOUND);
    assert_eq!(allowed("/v1/chat/completions"), "POST");
    assert_eq!(allowed("/ping"), "GET, POST");
}

#[test]
fn each_path_has_the_error_shape_of_its_api() {
    assert_eq!(ErrorShape::of("/v1/messages"), ErrorShape::Anthropic);
    assert_eq!(ErrorShape::of("/api/chat"), ErrorShape::Ollama);
    assert_eq!(ErrorShape::of("/generate_stream"), ErrorShape::Tgi);
    assert_eq!(ErrorShape::of("/v1/responses"), ErrorShape::OpenAi);
}
