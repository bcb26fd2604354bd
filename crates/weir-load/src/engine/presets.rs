//! Batches of well-known models on well-known accelerators, reckoned from public figures.
//!
//! **SYNTHETIC**: nothing here was measured. The arithmetic is the usual back of an envelope, in
//! which a step reads all weights once and every token costs two operations per weight; what an
//! engine really reaches depends on kernels, clocks and software. The constants and their
//! assumptions stand below, each beside its source.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::batch::{BatchConfig, KvCache, Preemption, StepCost};

/// Bytes of a number in the weights and in the memory for keys and values (bf16).
const BYTES: f64 = 2.0;

/// Assumed share of the memory's bandwidth that reading weights and keys reaches.
const BANDWIDTH_SHARE: f64 = 0.7;

/// Assumed share of the arithmetic that a prefill reaches ("model FLOPs utilization").
const ARITHMETIC_SHARE: f64 = 0.5;

/// Assumed time of one all-reduce between two accelerators over NVLink. Each layer has two.
const ALL_REDUCE: f64 = 15e-6;

/// Assumed memory of each accelerator that neither weights nor blocks can use (1 GiB).
const RESERVED: f64 = 1073741824.0;

/// The share of its memory that vLLM takes unless told otherwise.
const MEMORY_SHARE: f64 = 0.9;

/// vLLM's host memory for swapped blocks, for each accelerator (4 GiB).
const SWAP_SPACE: f64 = 4.0 * 1073741824.0;

/// Tokens in a block.
const BLOCK: f64 = 16.0;

/// A model on one or two accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Llama 2 7B on one A100 80 GB.
    Llama7bA100,
    /// Llama 2 7B on one H100 80 GB.
    Llama7bH100,
    /// Llama 2 13B on one A100 80 GB.
    Llama13bA100,
    /// Llama 2 13B on one H100 80 GB.
    Llama13bH100,
    /// Llama 2 70B on two A100 80 GB.
    Llama70b2xA100,
    /// Llama 2 70B on two H100 80 GB.
    Llama70b2xH100,
    /// Qwen2.5 72B on two A100 80 GB, with a context that fits beside its weights.
    Qwen72b2xA100,
}

/// A model's public shape.
struct Shape {
    name: &'static str,
    parameters: f64,
    layers: f64,
    /// Heads that have keys and values of their own, and the numbers in each.
    kv_heads: f64,
    head: f64,
    context: u32,
}

/// An accelerator's data sheet.
struct Card {
    name: &'static str,
    /// Bytes of memory, and bytes per second to and from it.
    memory: f64,
    bandwidth: f64,
    /// Operations per second, dense bf16.
    arithmetic: f64,
    /// Bytes per second between it and the host, one way.
    host_link: f64,
}

/// 6.74 billion parameters, 32 layers, 32 heads of 128 that each have keys and values.
const LLAMA_7B: Shape = Shape {
    name: "Llama 2 7B",
    parameters: 6.738e9,
    layers: 32.0,
    kv_heads: 32.0,
    head: 128.0,
    context: 4096,
};

/// 13.0 billion parameters, 40 layers, 40 heads of 128 that each have keys and values.
const LLAMA_13B: Shape = Shape {
    name: "Llama 2 13B",
    parameters: 13.016e9,
    layers: 40.0,
    kv_heads: 40.0,
    head: 128.0,
    context: 4096,
};

/// 69.0 billion parameters, 80 layers; 64 heads of 128 share eight with keys and values.
const LLAMA_70B: Shape = Shape {
    name: "Llama 2 70B",
    parameters: 68.977e9,
    layers: 80.0,
    kv_heads: 8.0,
    head: 128.0,
    context: 4096,
};

/// 72.7 billion parameters, 80 layers; 64 heads of 128 share eight with keys and values.
const QWEN_72B: Shape = Shape {
    name: "Qwen2.5 72B",
    parameters: 72.706e9,
    layers: 80.0,
    kv_heads: 8.0,
    head: 128.0,
    context: 8192,
};

/// SXM, 80 GiB of HBM2e at 2039 GB/s, 312 TFLOPS, PCIe 4.0 x16 of which some 25 GB/s come through.
const A100: Card = Card {
    name: "A100 80 GB",
    memory: 80.0 * 1073741824.0,
    bandwidth: 2.039e12,
    arithmetic: 312e12,
    host_link: 25e9,
};

