//! The continuous batch over real sockets.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_load::engine::{BatchConfig, Batching, Engine, EngineConfig, KvCache, Speculation, StepCost};
use weir_load::truth::{StreamEnd, read};

use crate::wire::{Connection, chat, config, engine, events, post, until};

/// Steps of a millisecond, so that no test waits.
fn quick() -> BatchConfig {
    let cost = StepCost {
        base: Duration::from_millis(1),
        per_sequence: Duration::ZERO,
        prefill_tps: 1e6,
        ..StepCost::default()
    };
    BatchConfig { cost, ..BatchConfig::default() }
}

fn batching(batch: BatchConfig) -> EngineConfig {
    EngineConfig { batching: Some(Batching::try_from(batch).unwrap()), ..config() }
}

fn body(tokens: u32) -> Value {
    json!({
        "messages": [{"role": "user", "content": "how high does the river stand at dawn today"}],
        "max_tokens": tokens,
        "stream_options": {"include_usage": true},
    })
}

/// `GET /metrics`.
async fn page(engine: &Engine) -> String {
    let url = format!("http://{}/metrics", engine.addr());
    weir_load::crypto::choose();
    let response = reqwest::get(url).await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version="));
    response.text().await.unwrap()
}

/// The value of the first sample that begins so.
fn value(page: &str, sample: &str) -> f64 {
    let line = page.lines().find(|line| line.starts_with(sample));
    line.unwrap_or_else(|| panic!("{sample}")).rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[tokio::test]
async fn an_answer_is_the_plain_engines_answer() {
    let [plain, batched] = [engine(config()).await, engine(batching(quick())).await];
    for stream in [true, false] {
        let mut request = body(12);
        request["stream"] = json!(stream);
        let headers = [("x-sim-seed", "5"), ("x-request-id", "r")];
        let mut texts = Vec::new();
        for engine in [&plain, &batched] {
            let answer = post(engine, "/v1/chat/completions", &headers, &request.to_string()).await;
            assert_eq!((answer.status, answer.complete), (200, true));
            texts.push(answer.body);
        }
        // The batch has a prefix cache and says what it found; nothing else differs.
        let found = r#""prompt_tokens_details":{"cached_tokens":0}"#;
        assert!(texts[1].contains(found), "{}", texts[1]);
        let without = texts[1].replace(&format!(",{found}"), "");
        let absent = texts[0].replace(r#","prompt_tokens_details":null"#, "");
        assert_eq!(without, absent);
    }
}

#[tokio::test]
async fn the_same_seed_gives_the_same_bytes_whatever_runs_beside() {
    let speculation = Some(Speculation { tokens: 3, acceptance: 0.6 });
    let [quiet, busy] = [1, 2].map(|_| batching(BatchConfig { speculation, ..quick() }));
    let [quiet, busy] = [engine(quiet).await, engine(busy).await];
    let headers = [("x-sim-seed", "7"), ("x-request-id", "r")];
    let alone = chat(&quiet, &headers, body(60)).await;
    let others = join_all((0..8).map(|_| chat(&busy, &[], body(40))));
    let (crowded, _) = tokio::join!(chat(&busy, &headers, body(60)), others);
    // What is cached may differ, and nothing else.
    let text = |answer: &str| answer.rsplit_once("\"usage\"").unwrap().0.to_owned();
    assert_eq!(text(&alone.body), text(&crowded.body));
    // Fewer chunks than tokens, for some carry several.
    let chunks = alone.chunks().len();
    assert!((17..60).contains(&chunks), "{chunks} chunks of 60 tokens");

    let page = page(&quiet).await;
    let accepted = value(&page, "vllm:spec_decode_num_accepted_tokens_total");
    let steps = value(&page, "vllm:iteration_tokens_total_count");
    assert_eq!(accepted + steps, 60.0);
    // The role, a chunk a step, the finish and the usage.
    assert_eq!(chunks as f64, 1.0 + steps + 1.0 + 1.0);
}

#[tokio::test]
async fn the_page_agrees_with_what_the_clients_were_told() {
    let engine = engine(batching(quick())).await;
    let (mut prompts, mut tokens, mut cached) = (0, 0, 0);
    for _ in 0..2 {
        let answers = join_all((1..=10).map(|number| chat(&engine, &[], body(10 * number)))).await;
        for answer in answers {
            let usage = answer.chunks().pop().unwrap()["usage"].clone();
            let count = |value: &Value| value.as_u64().unwrap();
            prompts += count(&usage["prompt_tokens"]);
            tokens += count(&usage["completion_tokens"]);
            cached += count(&usage["prompt_tokens_details"]["cached_tokens"]);
        }
    }
    until(&engine, |stats| stats.completed == 20 && stats.active == 0).await;
    let page = page(&engine).await;
    assert_eq!(tokens, 2 * 550);
    for (sample, expected) in [
        ("vllm:prompt_tokens_total", prompts),
        ("vllm:generation_tokens_total", tokens),
        ("vllm:prompt_tokens_cached_total", cached),
        ("vllm:prefix_cache_hits_total", cached),
        ("vllm:prefix_cache_queries_total", prompts),
        ("vllm:time_to_first_token_seconds_count", 20),
        ("vllm:e2e_request_latency_seconds_count", 20),
        ("vllm:inter_token_latency_seconds_count", tokens - 20),
        ("vllm:request_generation_tokens_sum", tokens),
        ("vllm:request_params_max_tokens_sum", tokens),
        ("vllm:iteration_tokens_total_sum", prompts + tokens),
        ("vllm:num_requests_running", 0),
        ("vllm:kv_cache_usage_perc", 0),
    ] {
        assert_eq!(value(&page, sample), expected as f64, "{sample}");
    }
}

#[tokio::test]
async fn the_plain_engine_says_what_it_knows() {
    let engine = engine(config()).await;
    let mut request = body(8);
    request["n"] = json!(2);
    chat(&engine, &[], request).await;
    post(&engine, "/v1/chat/completions", &[], &body(5).to_string()).await;
    let mut leaving = Connection::open(&engine).await;
    let stream =
        json!({"messages": [{"role": "user", "content": "hi"}], "stream": true, "max_tokens": 9}).to_string();
    leaving.send("/v1/chat/completions", &[("x-sim-tps", "0.001")], &stream).await;
    leaving.read_until(|bytes| events(bytes) == 2).await;
    let during = page(&engine).await;
    assert_eq!(value(&during, "vllm:num_requests_running"), 1.0);
    drop(leaving);
    until(&engine, |stats| stats.gone == 1).await;

    let page = page(&engine).await;
    // Ten tokens of a prompt for each of two choices and for one; two of the other prompt.
    for (sample, expected) in [
        ("vllm:prompt_tokens_total", 32.0),
        ("vllm:generation_tokens_total", 16.0 + 5.0 + 1.0),
        ("vllm:time_to_first_token_seconds_count", 4.0),
        ("vllm:inter_token_latency_seconds_count", 14.0 + 1.0),
        ("vllm:request_params_n_sum", 3.0),
        ("vllm:request_params_n_count", 2.0),
        ("vllm:request_generation_tokens_sum", 21.0),
        ("vllm:request_max_num_generation_tokens_sum", 13.0),
    ] {
        assert_eq!(value(&page, sample), expected, "{sample}");
    }
    assert!(page.contains("finished_reason=\"stop\"} 3.0"));
    assert!(page.contains("finished_reason=\"abort\"} 1.0"));
    assert!(!page.contains("kv_cache") && !page.contains("prefix_cache") && !page.contains("iteration"));
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_what_is_left_is_used() {
    let kv = KvCache { num_gpu_blocks: 10, ..KvCache::default() };
    let engine = engine(batching(BatchConfig { max_model_len: 60, kv, ..quick() })).await;
    let refused = post(&engine, "/v1/chat/completions", &[], &body(51).to_string()).await;
    assert_eq!(refused.status, 400);
    let error = refused.json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("maximum context length is 60 tokens"), "{error}");
    assert_eq!(error["param"], "input_tokens");
    assert_eq!(chat(&engine, &[], body(50)).await.status, 200);
    // Without a limit: 64 tokens, of which the context leaves 50.
    let mut request = body(0);
    request.as_object_mut().unwrap().remove("max_tokens");
    let chunks = chat(&engine, &[], request).await.chunks();
    assert_eq!(chunks.last().unwrap()["usage"]["completion_tokens"], 50);
    assert_eq!(chunks[chunks.len() - 2]["choices"][0]["finish_reason"], "length");
    assert_eq!(engine.stats().refused, 1);
}

#[tokio::test]
async fn memory_that_runs_out_loses_no_token() {
    let kv = KvCache { num_gpu_blocks: 16, ..KvCache::default() };
    let engine = engine(batching(BatchConfig { max_model_len: 256, kv, ..quick() })).await;
    let answers = join_all((0..6).map(|_| chat(&engine, &[], body(100)))).await;
    for answer in answers {
        let chunks = answer.chunks();
        // The role, the tokens, the finish, the usage.
        assert_eq!(chunks.len(), 1 + 100 + 1 + 1);
        assert_eq!(chunks[102]["usage"]["completion_tokens"], 100);
    }
    let page = page(&engine).await;
    assert!(value(&page, "vllm:num_preemptions_total") > 0.0);
    assert_eq!(value(&page, "vllm:generation_tokens_total"), 600.0);
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place_and_the_truth_knows() {
    let file = std::env::temp_dir().join(format!("weir-load-{}-batch.jsonl", std::process::id()));
    let batch = BatchConfig { max_num_seqs: 1, ..quick() };
    let engine = engine(EngineConfig { truth: Some(file.clone()), ..batching(batch) }).await;
    let mut first = Connection::open(&engine).await;
    let stream = |tokens: u32| {
        let mut request = body(tokens);
        request["stream"] = json!(true);
        request.to_string()
    };
    first.send("/v1/chat/completions", &[("x-request-id", "first")], &stream(4000)).await;
    first.read_until(|bytes| events(bytes) >= 5).await;
    let second = chat(&engine, &[("x-request-id", "second")], body(3));
    let leaves = async {
        until(&engine, |stats| stats.queued == 1).await;
        assert_eq!(engine.stats().active, 1);
        drop(first);
    };
    let (second, ()) = tokio::join!(second, leaves);
    assert!(second.complete);
    let stats = until(&engine, |stats| stats.gone == 1 && stats.completed == 1 && stats.active == 0).await;
    assert_eq!((stats.queued, stats.peak_active), (0, 1));
    engine.shutdown().await;

    let truths = read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let batch = |id: &str| truths.iter().find(|truth| truth.id == id).unwrap();
    assert_eq!((batch("first").end, batch("second").end), (StreamEnd::Gone, StreamEnd::Ok));
    let second = batch("second").batch.unwrap();
    assert!(second.queue_ns > 0 && second.prefill_ns >= 1_000_000, "{second:?}");
    assert_eq!((second.preemptions, second.cached_tokens), (0, Some(0)));
}

#[tokio::test]
async fn faults_strike_in_a_batch_as_well() {
    let engine = engine(batching(quick())).await;
    let aborted = chat(&engine, &[("x-sim-fault", "abort;at=3")], body(200)).await;
    assert_eq!((aborted.complete, aborted.events().len()), (false, 3));
    let failed = chat(&engine, &[("x-sim-fault", "error;at=2")], body(200)).await;
    assert!(failed.body.contains("\"error\""));
    assert_eq!(chat(&engine, &[("x-sim-fault", "503")], body(5)).await.status, 503);
    until(&engine, |stats| stats.injected == 3 && stats.active == 0).await;
    let page = page(&engine).await;
    assert!(page.contains("finished_reason=\"abort\"} 2.0"), "{page}");
    assert_eq!(value(&page, "vllm:kv_cache_usage_perc"), 0.0);
}
