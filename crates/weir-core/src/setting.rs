//! What a request says of how to generate.

use serde::{Deserialize, Serialize};

/// Longer values are taken for absent.
pub const SETTING_LIMIT: usize = 256;

/// One setting, whatever the dialect calls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What it sets.
    pub name: SettingName,
    /// The JSON value as it came, at most [`SETTING_LIMIT`] bytes.
    pub value: Box<str>,
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingName {
    /// Sampling temperature.
    Temperature,
    /// Nucleus sampling.
    TopP,
    /// Sampling among the k likeliest.
    TopK,
    /// The most tokens to generate.
    MaxTokens,
    /// Penalty by how often a token came before.
    FrequencyPenalty,
    /// Penalty for a token that came before.
    PresencePenalty,
    /// Seed of the sampling.
    Seed,
    /// Texts that end the generation: one, or a list.
    Stop,
    /// The service tier.
    ServiceTier,
    /// How hard to reason.
    ReasoningEffort,
    /// The kind of output, such as `json_schema`.
    ResponseFormat,
}
