//! Streams as a client sees them.

use std::time::Duration;

use serde_json::{Value, json};
use weir_load::engine::{Behaviour, EngineConfig, Interval};

use crate::wire::{Connection, chat, config, count, engine, events, post, until};

fn index(chunk: &Value) -> u64 {
    chunk["choices"][0]["index"].as_u64().unwrap()
}

fn finish(chunk: &Value) -> &Value {
    &chunk["choices"][0]["finish_reason"]
}

#[tokio::test]
async fn a_chat_stream_has_its_events_in_order() {
    let engine = engine(config()).await;
    let body = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "how high is the river"}],
        "max_tokens": 5,
        "stream_options": {"include_usage": true},
    });
    let answer = chat(&engine, &[("x-request-id", "r-1")], body).await;
    assert_eq!((answer.status, answer.complete), (200, true));
    assert!(answer.head.contains("content-type: text/event-stream; charset=utf-8"));

    let chunks = answer.chunks();
    assert_eq!(chunks.len(), 1 + 5 + 1 + 1);
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    for chunk in &chunks[1..6] {
        assert!(!chunk["choices"][0]["delta"]["content"].as_str().unwrap().is_empty());
        assert_eq!(finish(chunk), &Value::Null);
    }
    assert_eq!(finish(&chunks[6]), "stop");
    assert_eq!(chunks[7]["choices"], json!([]));
    assert_eq!(chunks[7]["usage"], json!({"prompt_tokens": 6, "completion_tokens": 5, "total_tokens": 11}));
    for chunk in &chunks {
        assert_eq!(chunk["id"], "chatcmpl-r-1");
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!(chunk["model"], "m");
    }
}

#[tokio::test]
async fn headers_steer_length_and_chunks() {
    let engine = engine(config()).await;
    let headers = [("x-sim-tokens", "10"), ("x-sim-tokens-per-chunk", "4")];
    let chunks = chat(&engine, &headers, json!({})).await.chunks();
    assert_eq!(chunks.len(), 1 + 3 + 1);
    assert_eq!(finish(&chunks[4]), "stop");

    let body = json!({"max_completion_tokens": 4, "stream_options": {"include_usage": true}});
    let chunks = chat(&engine, &headers, body).await.chunks();
    assert_eq!(chunks.len(), 1 + 1 + 1, "what is cut ends with its last token");
    assert_eq!(finish(&chunks[1]), "length");
    assert_eq!(chunks[2]["usage"]["completion_tokens"], 4);
}

#[tokio::test]
async fn choices_are_interleaved_and_summed() {
    let engine = engine(config()).await;
    let options = json!({"include_usage": true});
    let chunks =
        chat(&engine, &[], json!({"n": 2, "max_tokens": 3, "stream_options": options})).await.chunks();
    let indexes: Vec<u64> = chunks[..10].iter().map(index).collect();
    assert_eq!(indexes, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!((finish(&chunks[8]), finish(&chunks[9])), (&json!("stop"), &json!("stop")));
    assert_eq!(chunks[10]["usage"]["completion_tokens"], 6);
    let text = |index: usize| -> String {
        (0..3)
            .map(|step| chunks[2 + 2 * step + index]["choices"][0]["delta"]["content"].to_string())
            .collect()
    };
    assert_ne!(text(0), text(1));
}

#[tokio::test]
async fn a_tool_call_comes_in_fragments() {
    let engine = engine(config()).await;
    let body = json!({
        "max_tokens": 12,
        "tools": [{"type": "function", "function": {"name": "read_gauge"}}],
        "tool_choice": {"type": "function", "function": {"name": "read_gauge"}},
    });
    let chunks = chat(&engine, &[], body).await.chunks();
    assert_eq!(chunks.len(), 1 + 12 + 1);
    let call = |chunk: &Value| chunk["choices"][0]["delta"]["tool_calls"][0].clone();
    let first = call(&chunks[1]);
    assert_eq!(first["function"]["name"], "read_gauge");
    assert_eq!(first["type"], "function");
    assert!(first["id"].as_str().unwrap().starts_with("call_"));
    let mut arguments = String::new();
    for chunk in &chunks[2..13] {
        assert_eq!(call(chunk)["id"], Value::Null);
        arguments.push_str(call(chunk)["function"]["arguments"].as_str().unwrap());
    }
    let arguments: Value = serde_json::from_str(&arguments).unwrap();
    assert!(!arguments["note"].as_str().unwrap().is_empty());
    assert_eq!(finish(&chunks[13]), "tool_calls");
}

#[tokio::test]
async fn reasoning_comes_before_content() {
    let engine = engine(config()).await;
    for field in ["reasoning", "reasoning_content"] {
        let body = json!({
            "max_tokens": 6,
            "chat_template_kwargs": {"enable_thinking": true},
            "stream_options": {"include_usage": true},
        });
        let chunks = chat(&engine, &[("x-sim-reasoning", field)], body).await.chunks();
        let keys: Vec<&str> = chunks[1..7]
            .iter()
            .map(|chunk| chunk["choices"][0]["delta"].as_object().unwrap().keys().next().unwrap())
            .map(String::as_str)
            .collect();
        assert_eq!(keys, [field, field, field, "content", "content", "content"]);
        let usage = &chunks[8]["usage"];
        assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 3);
        assert_eq!(usage["completion_tokens"], 6);
    }
}

