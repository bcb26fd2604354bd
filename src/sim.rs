//! `weir sim`: the simulated engine by itself.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use weir_load::engine::{
    BatchConfig, Batching, Behaviour, EngineConfig, FaultRates, Length, Preemption, Preset, Speculation,
};

use crate::cli::SimArgs;

/// Any of these makes the engine a continuous batch, of which `--ttft`, `--tps`, `--interval` and
/// `--max-concurrent` then say nothing.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Continuous batch (any of these turns it on)")]
pub(crate) struct BatchArgs {
    /// A model on an accelerator. SYNTHETIC: reckoned from data sheets, never measured.
    #[arg(long, value_name = "NAME", value_parser = preset_parser())]
    pub(crate) preset: Option<Preset>,
    /// Sequences that run at once.
    #[arg(long, value_name = "N")]
    pub(crate) max_num_seqs: Option<u32>,
    /// Tokens that a step computes at most.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_num_batched_tokens: Option<u32>,
    /// Tokens of a prompt and its answer together, at most.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_model_len: Option<u32>,
    /// Compute long prompts in pieces beside the running sequences (default).
    #[arg(long, overrides_with = "no_enable_chunked_prefill")]
    pub(crate) enable_chunked_prefill: bool,
    /// Compute whole prompts alone, while the running sequences stand still.
    #[arg(long)]
    pub(crate) no_enable_chunked_prefill: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) cost: CostArgs,
    /// Tokens guessed for each step of a sequence (speculative decoding; 0: none).
    #[arg(long, value_name = "TOKENS")]
    pub(crate) num_speculative_tokens: Option<u32>,
    /// The chance that a guess is right when those before it were (default 0.7).
    #[arg(long, value_name = "SHARE")]
    pub(crate) spec_acceptance: Option<f64>,
}

/// The memory for keys and values.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Continuous batch (any of these turns it on)")]
pub(crate) struct MemoryArgs {
    /// Blocks in the accelerators' memory.
    #[arg(long, value_name = "N")]
    pub(crate) num_gpu_blocks: Option<u32>,
    /// Blocks in the host's memory, for swapping.
    #[arg(long, value_name = "N")]
    pub(crate) num_cpu_blocks: Option<u32>,
    /// Tokens in a block.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) block_size: Option<u32>,
    /// Keep the blocks of prompts for later ones that begin alike (default).
    #[arg(long, overrides_with = "no_enable_prefix_caching")]
    pub(crate) enable_prefix_caching: bool,
    /// Compute every prompt anew.
    #[arg(long)]
    pub(crate) no_enable_prefix_caching: bool,
    /// What becomes of a sequence that has to make room (default recompute).
    #[arg(long, value_enum)]
    pub(crate) preemption_mode: Option<PreemptionArg>,
}

/// What a step costs.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Continuous batch (any of these turns it on)")]
pub(crate) struct CostArgs {
    /// Time of any step.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) step_base: Option<Duration>,
    /// Time of a step for each sequence that decodes.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) step_slope: Option<Duration>,
    /// Tokens of prompts computed per second.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) prefill_tps: Option<f64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PreemptionArg {
    /// Give up its blocks and compute it again.
    Recompute,
    /// Move its blocks to the host's memory and back.
    Swap,
}

/// The acceptance where none is given: a draft model that fits well.
const ACCEPTANCE: f64 = 0.7;

/// The engine that the flags describe; an error names the flag that is wrong.
pub(crate) fn config(args: SimArgs) -> Result<EngineConfig, String> {
    if args.tps.is_nan() || args.tps <= 0.0 {
        return Err("--tps must be above zero".into());
    }
    let faults = FaultRates::new(args.faults).ok_or("--fault: the shares add up to more than 1")?;
    Ok(EngineConfig {
        behaviour: Behaviour {
            ttft: args.ttft,
            tps: args.tps,
            interval: args.interval.into(),
            length: Length::AsAsked { otherwise: args.tokens },
            tokens_per_chunk: args.tokens_per_chunk,
            role: args.role.into(),
            ..Behaviour::default()
        },
        seed: args.seed,
        batching: args.batch.batching()?,
        max_concurrent: (args.max_concurrent > 0).then_some(args.max_concurrent),
        models: args.models,
        strict_models: args.strict_models,
        faults,
        truth: args.truth,
        traces: args.otlp_traces_endpoint,
    })
}

impl BatchArgs {
    /// The batch, if any flag asks for one.
    fn batching(&self) -> Result<Option<Batching>, String> {
        let preset = self.preset.map(Preset::config);
        let config = self.apply(preset.clone().unwrap_or_default())?;
        // A flag that repeats a default asks for a batch as well.
        if preset.is_none() && config == BatchConfig::default() && !self.given() {
            return Ok(None);
        }
        Batching::try_from(config).map(Some).map_err(|error| error.to_string())
    }

