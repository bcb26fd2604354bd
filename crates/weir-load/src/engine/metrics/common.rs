//! The metrics of either model.

use super::ledger::Ledger;
use super::text::{Kind, Page};

/// Who generates and who waits.
pub(super) fn occupancy(page: &mut Page, running: u64, waiting: u64) {
    let (running, waiting) = (running as f64, waiting as f64);
    page.value(Kind::Gauge, "vllm:num_requests_running", "Sequences in the running batch.", running);
    page.value(Kind::Gauge, "vllm:num_requests_waiting", "Sequences that wait for their turn.", waiting);
    let name = "vllm:num_requests_waiting_by_reason";
    page.metric(Kind::Gauge, name, "Waiting sequences by what they wait for; nothing is ever deferred here.");
    page.sample(name, &[("reason", "capacity")], waiting);
    page.sample(name, &[("reason", "deferred")], 0.0);
}

/// Tokens, ends and times.
pub(super) fn ledger(page: &mut Page, ledger: &Ledger) {
    tokens(page, ledger);
    finished(page, ledger);
    times(page, ledger);
    sizes(page, ledger);
}

fn tokens(page: &mut Page, ledger: &Ledger) {
    let count = |tokens: u64| tokens as f64;
    page.value(
        Kind::Counter,
        "vllm:prompt_tokens_total",
        "Tokens of the prompts whose answer has begun.",
        count(ledger.prompt_tokens),
    );
    let name = "vllm:prompt_tokens_by_source_total";
    page.metric(Kind::Counter, name, "Tokens of prompts by where their keys and values came from.");
    let computed = ledger.prompt_tokens - ledger.cached_tokens;
    for (source, tokens) in
        [("local_compute", computed), ("local_cache_hit", ledger.cached_tokens), ("external_kv_transfer", 0)]
    {
        page.sample(name, &[("source", source)], count(tokens));
    }
    page.value(
        Kind::Counter,
        "vllm:prompt_tokens_cached_total",
        "Tokens of prompts that were in the prefix cache.",
        count(ledger.cached_tokens),
    );
    page.value(
        Kind::Counter,
        "vllm:generation_tokens_total",
        "Tokens generated.",
        count(ledger.generation_tokens),
    );
}

fn finished(page: &mut Page, ledger: &Ledger) {
    let name = "vllm:request_success_total";
    page.metric(Kind::Counter, name, "Sequences that have ended, by the reason; aborted ones as well.");
    let ends = &ledger.finished;
    for (reason, count) in
        [("stop", ends.stop), ("length", ends.length), ("abort", ends.abort), ("error", 0), ("repetition", 0)]
    {
        page.sample(name, &[("finished_reason", reason)], count as f64);
    }
}

fn times(page: &mut Page, ledger: &Ledger) {
    let phases = &ledger.phases;
    for (name, help, histogram) in [
        (
            "vllm:time_to_first_token_seconds",
            "From a sequence's arrival to its first token.",
            &ledger.first_token,
        ),
        (
            "vllm:inter_token_latency_seconds",
            "From one step that yielded tokens for a sequence to the next.",
            &ledger.between_tokens,
        ),
        (
            "vllm:request_time_per_output_token_seconds",
            "Decode time over the tokens after the first, for each sequence.",
            &ledger.per_token,
        ),
        ("vllm:e2e_request_latency_seconds", "From arrival to the last token.", &phases.whole),
        ("vllm:request_queue_time_seconds", "From arrival to the first scheduling.", &phases.queue),
        (
            "vllm:request_prefill_time_seconds",
            "From the first scheduling to the first token.",
            &phases.prefill,
        ),
        ("vllm:request_decode_time_seconds", "From the first token to the last.", &phases.decode),
        (
            "vllm:request_inference_time_seconds",
            "From the first scheduling to the last token.",
            &phases.inference,
        ),
    ] {
        page.histogram(name, help, histogram);
    }
}

fn sizes(page: &mut Page, ledger: &Ledger) {
    let sizes = &ledger.sizes;
    for (name, help, histogram) in [
        ("vllm:request_prompt_tokens", "Tokens of each finished sequence's prompt.", &sizes.prompt_tokens),
        (
            "vllm:request_generation_tokens",
            "Tokens generated for each finished sequence.",
            &sizes.generation_tokens,
        ),
        (
            "vllm:request_max_num_generation_tokens",
            "The most tokens of any choice of each finished request.",
            &sizes.longest_choice,
        ),
        ("vllm:request_params_n", "Choices of each finished request.", &sizes.choices),
        ("vllm:request_params_max_tokens", "The token limit of each finished sequence.", &sizes.limit),
    ] {
        page.histogram(name, help, histogram);
    }
}
