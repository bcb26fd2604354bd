//! The batch in real time, which is paused: it advances when everybody waits.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep, timeout};

use super::*;
use crate::engine::ask::{Ask, Prompt, Terms, Wish};
use crate::engine::batch::progress::Cached;
use crate::engine::batch::seat::{Batch, Seat};
use crate::engine::batch::{Occupancy, books::Books, driver};
use crate::engine::config::Behaviour;
use crate::engine::metrics::Snapshot;
use crate::engine::stats::Counters;

fn ask(prompt: &str, limit: Option<u32>, choices: u32) -> Ask {
    let prompts = vec![Prompt::of(&json!(prompt))];
    let behaviour = Behaviour::default();
    let terms = Terms { behaviour: &behaviour, model: "sim", id: "r" };
    Ask::settle(Wish { prompts, limit, choices, ..Wish::default() }, &terms).unwrap()
}

/// A batch that runs until the test ends.
struct Running {
    batch: Batch,
    counters: Arc<Counters>,
    _task: JoinSet<()>,
}

fn running(config: &BatchConfig) -> Running {
    let counters = Arc::new(Counters::default());
    let batching = Batching::try_from(config.clone()).unwrap();
    let (batch, driver) = driver::batch(batching, Arc::clone(&counters));
    let mut task = JoinSet::new();
    task.spawn(driver.run());
    Running { batch, counters, _task: task }
}

impl Running {
    async fn enter(&self, prompt: &str, tokens: u32) -> Seat {
        self.enter_with(prompt, tokens, 1, &Cached::default()).await
    }

    async fn enter_with(&self, prompt: &str, tokens: u32, choices: u32, cached: &Cached) -> Seat {
        let ask = self.batch.fit(ask(prompt, Some(tokens), choices), 7).unwrap();
        self.batch.enter(&ask, 7, cached.clone()).await
    }

