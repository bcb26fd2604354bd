//! The batch against what its rules say.

// The lints' exemption for tests covers test functions, not the helpers they share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use super::config::{BatchConfig, Batching, KvCache, Speculation, StepCost};
use super::model::{Model, Yield};
use super::prefix;
use super::sequence::Job;
use super::speculation::Steps;

mod drive;
mod invariants;
mod memory;
mod prefixes;
mod speculating;
mod stepping;

/// Round figures: 10 ms a step, 1 ms for each sequence, 1 ms for each prompt token.
const COST: StepCost = StepCost {
    base: Duration::from_millis(10),
    per_sequence: Duration::from_millis(1),
    prefill_tps: 1000.0,
    per_context_token: Duration::ZERO,
    per_swapped_block: Duration::from_millis(2),
};

/// Four tokens a block, memory for all that is asked, no prefix cache.
fn config() -> BatchConfig {
    BatchConfig {
        cost: COST,
        max_num_seqs: 16,
        max_num_batched_tokens: 64,
        max_model_len: 400,
        kv: KvCache {
            block_size: 4,
            num_gpu_blocks: 1000,
            num_cpu_blocks: 0,
            prefix_caching: false,
            ..KvCache::default()
        },
        ..BatchConfig::default()
    }
}

/// A prompt of so many tokens; prompts of one number begin alike.
fn prompt(tokens: u32, number: u32) -> String {
    (1..tokens).map(|word| format!("{number}-{word} ")).collect()
}

/// A model with a clock of its own, and what it has brought whom when.
struct Run {
    model: Model,
    config: BatchConfig,
    now: Duration,
    requests: u64,
    /// By request and choice.
    yields: BTreeMap<(u64, u32), Vec<(Duration, Yield)>>,
}

impl Run {
    fn new(config: &BatchConfig) -> Self {
        Run {
            model: Model::new(&Batching::try_from(config.clone()).unwrap()),
            config: config.clone(),
            now: Duration::ZERO,
            requests: 0,
            yields: BTreeMap::new(),
        }
    }

    /// A request comes now; its number.
    fn ask(&mut self, prompt: &str, output: u32) -> u64 {
        self.ask_choices(prompt, output, 1)
    }

    fn ask_choices(&mut self, prompt: &str, output: u32, choices: u32) -> u64 {
        let request = self.requests;
        self.requests += 1;
        let kv = &self.config.kv;
        let prefixes = if kv.prefix_caching { prefix::hashes(prompt, kv.block_size) } else { Vec::new() };
        let draw = |speculation: Speculation| speculation.steps(output, request);
        self.model.submit(Job {
            request,
            arrived: self.now,
            choices,
            first_choice: 0,
            prompt: 1 + u32::try_from(prompt.split_whitespace().count()).unwrap(),
            prefixes: prefixes.into(),
            output,
            steps: self.config.speculation.map_or(Steps::Single, draw),
            limit: output,
            cut: false,
        });
        request
    }

    /// One step; how long it took, if there was one.
    fn step(&mut self) -> Option<Duration> {
        let took = self.model.begin(self.now)?;
        self.model.check();
        self.now += took;
        for news in self.model.finish(self.now) {
            self.yields.entry((news.request, news.choice)).or_default().push((self.now, news));
        }
        self.model.check();
        Some(took)
    }

    /// Steps until nothing is left to do.
    fn finish(&mut self) {
        while self.step().is_some() {}
        assert_eq!(self.model.occupancy().waiting, 0);
    }

    /// When each token of a request's first choice came, and how many there were then.
    fn times(&self, request: u64) -> Vec<(Duration, u32)> {
        self.yields[&(request, 0)].iter().map(|(at, news)| (*at, news.generated)).collect()
    }

    /// The longest time between two yields of a request.
    fn longest_gap(&self, request: u64) -> Duration {
        self.times(request).windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap()
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
