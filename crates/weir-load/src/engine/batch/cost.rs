//! How long a step takes.

use std::time::Duration;

/// The price list of a step:
///
/// `base + per_sequence · D + P / prefill_tps + per_context_token · C + per_swapped_block · S`
///
/// where D is the number of sequences that decode, P the tokens of prompts that are computed, C the
/// tokens that the decoding sequences look back at, and S the blocks that are moved between the
/// memories. Drafts of speculative decoding cost nothing of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepCost {
    /// Any step: the weights are read once.
    pub base: Duration,
    /// Each sequence that decodes.
    pub per_sequence: Duration,
    /// Tokens of prompts per second.
    pub prefill_tps: f64,
    /// Each token whose keys and values a decoding sequence reads.
    pub per_context_token: Duration,
    /// Each block that is moved between the accelerators' memory and the host's, either way.
    pub per_swapped_block: Duration,
}

impl Default for StepCost {
    /// Round figures of no particular machine.
    fn default() -> Self {
        StepCost {
            base: Duration::from_millis(10),
            per_sequence: Duration::from_micros(100),
            prefill_tps: 10_000.0,
            per_context_token: Duration::ZERO,
            per_swapped_block: Duration::from_micros(500),
        }
    }
}

/// What a step does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Sequences that decode.
    pub(crate) decoding: u64,
    /// Tokens of prompts, and of answers that are computed again.
    pub(crate) prefill: u64,
    /// Tokens that the decoding sequences look back at.
    pub(crate) context: u64,
    /// Blocks moved between the memories.
    pub(crate) swapped: u64,
}

impl StepCost {
    /// How long a step with that load takes.
    pub(crate) fn of(&self, load: Load) -> Duration {
        let prefill = Duration::try_from_secs_f64(load.prefill as f64 / self.prefill_tps);
        self.base
            .saturating_add(times(self.per_sequence, load.decoding))
            .saturating_add(prefill.unwrap_or(Duration::MAX))
            .saturating_add(times(self.per_context_token, load.context))
            .saturating_add(times(self.per_swapped_block, load.swapped))
    }
}

/// Exact to the nanosecond, where floating point would round.
fn times(each: Duration, count: u64) -> Duration {
    let nanoseconds = each.as_nanos().saturating_mul(u128::from(count));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_costs_the_sum_of_its_parts() {
        let cost = StepCost {
            base: Duration::from_millis(10),
            per_sequence: Duration::from_micros(50),
            prefill_tps: 4000.0,
            per_context_token: Duration::from_nanos(300),
            per_swapped_block: Duration::from_micros(7),
        };
        assert_eq!(cost.of(Load::default()), Duration::from_millis(10));
        let load = Load { decoding: 8, prefill: 1000, context: 10_000, swapped: 3 };
        // 10 ms + 8 · 50 µs + 1000 / 4000 s + 10000 · 0.3 µs + 3 · 7 µs
        assert_eq!(cost.of(load), Duration::from_micros(10_000 + 400 + 250_000 + 3_000 + 21));
    }

    #[test]
    fn no_load_overflows() {
        let load = Load { decoding: u64::MAX, prefill: u64::MAX, context: u64::MAX, swapped: u64::MAX };
        let cost = StepCost { per_sequence: Duration::MAX, prefill_tps: 1e-300, ..StepCost::default() };
        assert_eq!(cost.of(load), Duration::MAX);
    }
}