#[tokio::test]
async fn usage_may_run_along() {
    let engine = engine(config()).await;
    let options = json!({"include_usage": true, "continuous_usage_stats": true});
    let chunks = chat(&engine, &[], json!({"max_tokens": 2, "stream_options": options})).await.chunks();
    let counts: Vec<&Value> = chunks.iter().map(|chunk| &chunk["usage"]["completion_tokens"]).collect();
    assert_eq!(counts, [0, 1, 2, 2, 2]);
}

#[tokio::test]
async fn completions_stream_text_and_may_echo() {
    let engine = engine(config()).await;
    let body = json!({"stream": true, "max_tokens": 2, "prompt": "the river", "echo": true});
    let answer = post(&engine, "/v1/completions", &[("x-request-id", "r")], &body.to_string()).await;
    let chunks = answer.chunks();
    assert_eq!(chunks.len(), 1 + 2 + 1);
    assert_eq!(chunks[0]["id"], "cmpl-r");
    assert_eq!(chunks[0]["object"], "text_completion");
    assert_eq!(chunks[0]["choices"][0]["text"], "the river");
    assert!(chunks[2]["choices"][0]["text"].as_str().unwrap().ends_with('1'));
    assert_eq!(finish(&chunks[3]), "stop");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_bytes() {
    let behaviour =
        Behaviour { ttft: Duration::ZERO, tps: 5000.0, interval: Interval::Exp, ..Behaviour::default() };
    let with_seed = |seed| EngineConfig { seed, behaviour: behaviour.clone(), ..config() };
    let [first, second, other] =
        [engine(with_seed(1)).await, engine(with_seed(1)).await, engine(with_seed(2)).await];
    let body = json!({"max_tokens": 30});
    let mut texts = Vec::new();
    for _ in 0..2 {
        let text = chat(&first, &[], body.clone()).await.body;
        assert_eq!(text, chat(&second, &[], body.clone()).await.body);
        assert_ne!(text, chat(&other, &[], body.clone()).await.body);
        texts.push(text);
    }
    assert_ne!(texts[0], texts[1], "requests of one engine differ");
    // The header puts a request in the place of any ordinal.
    assert_eq!(texts[1], chat(&first, &[("x-sim-seed", "1")], body.clone()).await.body);
}

#[tokio::test]
async fn requests_wait_in_order_and_an_early_role_does_not() {
    let engine = engine(EngineConfig { max_concurrent: Some(1), ..config() }).await;
    let stream = "{\"messages\":[],\"stream\":true,\"max_tokens\":1}";
    let mut first = Connection::open(&engine).await;
    first.send("/v1/chat/completions", &[("x-sim-ttft", "1h")], stream).await;
    until(&engine, |stats| stats.active == 1).await;

    let mut second = Connection::open(&engine).await;
    second.send("/v1/chat/completions", &[("x-sim-role", "early")], stream).await;
    second.read_until(|bytes| events(bytes) == 1).await;
    assert!(second.text().contains("\"role\":\"assistant\""));
    let waiting = engine.stats();
    assert_eq!((waiting.active, waiting.queued, waiting.requests), (1, 1, 2));

    drop(first);
    second.read_until(|bytes| count(bytes, "data: [DONE]\n\n") == 1).await;
    let stats = until(&engine, |stats| stats.completed == 1).await;
    assert_eq!((stats.gone, stats.queued, stats.peak_active), (1, 0, 1));
}

#[tokio::test]
async fn generation_stops_when_the_client_leaves() {
    let engine = engine(config()).await;
    let mut connection = Connection::open(&engine).await;
    let headers = [("x-sim-tps", "1000")];
    connection
        .send("/v1/chat/completions", &headers, "{\"messages\":[],\"stream\":true,\"max_tokens\":1000000}")
        .await;
    connection.read_until(|bytes| events(bytes) >= 3).await;
    assert_eq!(engine.stats().active, 1);
    drop(connection);
    let stats = until(&engine, |stats| stats.gone == 1).await;
    assert_eq!(stats.completed, 0);
    until(&engine, |stats| stats.active == 0).await;

    // An answer in one piece stops as well.
    let mut connection = Connection::open(&engine).await;
    connection.send("/v1/chat/completions", &[("x-sim-ttft", "1h")], "{\"messages\":[]}").await;
    until(&engine, |stats| stats.active == 1).await;
    drop(connection);
    until(&engine, |stats| stats.gone == 2 && stats.active == 0).await;
}

#[tokio::test]
async fn a_connection_serves_one_stream_after_another() {
    let engine = engine(config()).await;
    let mut connection = Connection::open(&engine).await;
    for served in 1..=3 {
        connection
            .send("/v1/chat/completions", &[], "{\"messages\":[],\"stream\":true,\"max_tokens\":2}")
            .await;
        connection.read_until(|bytes| count(bytes, "\r\n0\r\n\r\n") == served).await;
    }
    let stats = until(&engine, |stats| stats.completed == 3).await;
    assert_eq!(stats.connections, 1);
}
