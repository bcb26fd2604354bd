//! Money, as it is counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of 10⁻⁹ US dollars: a whole number, so that sums do not drift.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct NanoUsd(pub u64);

impl NanoUsd {
    /// So many US dollars, to the nearest unit. What is not a number, or below zero, is nothing.
    pub fn from_usd(usd: f64) -> Self {
        // The conversion takes what lies outside to the nearest bound.
        Self((usd * 1e9).round() as u64)
    }

    /// In US dollars.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// What so many tokens cost at this rate, in US dollars a token.
    pub(super) fn of(tokens: u64, rate: f64) -> Self {
        Self::from_usd(tokens as f64 * rate)
    }

    /// The two together.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// This less the other; nothing where the other is more.
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