    fn apply(&self, mut config: BatchConfig) -> Result<BatchConfig, String> {
        replace(&mut config.max_num_seqs, self.max_num_seqs);
        replace(&mut config.max_num_batched_tokens, self.max_num_batched_tokens);
        replace(&mut config.max_model_len, self.max_model_len);
        config.chunked_prefill = !self.no_enable_chunked_prefill;

        let memory = &self.memory;
        replace(&mut config.kv.num_gpu_blocks, memory.num_gpu_blocks);
        replace(&mut config.kv.num_cpu_blocks, memory.num_cpu_blocks);
        replace(&mut config.kv.block_size, memory.block_size);
        replace(&mut config.kv.preemption, memory.preemption_mode.map(Preemption::from));
        config.kv.prefix_caching = !memory.no_enable_prefix_caching;

        replace(&mut config.cost.base, self.cost.step_base);
        replace(&mut config.cost.per_sequence, self.cost.step_slope);
        replace(&mut config.cost.prefill_tps, self.cost.prefill_tps);

        config.speculation = match (self.num_speculative_tokens, self.spec_acceptance) {
            (Some(tokens), acceptance) if tokens > 0 => {
                Some(Speculation { tokens, acceptance: acceptance.unwrap_or(ACCEPTANCE) })
            }
            (_, Some(_)) => return Err("--spec-acceptance needs --num-speculative-tokens".into()),
            (_, None) => None,
        };
        Ok(config)
    }

    /// Whether any flag was given.
    fn given(&self) -> bool {
        let BatchArgs { memory, cost, .. } = self;
        let numbers = [
            self.max_num_seqs,
            self.max_num_batched_tokens,
            self.max_model_len,
            self.num_speculative_tokens,
            memory.num_gpu_blocks,
            memory.num_cpu_blocks,
            memory.block_size,
        ];
        let switches = [
            self.enable_chunked_prefill,
            self.no_enable_chunked_prefill,
            memory.enable_prefix_caching,
            memory.no_enable_prefix_caching,
            memory.preemption_mode.is_some(),
            cost.step_base.is_some() || cost.step_slope.is_some() || cost.prefill_tps.is_some(),
        ];
        numbers.iter().any(Option::is_some) || switches.contains(&true)
    }
}

impl From<PreemptionArg> for Preemption {
    fn from(preemption: PreemptionArg) -> Self {
        match preemption {
            PreemptionArg::Recompute => Preemption::Recompute,
            PreemptionArg::Swap => Preemption::Swap,
        }
    }
}

fn replace<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}

/// Presets by their names, which help lists with what they stand for.
fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    let values = Preset::ALL.map(|preset| PossibleValue::new(preset.name()).help(preset.to_string()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Preset>())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// The flags by themselves.
    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        batch: BatchArgs,
    }

    fn batching(flags: &str) -> Result<Option<BatchConfig>, String> {
        let flags = std::iter::once("sim").chain(flags.split_whitespace());
        let flags = Flags::try_parse_from(flags).map_err(|error| error.to_string())?;
        Ok(flags.batch.batching()?.map(|batching| batching.config().clone()))
    }

    #[test]
    fn without_flags_there_is_no_batch() {
        assert_eq!(batching(""), Ok(None));
    }

    #[test]
    fn any_flag_makes_a_batch() {
        for flags in ["--max-num-seqs 256", "--enable-prefix-caching", "--enable-chunked-prefill"] {
            assert_eq!(batching(flags), Ok(Some(BatchConfig::default())), "{flags}");
        }
        assert_eq!(batching("--preset 7b-h100"), Ok(Some(Preset::Llama7bH100.config())));
    }

    #[test]
    fn flags_change_a_preset() {
        let flags = "--preset 70b-2xa100 --max-num-seqs 8 --max-num-batched-tokens 4096 --max-model-len 2048 \
                     --no-enable-chunked-prefill --num-gpu-blocks 500 --num-cpu-blocks 9 --block-size 32 \
                     --no-enable-prefix-caching --preemption-mode swap --step-base 5ms --step-slope 50us \
                     --prefill-tps 1000 --num-speculative-tokens 4 --spec-acceptance 0.25";
        let config = batching(flags).unwrap().unwrap();
        let preset = Preset::Llama70b2xA100.config();
        let mut expected = BatchConfig {
            max_num_seqs: 8,
            max_num_batched_tokens: 4096,
            max_model_len: 2048,
            chunked_prefill: false,
            speculation: Some(Speculation { tokens: 4, acceptance: 0.25 }),
            ..preset
        };
        expected.kv.num_gpu_blocks = 500;
        expected.kv.num_cpu_blocks = 9;
        expected.kv.block_size = 32;
        expected.kv.prefix_caching = false;
        expected.kv.preemption = Preemption::Swap;
        expected.cost.base = Duration::from_millis(5);
        expected.cost.per_sequence = Duration::from_micros(50);
        expected.cost.prefill_tps = 1000.0;
        assert_eq!(config, expected);
    }

    #[test]
    fn what_cannot_work_is_said() {
        for (flags, says) in [
            ("--preset 8b", "7b-a100"),
            ("--max-num-seqs 0", "max_num_seqs must be above zero"),
            ("--num-gpu-blocks 10", "max_model_len"),
            ("--spec-acceptance 0.5", "--num-speculative-tokens"),
            ("--num-speculative-tokens 2 --spec-acceptance 2", "between 0 and 1"),
            ("--no-enable-chunked-prefill", "max_num_batched_tokens must be at least 4096"),
        ] {
            let error = batching(flags).unwrap_err();
            assert!(error.contains(says), "{flags}: {error}");
        }
    }
}
