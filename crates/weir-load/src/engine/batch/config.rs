//! What a batching engine is told: its costs, its limits and its memory.

use std::fmt;

pub use super::cost::StepCost;

/// Configuration of the continuous batch; [`Batching`] is one that has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchConfig {
    /// How long a step takes.
    pub cost: StepCost,
    /// Sequences that run at once; each choice of a request is a sequence.
    pub max_num_seqs: u32,
    /// Tokens that one step computes at most, prompts and drafts included.
    pub max_num_batched_tokens: u32,
    /// Whether a prompt may be computed in pieces beside the running sequences. Without it a step
    /// computes whole prompts alone, and everything that runs stands still meanwhile.
    pub chunked_prefill: bool,
    /// Tokens of one sequence, prompt and answer together, at most.
    pub max_model_len: u32,
    /// The memory for keys and values.
    pub kv: KvCache,
    /// Speculative decoding, if any.
    pub speculation: Option<Speculation>,
}

/// The memory that holds keys and values, in blocks of tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct KvCache {
    /// Tokens in a block.
    pub block_size: u32,
    /// Blocks in the accelerators' memory.
    pub num_gpu_blocks: u32,
    /// Blocks in the host's memory, where swapped sequences are kept.
    pub num_cpu_blocks: u32,
    /// Whether the blocks of a prompt are kept for later prompts that begin alike.
    pub prefix_caching: bool,
    /// What becomes of a sequence that has to make room.
    pub preemption: Preemption,
    /// The share of the accelerators' memory that the engine takes, where that is known.
    pub gpu_memory_utilization: Option<f64>,
}

/// What becomes of a sequence that has to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Its blocks are given up; later its prompt and what it had generated are computed again.
    Recompute,
    /// Its blocks are moved to the host's memory and back. Where that is full, it is recomputed.
    Swap,
}

/// Speculative decoding: guessed tokens that one step verifies together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speculation {
    /// Tokens drafted for each step of a sequence.
    pub tokens: u32,
    /// The chance, between 0 and 1, that a draft is accepted when those before it were.
    pub acceptance: f64,
}

impl Default for BatchConfig {
    /// vLLM's limits, and round figures of no particular machine for the rest.
    fn default() -> Self {
        BatchConfig {
            cost: StepCost::default(),
            max_num_seqs: 256,
            max_num_batched_tokens: 2048,
            chunked_prefill: true,
            max_model_len: 4096,
            kv: KvCache::default(),
            speculation: None,
        }
    }
}

impl Default for KvCache {
    fn default() -> Self {
        KvCache {
            block_size: 16,
            num_gpu_blocks: 4096,
            num_cpu_blocks: 1024,
            prefix_caching: true,
            preemption: Preemption::Recompute,
            gpu_memory_utilization: None,
        }
    }
}

impl KvCache {
    /// Tokens that all blocks of the accelerators hold together.
    pub fn tokens(&self) -> u64 {
        u64::from(self.block_size) * u64::from(self.num_gpu_blocks)
    }
}

/// A checked [`BatchConfig`]: every sequence it lets in can be brought to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Batching(BatchConfig);

impl Batching {
    /// The configuration.
    pub fn config(&self) -> &BatchConfig {
        &self.0
    }
}

impl TryFrom<BatchConfig> for Batching {
    type Error = BatchError;

