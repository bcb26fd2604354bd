//! What an engine is told: its pace, its limits, its models and its faults.

use std::path::PathBuf;
use std::time::Duration;

use super::faults::FaultRates;

/// Configuration of an [`Engine`](super::Engine).
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// How one request is answered, unless its `x-sim-*` headers say otherwise.
    pub behaviour: Behaviour,
    /// Decides every random draw, together with the request's ordinal or its `x-sim-seed`.
    pub seed: u64,
    /// Requests that generate at once; further ones wait in order of arrival. `None`: no limit.
    pub max_concurrent: Option<usize>,
    /// The names that `/v1/models` lists; the first one answers a request that names none.
    pub models: Vec<String>,
    /// Whether a request for a model not listed is refused with 404 `model_not_found`.
    pub strict_models: bool,
    /// Faults that are drawn at random.
    pub faults: FaultRates,
    /// Where to write the truth about each stream, if anywhere.
    pub truth: Option<PathBuf>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        EngineConfig {
            behaviour: Behaviour::default(),
            seed: 0,
            max_concurrent: Some(256),
            models: vec!["sim".to_owned()],
            strict_models: false,
            faults: FaultRates::default(),
            truth: None,
        }
    }
}

/// How one request is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// From the request's admission to its first token.
    pub ttft: Duration,
    /// Tokens per second after the first token; `f64::INFINITY` for no gap at all.
    pub tps: f64,
    /// How the gaps between tokens are distributed.
    pub interval: Interval,
    /// How many tokens an answer has.
    pub length: Length,
    /// Tokens that leave in one event, as speculative decoding or a stream interval makes them.
    pub tokens_per_chunk: u32,
    /// When a chat stream's role event leaves.
    pub role: RoleChunk,
    /// The field that carries reasoning.
    pub reasoning: ReasoningField,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            ttft: Duration::from_millis(200),
            tps: 50.0,
            interval: Interval::Fixed,
            length: Length::AsAsked { otherwise: 64 },
            tokens_per_chunk: 1,
            role: RoleChunk::Late,
            reasoning: ReasoningField::Reasoning,
        }
    }
}

/// Distribution of the gaps between tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Every gap is the mean.
    Fixed,
    /// Exponential gaps around the mean.
    Exp,
}

/// How many tokens an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The request's token limit, or `otherwise` where it gives none; the answer ends with `stop`.
    AsAsked {
        /// The length when the request gives no limit.
        otherwise: u32,
    },
    /// The model's own length. A lower limit in the request cuts it: the answer ends with `length`.
    Own(u32),
}

/// When a chat stream's role event leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleChunk {
    /// As soon as the request has been accepted, even while it still waits for its turn.
    Early,
    /// Just before the first token.
    Late,
}

/// The field of a delta that carries reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningField {
    /// `reasoning`, as vLLM names it.
    Reasoning,
    /// `reasoning_content`, as DeepSeek and SGLang name it.
    ReasoningContent,
}

impl ReasoningField {
    /// The JSON key.
    pub(crate) fn key(self) -> &'static str {
        match self {
            ReasoningField::Reasoning => "reasoning",
            ReasoningField::ReasoningContent => "reasoning_content",
        }
    }
}
