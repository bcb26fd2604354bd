//! Everything that is not a stream.

use serde_json::json;
use weir_load::engine::EngineConfig;

use crate::wire::{Connection, chat, config, engine, post};

#[tokio::test]
async fn an_answer_in_one_piece_is_complete_and_counted() {
    let engine = engine(config()).await;
    let body = json!({"model": "m", "max_tokens": 3, "n": 2, "messages": [
        {"role": "user", "content": "two words"},
    ]});
    let headers = [("x-request-id", "r-9")];
    let answer = post(&engine, "/v1/chat/completions", &headers, &body.to_string()).await;
    assert_eq!((answer.status, answer.complete), (200, true));
    let json = answer.json();
    assert_eq!(json["id"], "chatcmpl-r-9");
    assert_eq!(json["object"], "chat.completion");
    assert_eq!(json["model"], "m");
    assert_eq!(json["choices"].as_array().unwrap().len(), 2);
    assert_eq!(json["choices"][1]["message"]["role"], "assistant");
    assert_eq!(json["choices"][1]["finish_reason"], "stop");
    assert_eq!(json["usage"]["total_tokens"], 9);
    let stats = engine.stats();
    assert_eq!((stats.requests, stats.completed, stats.active), (1, 1, 0));
}

#[tokio::test]
async fn the_streamed_and_the_whole_answer_say_the_same() {
    let engine = engine(config()).await;
    let seed = [("x-sim-seed", "5")];
    let tools = json!([{"type": "function", "function": {"name": "gauge"}}]);
    for mut body in [
        json!({"max_tokens": 20}),
        json!({"max_tokens": 20, "reasoning_effort": "low"}),
        json!({"max_tokens": 20, "tools": tools, "tool_choice": "required"}),
    ] {
        body["messages"] = json!([]);
        let whole = post(&engine, "/v1/chat/completions", &seed, &body.to_string()).await.json();
        let message = &whole["choices"][0]["message"];
        let mut streamed = [String::new(), String::new(), String::new()];
        for chunk in chat(&engine, &seed, body.clone()).await.chunks() {
            let delta = &chunk["choices"][0]["delta"];
            let arguments = &delta["tool_calls"][0]["function"]["arguments"];
            for (text, piece) in streamed.iter_mut().zip([&delta["content"], &delta["reasoning"], arguments])
            {
                text.push_str(piece.as_str().unwrap_or_default());
            }
        }
        let arguments = &message["tool_calls"][0]["function"]["arguments"];
        let said = [&message["content"], &message["reasoning"], arguments]
            .map(|text| text.as_str().unwrap_or_default().to_owned());
        assert_eq!(streamed, said, "{body}");
        assert!(said.concat().len() > 20);
    }
}

#[tokio::test]
async fn embeddings_depend_on_the_text_alone() {
    let engine = engine(config()).await;
    let body = json!({"model": "m", "input": ["one", "two", "one"]}).to_string();
    let json = post(&engine, "/v1/embeddings", &[], &body).await.json();
    assert_eq!(json["data"][0]["embedding"], json["data"][2]["embedding"]);
    assert_ne!(json["data"][0]["embedding"], json["data"][1]["embedding"]);
    assert_eq!(json["usage"]["prompt_tokens"], 6);
    assert_eq!(engine.stats().completed, 1);
}

#[tokio::test]
async fn what_is_not_valid_is_refused_as_vllm_refuses_it() {
    let engine = engine(config()).await;
    let answer = post(&engine, "/v1/chat/completions", &[], "{\"model\":").await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["param"], "body.9");

    let answer = chat(&engine, &[("x-sim-ttft", "soon")], json!({})).await;
    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"]["message"].as_str().unwrap().starts_with("x-sim-ttft"));

    let answer = post(&engine, "/v1/other", &[], "{}").await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.json(), json!({"detail": "Not Found"}));
    let answer = post(&engine, "/v1/models", &[], "{}").await;
    assert_eq!((answer.status, answer.json()), (405, json!({"detail": "Method Not Allowed"})));
    assert!(answer.head.contains("allow: get"), "{}", answer.head);

    let stats = engine.stats();
    assert_eq!((stats.requests, stats.refused), (2, 2));
}

#[tokio::test]
async fn only_a_strict_engine_refuses_a_model() {
    let models = vec!["sim-small".to_owned(), "sim-large".to_owned()];
    let open = engine(EngineConfig { models: models.clone(), ..config() }).await;
    let strict = engine(EngineConfig { models, strict_models: true, ..config() }).await;
    let body = json!({"model": "other", "input": "x"}).to_string();
    assert_eq!(post(&open, "/v1/embeddings", &[], &body).await.status, 200);
    let refused = post(&strict, "/v1/embeddings", &[], &body).await;
    assert_eq!(refused.status, 404);
    assert_eq!(refused.json()["error"]["type"], "NotFoundError");
    assert_eq!(refused.json()["error"]["param"], "model");
    assert_eq!(chat(&strict, &[], json!({"model": "other"})).await.status, 404);
    assert_eq!(chat(&strict, &[], json!({"model": "sim-large"})).await.status, 200);
    assert_eq!(chat(&strict, &[], json!({})).await.chunks()[0]["model"], "sim-small");
}

#[tokio::test]
async fn models_and_health_are_served_on_one_connection() {
    let engine = engine(EngineConfig { models: vec!["a".into(), "b".into()], ..config() }).await;
    weir_load::crypto::choose();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = |path| format!("http://{}{path}", engine.addr());
    let models: serde_json::Value = client.get(url("/v1/models")).send().await.unwrap().json().await.unwrap();
    assert_eq!(models["data"][1]["id"], "b");
    let health = client.get(url("/health")).send().await.unwrap();
    assert_eq!(health.status(), 200);
    let stats = engine.stats();
    assert_eq!((stats.connections, stats.requests), (1, 0));
}

#[tokio::test]
async fn shutdown_closes_connections() {
    let engine = engine(config()).await;
    let mut connection = Connection::open(&engine).await;
    connection
        .send("/v1/chat/completions", &[("x-sim-ttft", "1h")], "{\"messages\":[],\"stream\":true}")
        .await;
    connection.read_until(|bytes| bytes.ends_with(b"\r\n\r\n")).await;
    engine.shutdown().await;
    connection.read_to_close().await;
}