/// SXM, 80 GiB of HBM3 at 3350 GB/s, 989 TFLOPS, PCIe 5.0 x16 of which some 50 GB/s come through.
const H100: Card = Card {
    name: "H100 80 GB",
    memory: 80.0 * 1073741824.0,
    bandwidth: 3.35e12,
    arithmetic: 989e12,
    host_link: 50e9,
};

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 7] = [
        Preset::Llama7bA100,
        Preset::Llama7bH100,
        Preset::Llama13bA100,
        Preset::Llama13bH100,
        Preset::Llama70b2xA100,
        Preset::Llama70b2xH100,
        Preset::Qwen72b2xA100,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Llama7bA100 => "7b-a100",
            Preset::Llama7bH100 => "7b-h100",
            Preset::Llama13bA100 => "13b-a100",
            Preset::Llama13bH100 => "13b-h100",
            Preset::Llama70b2xA100 => "70b-2xa100",
            Preset::Llama70b2xH100 => "70b-2xh100",
            Preset::Qwen72b2xA100 => "qwen-72b-2xa100",
        }
    }

    /// The batch it stands for, with vLLM's limits.
    pub fn config(self) -> BatchConfig {
        let (shape, card, cards) = self.parts();
        let kv_bytes = shape.kv_bytes();
        let rate = prefill_rate(shape, card, cards);
        BatchConfig {
            cost: StepCost {
                base: seconds(base(shape, card, cards)),
                per_sequence: seconds(1.0 / rate),
                prefill_tps: rate.round(),
                per_context_token: seconds(kv_bytes / (cards * card.bandwidth * BANDWIDTH_SHARE)),
                per_swapped_block: seconds(BLOCK * kv_bytes / (cards * card.host_link)),
            },
            max_model_len: shape.context,
            kv: KvCache {
                block_size: BLOCK as u32,
                num_gpu_blocks: gpu_blocks(shape, card, cards) as u32,
                num_cpu_blocks: (cards * SWAP_SPACE / (BLOCK * kv_bytes)) as u32,
                prefix_caching: true,
                preemption: Preemption::Recompute,
                gpu_memory_utilization: Some(MEMORY_SHARE),
            },
            ..BatchConfig::default()
        }
    }

    fn parts(self) -> (&'static Shape, &'static Card, f64) {
        match self {
            Preset::Llama7bA100 => (&LLAMA_7B, &A100, 1.0),
            Preset::Llama7bH100 => (&LLAMA_7B, &H100, 1.0),
            Preset::Llama13bA100 => (&LLAMA_13B, &A100, 1.0),
            Preset::Llama13bH100 => (&LLAMA_13B, &H100, 1.0),
            Preset::Llama70b2xA100 => (&LLAMA_70B, &A100, 2.0),
            Preset::Llama70b2xH100 => (&LLAMA_70B, &H100, 2.0),
            Preset::Qwen72b2xA100 => (&QWEN_72B, &A100, 2.0),
        }
    }
}

impl Shape {
    fn weight_bytes(&self) -> f64 {
        BYTES * self.parameters
    }

    /// Bytes of a token's keys and values in all layers: two of each head's width.
    fn kv_bytes(&self) -> f64 {
        2.0 * BYTES * self.layers * self.kv_heads * self.head
    }
}

/// Seconds of a step that does nothing else: the weights are read once, each card its part, and with
/// two cards every layer waits for two all-reduces.
fn base(shape: &Shape, card: &Card, cards: f64) -> f64 {
    let reading = shape.weight_bytes() / (cards * card.bandwidth * BANDWIDTH_SHARE);
    let reducing = if cards > 1.0 { 2.0 * shape.layers * ALL_REDUCE } else { 0.0 };
    reading + reducing
}

/// Tokens of prompts per second: two operations for each parameter and token. A sequence that
/// decodes costs one token's arithmetic, as if none of it were hidden behind the reading.
fn prefill_rate(shape: &Shape, card: &Card, cards: f64) -> f64 {
    cards * card.arithmetic * ARITHMETIC_SHARE / (2.0 * shape.parameters)
}

/// Blocks in what is left of the memory that the engine takes.
fn gpu_blocks(shape: &Shape, card: &Card, cards: f64) -> f64 {
    let left = cards * (card.memory * MEMORY_SHARE - RESERVED) - shape.weight_bytes();
    (left / (BLOCK * shape.kv_bytes())).floor()
}

/// To the nanosecond.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

impl fmt::Display for Preset {
    /// What it stands for, and that it was never measured.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, card, cards) = self.parts();
        write!(f, "{} on {cards} × {}, SYNTHETIC", shape.name, card.name)
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == text).ok_or(UnknownPreset)
    }
}

/// There is no preset of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPreset;

impl fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no such preset: allowed are {}", Preset::ALL.map(Preset::name).join(", "))
    }
}

impl std::error::Error for UnknownPreset {}

#[cfg(test)]
mod tests {
    use super::super::batch::Batching;
    use super::*;

    #[test]
    fn names_lead_back() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
            assert!(preset.to_string().ends_with("SYNTHETIC"), "{preset}");
        }
        assert_eq!("8b".parse::<Preset>(), Err(UnknownPreset));
        assert!(UnknownPreset.to_string().contains("70b-2xh100"));
    }

    #[test]
    fn every_preset_works_with_and_without_chunked_prefill() {
        for preset in Preset::ALL {
            assert!(Batching::try_from(preset.config()).is_ok(), "{preset}");
            let context = preset.config().max_model_len;
            let whole =
                BatchConfig { chunked_prefill: false, max_num_batched_tokens: context, ..preset.config() };
            assert!(Batching::try_from(whole).is_ok(), "{preset}");
        }
    }

    #[test]
    fn the_figures_are_those_of_the_arithmetic() {
        // Worked out by hand from the data sheets.
        let figures = |preset: Preset| {
            let config = preset.config();
            let cost = config.cost;
            (
                cost.base.as_micros(),
                cost.per_sequence.as_micros(),
                cost.per_context_token.as_nanos(),
                cost.prefill_tps,
                config.kv.num_gpu_blocks,
            )
        };
        // 13.476 GB / (2039 GB/s · 0.7); 512 KiB / the same; 156 TFLOPS / 13.476 GFLOP;
        // (72 - 1) GiB - 13.476 GB in blocks of 8 MiB.
        assert_eq!(figures(Preset::Llama7bA100), (9441, 86, 367, 11576.0, 7481));
        // 137.954 GB / (2 · 3350 GB/s · 0.7) + 160 · 15 µs; 320 KiB / the same; 989 TFLOPS / 138 GFLOP.
        assert_eq!(figures(Preset::Llama70b2xH100), (31814, 139, 70, 7169.0, 2768));
    }
}