    async fn snapshot(&self) -> (Occupancy, Books) {
        match self.batch.snapshot().await {
            Some(Snapshot::Batch { occupancy, books, .. }) => (occupancy, *books),
            _ => panic!("no snapshot"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_come_at_the_ends_of_the_steps() {
    let engine = running(&config());
    let start = Instant::now();
    let seat = engine.enter(&prompt(20, 1), 4).await;
    let mut times = Vec::new();
    for token in 0..4 {
        seat.token(token).await;
        times.push(start.elapsed());
    }
    assert_eq!(times, [ms(30), ms(41), ms(52), ms(63)]);
    let truth = seat.progress().truth().unwrap();
    assert_eq!((truth.queue_ns, truth.prefill_ns, truth.preemptions), (0, 30_000_000, 0));
    assert_eq!(truth.cached_tokens, None);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_was_held_up_catches_up() {
    let engine = running(&config());
    let start = Instant::now();
    let seat = engine.enter("", 200).await;
    seat.token(0).await;
    // The machine stands still for a second: the steps of that second are over at once.
    advance(ms(1000) - ms(11)).await;
    seat.token(89).await;
    assert_eq!(start.elapsed(), ms(1000));
    // And no later one is late.
    seat.token(199).await;
    assert_eq!(start.elapsed(), ms(11 * 200));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_reader_does_not_stall_the_batch() {
    let engine = running(&config());
    let start = Instant::now();
    let stalled = engine.enter("", 30).await;
    let seats = join_all((1..10).map(|_| engine.enter("", 30))).await;
    join_all(seats.iter().map(|seat| seat.token(29))).await;
    // Ten in each of the thirty steps; the first is a prefill of ten tokens.
    let sharing = ms(10 + 10) + 29 * ms(20);
    assert_eq!(start.elapsed(), sharing);
    // The stalled one has all its tokens as well, and its blocks are free.
    let (occupancy, books) = engine.snapshot().await;
    assert_eq!((occupancy.running, occupancy.gpu), (0, 0.0));
    assert_eq!(books.ledger.generation_tokens, 300);
    stalled.token(29).await;
    assert_eq!(start.elapsed(), sharing);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_frees_its_blocks_with_the_next_step() {
    let engine = running(&config());
    let leaving = engine.enter(&prompt(40, 1), 300).await;
    let staying = engine.enter("", 300).await;
    leaving.token(3).await;
    let stats = engine.counters.read(0);
    assert_eq!((stats.active, stats.queued, stats.peak_active), (2, 0, 2));
    let (before, _) = engine.snapshot().await;
    assert_eq!(before.running, 2);
    drop(leaving);
    staying.token(6).await;
    let (after, books) = engine.snapshot().await;
    assert_eq!(after.running, 1);
    assert!(after.gpu < before.gpu);
    assert_eq!(books.ledger.finished.abort, 1);

    drop(staying);
    sleep(ms(100)).await;
    let (idle, books) = engine.snapshot().await;
    assert_eq!(idle, Occupancy::default());
    assert_eq!(books.ledger.finished.abort, 2);
    assert_eq!(engine.counters.read(0).active, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_comes_during_a_step_waits_for_its_end() {
    let engine = running(&config());
    let start = Instant::now();
    let first = engine.enter(&prompt(50, 1), 10).await;
    sleep(ms(15)).await;
    let second = engine.enter("", 1).await;
    let (occupancy, _) = engine.snapshot().await;
    assert_eq!((occupancy.running, occupancy.waiting), (1, 1));
    second.token(0).await;
    // The prompt's step ends after 60 ms; the next decodes one and computes one token.
    assert_eq!(start.elapsed(), ms(60) + ms(10 + 1 + 1));
    assert_eq!(second.progress().truth().unwrap().queue_ns, 45_000_000);
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn chunks_wait_for_their_last_token_and_choices_for_each_other() {
    let engine = running(&BatchConfig { max_num_seqs: 2, ..config() });
    let start = Instant::now();
    let seat = engine.enter_with("", 2, 3, &Cached::default()).await;
    seat.token(0).await;
    // The third choice finds a place when the first two are done.
    assert_eq!(start.elapsed(), ms(12) + ms(12) + ms(11));
    seat.token(1).await;
    assert_eq!(start.elapsed(), ms(12) + ms(12) + ms(11) + ms(11));
}

#[tokio::test(start_paused = true)]
async fn what_was_cached_is_known_with_the_first_token() {
    let kv = KvCache { prefix_caching: true, ..config().kv };
    let engine = running(&BatchConfig { kv, ..config() });
    engine.enter(&prompt(20, 1), 1).await.token(0).await;
    let cached = Cached::default();
    let seat = engine.enter_with(&prompt(20, 1), 1, 1, &cached).await;
    assert_eq!(cached.tokens(), None);
    seat.token(0).await;
    assert_eq!(cached.tokens(), Some(16));
    assert_eq!(seat.progress().truth().unwrap().cached_tokens, Some(16));
}

#[tokio::test(start_paused = true)]
async fn an_empty_prompt_is_answered() {
    let engine = running(&config());
    let behaviour = Behaviour::default();
    let terms = Terms { behaviour: &behaviour, model: "sim", id: "r" };
    for prompts in [Vec::new(), Prompt::each_of(&json!([]))] {
        let wish = Wish { prompts, limit: Some(3), ..Wish::default() };
        let ask = engine.batch.fit(Ask::settle(wish, &terms).unwrap(), 7).unwrap();
        engine.batch.enter(&ask, 7, Cached::default()).await.token(2).await;
    }
    assert_eq!(engine.snapshot().await.1.ledger.generation_tokens, 6);
}

#[tokio::test(start_paused = true)]
async fn several_prompts_are_computed_each_by_itself() {
    let kv = KvCache { prefix_caching: true, ..config().kv };
    let engine = running(&BatchConfig { kv, ..config() });
    engine.enter(&prompt(20, 1), 1).await.token(0).await;
    let prompts = [prompt(20, 1), prompt(12, 2), prompt(20, 1)];
    let wish = Wish {
        prompts: prompts.iter().map(|prompt| Prompt::of(&json!(prompt))).collect(),
        limit: Some(2),
        choices: 2,
        ..Wish::default()
    };
    let behaviour = Behaviour::default();
    let ask = Ask::settle(wish, &Terms { behaviour: &behaviour, model: "sim", id: "r" }).unwrap();
    let cached = Cached::default();
    engine.batch.enter(&ask, 7, cached.clone()).await.token(1).await;
    let (_, books) = engine.snapshot().await;
    assert_eq!(books.ledger.prompt_tokens, 20 + 2 * (20 + 12 + 20));
    assert_eq!(books.ledger.generation_tokens, 1 + 6 * 2);
    // Three prompts of two choices each, and the one that came first.
    assert_eq!((books.ledger.sizes.choices.count(), books.ledger.sizes.choices.sum()), (4, 7.0));
    assert_eq!(cached.tokens(), Some(16 + 16));
}

#[tokio::test(start_paused = true)]
async fn the_page_says_what_happened() {
    let kv = KvCache { prefix_caching: true, ..config().kv };
    let engine = running(&BatchConfig { kv, ..config() });
    // One prompt twice, one after the other, then a client that leaves.
    for _ in 0..2 {
        engine.enter(&prompt(20, 1), 5).await.token(4).await;
    }
    let leaving = engine.enter(&prompt(6, 2), 300).await;
    leaving.token(2).await;
    let snapshot = engine.batch.snapshot().await.unwrap();
    let page = snapshot.page("sim");
    let value = |name: &str| -> f64 {
        let line = page.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}"));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    for (name, expected) in [
        ("vllm:num_requests_running{", 1.0),
        ("vllm:num_requests_waiting{", 0.0),
        // 6 + 2 tokens are held and one is being computed: three blocks of a thousand.
        ("vllm:kv_cache_usage_perc{", 0.003),
        ("vllm:prompt_tokens_total{", 46.0),
        ("vllm:generation_tokens_total{", 13.0),
        ("vllm:prefix_cache_queries_total{", 46.0),
        ("vllm:prefix_cache_hits_total{", 16.0),
        ("vllm:num_preemptions_total{", 0.0),
        ("vllm:request_success_total{engine=\"0\",model_name=\"sim\",finished_reason=\"stop\"}", 2.0),
        // 30 ms and 14 ms for the one prompt, 16 ms for the other.
        ("vllm:time_to_first_token_seconds_sum", 0.060),
        ("vllm:time_to_first_token_seconds_count", 3.0),
        ("vllm:time_to_first_token_seconds_bucket{engine=\"0\",model_name=\"sim\",le=\"0.02\"}", 2.0),
        ("vllm:inter_token_latency_seconds_count", 10.0),
        ("vllm:inter_token_latency_seconds_sum", 0.110),
        ("vllm:request_time_per_output_token_seconds_sum", 0.022),
        ("vllm:e2e_request_latency_seconds_sum", 0.030 + 0.014 + 2.0 * 0.044),
        ("vllm:request_prefill_time_seconds_sum", 0.044),
        ("vllm:request_decode_time_seconds_sum", 0.088),
        ("vllm:request_queue_time_seconds_sum", 0.0),
        ("vllm:request_inference_time_seconds_sum", 0.132),
        ("vllm:request_prompt_tokens_sum", 40.0),
        ("vllm:request_generation_tokens_sum", 10.0),
        ("vllm:request_params_max_tokens_sum", 10.0),
        ("vllm:request_params_n_sum", 2.0),
        ("vllm:iteration_tokens_total_sum", 46.0 + 13.0),
        ("vllm:iteration_tokens_total_count", 13.0),
        ("vllm:request_prefill_kv_computed_tokens_sum", 20.0 + 4.0),
        ("vllm:cache_config_info{", 1.0),
    ] {
        assert!((value(name) - expected).abs() < 1e-9, "{name}: {}", value(name));
    }
    assert!(!page.contains("spec_decode") && !page.contains("swapped"));

    drop(leaving);
    sleep(ms(100)).await;
    let page = engine.batch.snapshot().await.unwrap().page("sim");
    assert!(page.contains("finished_reason=\"abort\"} 1.0"));
    assert!(page.contains("vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"sim\"} 0.0\n"));
}

#[tokio::test(start_paused = true)]
async fn the_same_requests_bring_the_same_page() {
    let mut pages = Vec::new();
    for _ in 0..2 {
        let speculation = Some(Speculation { tokens: 3, acceptance: 0.5 });
        let kv = KvCache { num_gpu_blocks: 100, prefix_caching: true, ..config().kv };
        let engine = running(&BatchConfig { speculation, kv, ..config() });
        let seats = join_all((0..20).map(|number| async move { (number, prompt(30, number % 3)) }))
            .await
            .into_iter()
            .map(|(number, prompt)| (20 + number, prompt));
        let seats: Vec<(u32, String)> = seats.collect();
        let entered = join_all(seats.iter().map(|(tokens, prompt)| engine.enter(prompt, *tokens))).await;
        join_all(entered.iter().zip(&seats).map(|(seat, (tokens, _))| seat.token(tokens - 1))).await;
        pages.push(engine.batch.snapshot().await.unwrap().page("sim"));
    }
    assert_eq!(pages[0], pages[1]);
    assert!(pages[0].contains("vllm:spec_decode_num_drafts_total"));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_let_in_who_cannot_come_to_an_end() {
    let engine = running(&config());
    let words = prompt(390, 1);
    let refused = engine.batch.fit(ask(&words, Some(11), 1), 1).unwrap_err();
    assert_eq!(refused.status, 400);
    assert!(refused.message.contains("maximum context length is 400 tokens"), "{}", refused.message);
    assert!(refused.message.contains("401 tokens"), "{}", refused.message);
    assert!(engine.batch.fit(ask(&prompt(400, 1), Some(1), 1), 1).is_err());
    assert!(engine.batch.fit(ask(&words, Some(10), 1), 1).is_ok());
    // Without a limit of its own the answer takes what is left of the context.
    let cut = engine.batch.fit(ask(&words, None, 1), 1).unwrap();
    assert_eq!((cut.tokens, cut.cut, cut.chunks.count()), (10, true, 10));
    let seat = engine.batch.enter(&cut, 1, Cached::default()).await;
    assert!(timeout(ms(2000), seat.token(9)).await.is_ok());
}
