//! What holds at any time, whatever is asked.

use std::collections::HashMap;

use rand::Rng;
use rand::rngs::StdRng;

use super::*;
use crate::draw;
use crate::engine::batch::blocks::BlockId;
use crate::engine::batch::config::Preemption;

impl Model {
    /// Every block is held as often as sequences list it, and no budget is exceeded.
    pub(in crate::engine::batch) fn check(&self) {
        let mut holders: HashMap<BlockId, u32> = HashMap::new();
        for sequence in &self.running {
            let mut own = sequence.blocks.clone();
            own.sort_unstable();
            own.dedup();
            assert_eq!(own.len(), sequence.blocks.len(), "a sequence holds a block twice");
            for &block in &sequence.blocks {
                *holders.entry(block).or_default() += 1;
            }
            let held = sequence.blocks.len() * self.config.kv.block_size as usize;
            assert!(held >= sequence.computed as usize, "tokens without a block");
        }
        for queued in self.waiting.iter().chain(&self.swapped) {
            assert!(queued.blocks.is_empty() && queued.share.is_none());
        }
        assert!(self.waiting.iter().all(|sequence| sequence.computed == 0 && sequence.hosted == 0));
        let total = u32::try_from(self.pool.total()).unwrap();
        for block in 0..total {
            let expected = holders.get(&block).copied().unwrap_or(0);
            assert_eq!(self.pool.holders(block), expected, "block {block}");
        }
        assert_eq!(self.pool.free() + holders.len(), self.pool.total());
        let hosted: u32 = self.swapped.iter().map(|sequence| sequence.hosted).sum();
        assert_eq!(hosted + self.host_free, self.config.kv.num_cpu_blocks);

        let shares = self.running.iter().filter_map(|sequence| sequence.share);
        let tokens: u32 = shares.map(|share| share.tokens()).sum();
        assert!(tokens <= self.config.max_num_batched_tokens);
        assert!(self.running.len() <= self.config.max_num_seqs as usize);
        // Only a prefix that both begin with may be held by two.
        for sequence in &self.running {
            let prompt_blocks = sequence.job.prefixes.len();
            for block in sequence.blocks.iter().skip(prompt_blocks) {
                assert_eq!(holders[block], 1, "two sequences would write into block {block}");
            }
        }
    }
}

fn any_config(rng: &mut StdRng) -> BatchConfig {
    let block_size = rng.random_range(1..=8);
    let max_model_len = rng.random_range(8..=80);
    let max_num_seqs = rng.random_range(1..=12);
    let drafts = rng.random_range(0..=3);
    let chunked_prefill = rng.random_bool(0.7);
    let least = (max_num_seqs * (drafts + 1)).max(if chunked_prefill { 1 } else { max_model_len });
    let preemption = if rng.random_bool(0.5) { Preemption::Swap } else { Preemption::Recompute };
    BatchConfig {
        cost: COST,
        max_num_seqs,
        max_num_batched_tokens: least + rng.random_range(0..40),
        chunked_prefill,
        max_model_len,
        kv: KvCache {
            block_size,
            num_gpu_blocks: max_model_len.div_ceil(block_size) + rng.random_range(0..20),
            num_cpu_blocks: rng.random_range(0..20),
            prefix_caching: rng.random_bool(0.5),
            preemption,
            gpu_memory_utilization: None,
        },
        speculation: (drafts > 0).then_some(Speculation { tokens: drafts, acceptance: 0.5 }),
    }
}

/// Runs random requests on a random engine, checking at every step, and tells what came of it.
fn random_run(seed: u64) -> (Vec<(u64, Vec<u32>)>, String) {
    let mut rng = draw::generator(seed, 0);
    let config = any_config(&mut rng);
    let mut run = Run::new(&config);
    let mut outputs = HashMap::new();
    let mut gone = Vec::new();
    for _ in 0..60 {
        if rng.random_bool(0.6) {
            let tokens = rng.random_range(1..config.max_model_len);
            let output = rng.random_range(1..=config.max_model_len - tokens);
            let choices = rng.random_range(1..=2);
            let request = run.ask_choices(&prompt(tokens, rng.random_range(0..3)), output, choices);
            outputs.insert(request, output);
        }
        if rng.random_bool(0.1) && run.requests > 0 {
            let request = rng.random_range(0..run.requests);
            run.model.abort(request);
            run.model.check();
            gone.push(request);
        }
        run.step();
    }
    run.finish();
    let occupancy = run.model.occupancy();
    assert_eq!((occupancy.gpu, occupancy.host), (0.0, 0.0), "blocks have leaked");
    assert_eq!((occupancy.running, occupancy.swapped), (0, 0));
    let mut tokens = Vec::new();
    for (&(request, _), yields) in &run.yields {
        let counts: Vec<u32> = yields.iter().map(|(_, news)| news.generated).collect();
        assert!(counts.is_sorted_by(|one, other| one < other));
        if !gone.contains(&request) {
            assert_eq!(counts.last(), Some(&outputs[&request]), "request {request}");
        }
        tokens.push((request, counts));
    }
    assert!(outputs.keys().all(|request| gone.contains(request) || run.yields.contains_key(&(*request, 0))));
    (tokens, format!("{:?}", run.model.books()))
}

#[test]
fn no_block_leaks_and_no_budget_is_exceeded() {
    for seed in 0..80 {
        random_run(seed);
    }
}

#[test]
fn the_same_seed_brings_the_same_tokens_at_the_same_times() {
    for seed in 0..5 {
        assert_eq!(random_run(seed), random_run(seed));
    }
}
