//! The metrics of the continuous batch alone.

use super::text::{Kind, Page};
use crate::engine::batch::{BatchConfig, Books, Guesses, KvCache, Occupancy, Preemption};

/// How full the memory is.
pub(super) fn memory(page: &mut Page, occupancy: Occupancy, config: &BatchConfig) {
    page.value(
        Kind::Gauge,
        "vllm:kv_cache_usage_perc",
        "The share of the blocks that is held, between 0 and 1.",
        occupancy.gpu,
    );
    if config.kv.preemption == Preemption::Swap {
        page.value(
            Kind::Gauge,
            "vllm:num_requests_swapped",
            "Sequences whose blocks are in the host's memory.",
            occupancy.swapped as f64,
        );
        page.value(
            Kind::Gauge,
            "vllm:cpu_cache_usage_perc",
            "The share of the host's blocks that is held, between 0 and 1.",
            occupancy.host,
        );
    }
}

/// What the steps have done.
pub(super) fn books(page: &mut Page, books: &Books) {
    for (name, help, count) in [
        (
            "vllm:prefix_cache_queries_total",
            "Tokens looked for in the prefix cache, once for each sequence.",
            books.prefix_queries,
        ),
        ("vllm:prefix_cache_hits_total", "Tokens found there.", books.prefix_hits),
        ("vllm:num_preemptions_total", "How often a sequence had to make room.", books.preemptions),
    ] {
        page.value(Kind::Counter, name, help, count as f64);
    }
    if let Some(guesses) = &books.guesses {
        speculation(page, guesses);
    }
    for (name, help, histogram) in [
        (
            "vllm:iteration_tokens_total",
            "Tokens of each step: those it generated, and each prompt with the step that finished it.",
            &books.step_tokens,
        ),
        (
            "vllm:request_num_preemptions",
            "How often each finished sequence had to make room.",
            &books.sequence_preemptions,
        ),
        (
            "vllm:request_prefill_kv_computed_tokens",
            "Tokens of each finished sequence's prompt that were not in the prefix cache.",
            &books.prefill_computed,
        ),
    ] {
        page.histogram(name, help, histogram);
    }
}

fn speculation(page: &mut Page, guesses: &Guesses) {
    for (name, help, count) in [
        ("vllm:spec_decode_num_drafts_total", "Drafts, one for each step of a sequence.", guesses.drafts),
        ("vllm:spec_decode_num_draft_tokens_total", "Tokens drafted.", guesses.draft_tokens),
        ("vllm:spec_decode_num_accepted_tokens_total", "Drafted tokens accepted.", guesses.accepted),
    ] {
        page.value(Kind::Counter, name, help, count as f64);
    }
    let name = "vllm:spec_decode_num_accepted_tokens_per_pos_total";
    page.metric(Kind::Counter, name, "Accepted tokens by their place in the draft.");
    for (position, count) in guesses.accepted_at.iter().enumerate() {
        page.sample(name, &[("position", &position.to_string())], *count as f64);
    }
}

/// The shape of the memory, as labels.
pub(super) fn cache_config(page: &mut Page, kv: &KvCache) {
    let truth = |is: bool| if is { "True" } else { "False" };
    let utilization = kv.gpu_memory_utilization.map_or("None".to_owned(), |share| share.to_string());
    let name = "vllm:cache_config_info";
    page.metric(Kind::Gauge, name, "The shape of the memory for keys and values.");
    page.sample(
        name,
        &[
            ("block_size", &kv.block_size.to_string()),
            ("cache_dtype", "auto"),
            ("enable_prefix_caching", truth(kv.prefix_caching)),
            ("gpu_memory_utilization", &utilization),
            ("kv_cache_size_tokens", &kv.tokens().to_string()),
            ("num_cpu_blocks", &kv.num_cpu_blocks.to_string()),
            ("num_gpu_blocks", &kv.num_gpu_blocks.to_string()),
        ],
        1.0,
    );
}
