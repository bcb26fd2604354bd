//! Speculative decoding: how many of its drafts each step of a sequence accepts.

use std::sync::Arc;

use rand::Rng;

use super::config::Speculation;
use crate::draw;
use crate::engine::chunks::Chunks;

/// Keys the acceptances apart from a request's other draws.
const ACCEPTANCES: u64 = 0x5bec_da7a;

/// How many tokens a sequence has after each of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// One more with each.
    Single,
    /// Drawn beforehand from the request's own seed, so that its chunks depend on nothing that
    /// happens beside it.
    Drawn(Arc<[u32]>),
}

/// What one step of a sequence does beside generating its one sure token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guess {
    /// Tokens drafted.
    pub(crate) drafts: u32,
    /// Tokens of them that were accepted.
    pub(crate) accepted: u32,
}

impl Speculation {
    /// Draws every step of an answer of `tokens` tokens. The first step computes the prompt and
    /// yields one token; nothing is drafted beyond the answer's end.
    pub(crate) fn steps(self, tokens: u32, wording: u64) -> Steps {
        let mut rng = draw::generator(wording, ACCEPTANCES);
        let mut ends = vec![1];
        let mut generated = 1;
        while generated < tokens {
            let drafts = self.drafts(tokens, generated);
            // All are drawn, also those after the first that is not accepted.
            let accepted: Vec<bool> = (0..self.tokens).map(|_| rng.random_bool(self.acceptance)).collect();
            let accepted = accepted.iter().take_while(|accepted| **accepted).count();
            generated += 1 + u32::try_from(accepted).unwrap_or(u32::MAX).min(drafts);
            ends.push(generated);
        }
        Steps::Drawn(ends.into())
    }

    /// Tokens drafted for the step after `generated` of `tokens` tokens.
    pub(crate) fn drafts(self, tokens: u32, generated: u32) -> u32 {
        match generated {
            0 => 0,
            _ => self.tokens.min(tokens.saturating_sub(generated).saturating_sub(1)),
        }
    }
}

impl Steps {
    /// How many tokens there are after the step that finds `generated` ones, the `step`-th.
    pub(crate) fn after(&self, step: u32, generated: u32) -> u32 {
        match self {
            Steps::Single => generated + 1,
            Steps::Drawn(ends) => ends.get(step as usize).copied().unwrap_or(generated + 1),
        }
    }

    /// The chunks of an answer: whole steps, of `per_chunk` tokens or more where there are as many.
    pub(crate) fn chunks(&self, tokens: u32, per_chunk: u32) -> Chunks {
        let Steps::Drawn(ends) = self else {
            return Chunks::even(tokens, per_chunk);
        };
        let mut sent = 0;
        let chunks = ends.iter().copied().filter(|&end| {
            let full = end - sent >= per_chunk || end == tokens;
            if full {
                sent = end;
            }
            full
        });
        Chunks::Drawn(chunks.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(steps: &Steps) -> &[u32] {
        match steps {
            Steps::Single => &[],
            Steps::Drawn(ends) => ends,
        }
    }

    #[test]
    fn sure_and_impossible_acceptance() {
        let all = Speculation { tokens: 3, acceptance: 1.0 }.steps(10, 1);
        assert_eq!(ends(&all), [1, 5, 9, 10]);
        let none = Speculation { tokens: 3, acceptance: 0.0 }.steps(4, 1);
        assert_eq!(ends(&none), [1, 2, 3, 4]);
        assert_eq!(ends(&Speculation { tokens: 3, acceptance: 0.5 }.steps(1, 1)), [1]);
    }

    #[test]
    fn the_mean_is_that_of_the_truncated_geometric_distribution() {
        let speculation = Speculation { tokens: 4, acceptance: 0.7 };
        let steps = speculation.steps(100_000, 3);
        // 1 + p + p² + p³ + p⁴ tokens a step.
        let expected = 1.0 + 0.7 + 0.49 + 0.343 + 0.2401;
        let mean = 100_000.0 / ends(&steps).len() as f64;
        assert!((mean - expected).abs() < 0.03, "{mean}");
        assert_eq!(steps, speculation.steps(100_000, 3));
        assert_ne!(steps, speculation.steps(100_000, 4));
    }

    #[test]
    fn nothing_is_drafted_for_the_prompt_or_beyond_the_end() {
        let speculation = Speculation { tokens: 3, acceptance: 0.5 };
        assert_eq!([0, 1, 6, 8, 9].map(|generated| speculation.drafts(10, generated)), [0, 3, 3, 1, 0]);
    }

    #[test]
    fn chunks_are_whole_steps() {
        let steps = Steps::Drawn([1, 4, 5, 8, 9].into());
        assert_eq!(steps.chunks(9, 1), Chunks::Drawn([1, 4, 5, 8, 9].into()));
        assert_eq!(steps.chunks(9, 4), Chunks::Drawn([4, 8, 9].into()));
        assert_eq!(Steps::Single.chunks(9, 4), Chunks::even(9, 4));
    }
}
