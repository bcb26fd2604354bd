//! The APIs beside OpenAI's older ones, as a client sees them.

use serde_json::{Value, json};
use weir_load::engine::EngineConfig;

use crate::wire::{Answer, Close, config, engine, post, until};

/// A path, a request for a stream of four tokens, the stream's content type, and what ends it.
fn streams() -> [(&'static str, Value, &'static str, &'static str); 7] {
    let events = "text/event-stream; charset=utf-8";
    let lines = "application/x-ndjson";
    let messages = json!([{"role": "user", "content": "hello"}]);
    let limit = json!({"num_predict": 4});
    [
        (
            "/v1/responses",
            json!({"input": "hello", "max_output_tokens": 4, "stream": true}),
            events,
            "\"type\":\"response.completed\"}\n\n",
        ),
        (
            "/v1/messages",
            json!({"messages": messages, "max_tokens": 4, "stream": true}),
            events,
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            "/api/chat",
            json!({"model": "sim", "messages": messages, "options": limit}),
            lines,
            "\"eval_count\":4,\"eval_duration\":0}\n",
        ),
        (
            "/api/generate",
            json!({"model": "sim", "prompt": "hello", "options": limit}),
            lines,
            "\"eval_count\":4,\"eval_duration\":0}\n",
        ),
        (
            "/generate_stream",
            json!({"inputs": "hello", "parameters": {"max_new_tokens": 4}}),
            "text/event-stream",
            "\"generated_tokens\":4,\"seed\":null,\"input_length\":2}}\n\n",
        ),
        (
            "/",
            json!({"inputs": "hello", "parameters": {"max_new_tokens": 4}, "stream": true}),
            "text/event-stream",
            "\"generated_tokens\":4,\"seed\":null,\"input_length\":2}}\n\n",
        ),
        (
            "/v1/completions",
            json!({"prompt": "hello", "max_tokens": 4, "stream": true}),
            events,
            "data: [DONE]\n\n",
        ),
    ]
}

#[tokio::test]
async fn each_stream_has_its_content_type_and_its_end() {
    let engine = engine(config()).await;
    for (path, body, media, end) in streams() {
        let answer = post(&engine, path, &[("x-sim-seed", "1")], &body.to_string()).await;
        assert_eq!((answer.status, answer.complete), (200, true), "{path}");
        assert!(answer.head.contains(&format!("content-type: {media}\r\n")), "{path}: {}", answer.head);
        assert!(answer.body.ends_with(end), "{path}: {}", answer.body);
        let again = post(&engine, path, &[("x-sim-seed", "1")], &body.to_string()).await;
        assert_eq!(answer.body, again.body, "{path}");
    }
    assert_eq!(engine.stats().completed, 14);
}

#[tokio::test]
async fn faults_break_every_stream() {
    let engine = engine(config()).await;
    let broken = |answer: &Answer| (answer.status, answer.complete, answer.close);
    for (path, body, _, end) in streams() {
        let body = body.to_string();
        let aborted = post(&engine, path, &[("x-sim-fault", "abort;at=2")], &body).await;
        assert_eq!(broken(&aborted), (200, false, Close::Fin), "{path}");
        assert!(!aborted.body.is_empty() && !aborted.body.ends_with(end), "{path}: {}", aborted.body);
        let reset = post(&engine, path, &[("x-sim-fault", "reset;at=2")], &body).await;
        assert_eq!(broken(&reset), (200, false, Close::Reset), "{path}");
        let failed = post(&engine, path, &[("x-sim-fault", "error;at=2")], &body).await;
        assert_eq!((failed.status, failed.complete), (200, true), "{path}");
        assert!(failed.body.contains("simulated failure"), "{path}: {}", failed.body);
        let refused = post(&engine, path, &[("x-sim-fault", "503")], &body).await;
        assert_eq!(refused.status, 503, "{path}");
        assert!(refused.body.contains("simulated failure"), "{path}: {}", refused.body);
    }
    let stats = until(&engine, |stats| stats.injected == 28).await;
    assert_eq!((stats.completed, stats.active), (0, 0));
}

#[tokio::test]
async fn each_api_refuses_in_its_own_shape() {
    let engine = engine(EngineConfig { strict_models: true, ..config() }).await;
    let refused = async |path, body: Value| {
        let answer = post(&engine, path, &[], &body.to_string()).await;
        (answer.status, answer.json())
    };
    let none = "The model `none` does not exist.";
    let anthropic = json!({"model": "none", "messages": [], "max_tokens": 1});
    let error = json!({"type": "error", "error": {"type": "not_found_error", "message": none}});
    assert_eq!(refused("/v1/messages", anthropic).await, (404, error));
    let error = json!({"error": none});
    assert_eq!(refused("/api/chat", json!({"model": "none", "messages": []})).await, (404, error));
    let (status, error) = refused("/generate", json!({})).await;
    assert_eq!((status, &error["error_type"]), (422, &json!("validation")));
    let error = json!({"error": {"message": none, "type": "NotFoundError", "param": "model", "code": 404}});
    assert_eq!(refused("/v1/responses", json!({"model": "none", "input": "x"})).await, (404, error));
}

#[tokio::test]
async fn audio_is_taken_and_words_come_back() {
    let engine = engine(config()).await;
    let part = |head: &str, content: &str| {
        format!("--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    };
    let file = part("name=\"file\"; filename=\"a.wav\"", &"a".repeat(100_000));
    let headers = [("content-type", "multipart/form-data; boundary=b"), ("x-sim-tokens", "3")];
    for (path, stream) in [("/v1/audio/transcriptions", "true"), ("/v1/audio/translations", "false")] {
        let body = [file.clone(), part("name=\"stream\"", stream), "--b--\r\n".to_owned()].concat();
        let answer = post(&engine, path, &headers, &body).await;
        assert_eq!((answer.status, answer.complete), (200, true), "{}", answer.body);
        if stream == "true" {
            let events = answer.events();
            assert_eq!(events.len(), 3 + 1);
            let last: Value = serde_json::from_str(events[3]).unwrap();
            assert_eq!(last["usage"]["input_token_details"]["audio_tokens"], 32);
            assert_eq!(last["usage"]["output_tokens"], 3);
        } else {
            assert!(answer.json()["text"].as_str().unwrap().ends_with('2'));
        }
    }
    let answer = post(&engine, "/v1/audio/transcriptions", &headers, "--b--\r\n").await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn what_needs_no_generation_is_worked_out() {
    let engine = engine(config()).await;
    let worked_out = async |path, body: Value| post(&engine, path, &[], &body.to_string()).await.json();
    let ranked = worked_out("/v1/rerank", json!({"query": "river", "documents": ["dry", "a river"]})).await;
    assert_eq!(ranked["results"][0]["index"], 1);
    let scored = worked_out("/score", json!({"text_1": "river", "text_2": "a river"})).await;
    assert!(scored["data"][0]["score"].as_f64().unwrap() > 0.9);
    let embedded = worked_out("/api/embed", json!({"model": "sim", "input": ["a", "b"]})).await;
    assert_eq!(embedded["embeddings"].as_array().unwrap().len(), 2);
    let tokens = worked_out("/tokenize", json!({"prompt": "two words"})).await;
    assert_eq!((&tokens["count"], &tokens["max_model_len"]), (&json!(3), &json!(1 << 20)));
    let counted = worked_out("/v1/messages/count_tokens", json!({"messages": [{"content": "x"}]})).await;
    assert_eq!(counted, json!({"input_tokens": 2}));
    assert_eq!(engine.stats().completed, 5);
}

#[tokio::test]
async fn pages_are_shown() {
    let engine = engine(EngineConfig { models: vec!["a/b".into()], ..config() }).await;
    weir_load::crypto::choose();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let show = async |path: &str| {
        let response = client.get(format!("http://{}{path}", engine.addr())).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let json = |(status, text): (u16, String)| {
        assert_eq!(status, 200);
        serde_json::from_str::<Value>(&text).unwrap()
    };
    assert_eq!(json(show("/v1/models").await)["data"][0]["max_model_len"], 1 << 20);
    assert_eq!(json(show("/v1/models/a/b").await)["id"], "a/b");
    assert_eq!(show("/v1/models/c").await.0, 404);
    assert_eq!(json(show("/api/tags").await)["models"][0]["name"], "a/b");
    assert_eq!(json(show("/info").await)["model_id"], "a/b");
    assert_eq!(json(show("/load").await), json!({"server_load": 0}));
    assert_eq!(show("/ping").await, (200, String::new()));
    for path in ["/version", "/api/version"] {
        assert!(json(show(path).await)["version"].is_string(), "{path}");
    }
}