    fn try_from(config: BatchConfig) -> Result<Self, BatchError> {
        let positive = [
            (config.max_num_seqs, "max_num_seqs"),
            (config.max_num_batched_tokens, "max_num_batched_tokens"),
            (config.kv.block_size, "block_size"),
            (config.kv.num_gpu_blocks, "num_gpu_blocks"),
        ];
        if let Some((_, name)) = positive.iter().find(|(value, _)| *value == 0) {
            return Err(BatchError::NotPositive(name));
        }
        if config.cost.prefill_tps.is_nan() || config.cost.prefill_tps <= 0.0 {
            return Err(BatchError::NotPositive("prefill_tps"));
        }
        if config.max_model_len < 2 {
            return Err(BatchError::NotPositive("max_model_len"));
        }
        if u64::from(config.max_model_len) > config.kv.tokens() {
            return Err(BatchError::ContextExceedsMemory {
                context: config.max_model_len,
                memory: config.kv.tokens(),
            });
        }
        let drafts = config.speculation.map_or(0, |speculation| speculation.tokens);
        if let Some(speculation) = config.speculation
            && !(0.0..=1.0).contains(&speculation.acceptance)
        {
            return Err(BatchError::AcceptanceOutOfRange);
        }
        let needed = match config.chunked_prefill {
            true => config.max_num_seqs.saturating_mul(drafts.saturating_add(1)),
            false => config.max_model_len.max(config.max_num_seqs.saturating_mul(drafts.saturating_add(1))),
        };
        if config.max_num_batched_tokens < needed {
            return Err(BatchError::StepTooSmall { needed });
        }
        Ok(Batching(config))
    }
}

/// Why a [`BatchConfig`] cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchError {
    /// That field must be above zero; for `max_model_len`, above one.
    NotPositive(&'static str),
    /// A sequence of `max_model_len` tokens would not fit into all blocks together.
    ContextExceedsMemory {
        /// `max_model_len`.
        context: u32,
        /// Tokens that the blocks hold.
        memory: u64,
    },
    /// A step must have room for each running sequence's token and drafts and, without chunked
    /// prefill, for the longest prompt.
    StepTooSmall {
        /// The least `max_num_batched_tokens`.
        needed: u32,
    },
    /// The acceptance is not between 0 and 1.
    AcceptanceOutOfRange,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchError::NotPositive("max_model_len") => f.write_str("max_model_len must be at least 2"),
            BatchError::NotPositive(name) => write!(f, "{name} must be above zero"),
            BatchError::ContextExceedsMemory { context, memory } => write!(
                f,
                "max_model_len is {context}, but all blocks together hold {memory} tokens: lower it or \
                 raise num_gpu_blocks"
            ),
            BatchError::StepTooSmall { needed } => write!(
                f,
                "max_num_batched_tokens must be at least {needed}: each of max_num_seqs sequences needs \
                 room for its token and its drafts, and without chunked prefill so does a whole prompt"
            ),
            BatchError::AcceptanceOutOfRange => f.write_str("the acceptance must be between 0 and 1"),
        }
    }
}

impl std::error::Error for BatchError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_work() {
        assert!(Batching::try_from(BatchConfig::default()).is_ok());
    }

    #[test]
    fn what_cannot_work_is_named() {
        let default = BatchConfig::default;
        let kv = KvCache::default;
        let cost = StepCost { prefill_tps: f64::NAN, ..StepCost::default() };
        let speculation = |tokens, acceptance| Some(Speculation { tokens, acceptance });
        for (config, expected) in [
            (BatchConfig { max_num_seqs: 0, ..default() }, BatchError::NotPositive("max_num_seqs")),
            (BatchConfig { max_model_len: 1, ..default() }, BatchError::NotPositive("max_model_len")),
            (BatchConfig { cost, ..default() }, BatchError::NotPositive("prefill_tps")),
            (
                BatchConfig { kv: KvCache { num_gpu_blocks: 255, ..kv() }, ..default() },
                BatchError::ContextExceedsMemory { context: 4096, memory: 4080 },
            ),
            (BatchConfig { chunked_prefill: false, ..default() }, BatchError::StepTooSmall { needed: 4096 }),
            (
                BatchConfig { speculation: speculation(8, 0.5), ..default() },
                BatchError::StepTooSmall { needed: 256 * 9 },
            ),
            (BatchConfig { speculation: speculation(1, 1.5), ..default() }, BatchError::AcceptanceOutOfRange),
        ] {
            let error = Batching::try_from(config).unwrap_err();
            assert_eq!(error, expected);
            assert!(!error.to_string().is_empty());
        }
    }
}
