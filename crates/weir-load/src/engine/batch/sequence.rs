//! One choice of a request on its way through the batch.

use std::sync::Arc;
use std::time::Duration;

use super::blocks::{BlockId, PrefixHash};
use super::config::Speculation;
use super::speculation::{Guess, Steps};
use crate::engine::metrics::{Life, Size};

/// What a request asks the batch to do with one prompt.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Tells requests apart.
    pub(crate) request: u64,
    /// When it came, on the engine's clock.
    pub(crate) arrived: Duration,
    /// The choices of this prompt, and the number of the first among all of the request.
    pub(crate) choices: u32,
    pub(crate) first_choice: u32,
    /// Tokens of the prompt.
    pub(crate) prompt: u32,
    /// Its full blocks; none without a prefix cache.
    pub(crate) prefixes: Arc<[PrefixHash]>,
    /// Tokens of each choice.
    pub(crate) output: u32,
    pub(crate) steps: Steps,
    /// The token limit, and whether it cuts the answer.
    pub(crate) limit: u32,
    pub(crate) cut: bool,
}

/// What a step does for one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Tokens whose keys and values it computes, without drafts.
    pub(crate) compute: u32,
    /// Tokens it verifies beside.
    pub(crate) drafts: u32,
    /// Whether it comes to the end of what is known, and so yields something new.
    pub(crate) yields: bool,
}

impl Share {
    /// What it takes of the step's budget.
    pub(crate) fn tokens(self) -> u32 {
        self.compute + self.drafts
    }
}

/// One choice of a request.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pub(crate) job: Arc<Job>,
    pub(crate) choice: u32,
    pub(crate) life: Life,
    pub(crate) generated: u32,
    /// Tokens, from the beginning, whose keys and values are in its blocks.
    pub(crate) computed: u32,
    pub(crate) blocks: Vec<BlockId>,
    /// Blocks it has in the host's memory instead.
    pub(crate) hosted: u32,
    /// What the present step does for it.
    pub(crate) share: Option<Share>,
    /// What it found in the prefix cache when it was first scheduled.
    pub(crate) cached: u32,
    pub(crate) preemptions: u32,
    /// Steps that have yielded something.
    steps: u32,
}

impl Sequence {
    pub(crate) fn new(job: Arc<Job>, choice: u32) -> Self {
        Sequence {
            life: Life { arrived: job.arrived, ..Life::default() },
            job,
            choice,
            generated: 0,
            computed: 0,
            blocks: Vec::new(),
            hosted: 0,
            share: None,
            cached: 0,
            preemptions: 0,
            steps: 0,
        }
    }

    /// Tokens it consists of so far.
    pub(crate) fn tokens(&self) -> u32 {
        self.job.prompt + self.generated
    }

    /// Tokens it still has to compute before it can go on; never none.
    pub(crate) fn behind(&self) -> u32 {
        self.tokens() - self.computed
    }

    /// Whether its next step only adds to what it has.
    pub(crate) fn decodes(&self) -> bool {
        self.generated > 0 && self.behind() == 1
    }

    /// The share of a step that has room for `budget` tokens. Without `pieces` it computes all it
    /// is behind, or nothing. Drafts are verified all together, by the step that yields.
    pub(crate) fn share_of(
        &self,
        budget: u32,
        pieces: bool,
        speculation: Option<Speculation>,
    ) -> Option<Share> {
        let behind = self.behind();
        let drafts = speculation.map_or(0, |speculation| speculation.drafts(self.job.output, self.generated));
        if behind.saturating_add(drafts) <= budget {
            return Some(Share { compute: behind, drafts, yields: true });
        }
        let compute = budget.min(if drafts > 0 { behind - 1 } else { behind });
        (pieces && compute > 0).then_some(Share { compute, drafts: 0, yields: false })
    }

    /// Blocks that hold everything once its share has been computed.
    pub(crate) fn blocks_with(&self, share: Share, block_size: u32) -> usize {
        (self.computed + share.tokens()).div_ceil(block_size) as usize
    }

    /// A step that yields has come to its end. Returns how many tokens came of it, and how it guessed.
    pub(crate) fn advance(&mut self, share: Share) -> (u32, Guess) {
        let before = self.generated;
        self.generated = self.job.steps.after(self.steps, before).min(self.job.output);
        self.steps += 1;
        // The newest token's keys and values are for the next step to compute.
        self.computed = self.tokens() - 1;
        let new = self.generated - before;
        (new, Guess { drafts: share.drafts, accepted: new - 1 })
    }

    /// Whether it has all its tokens.
    pub(crate) fn finished(&self) -> bool {
        self.generated == self.job.output
    }

    /// Its sizes, for the books.
    pub(crate) fn size(&self) -> Size {
        Size {
            prompt: self.job.prompt,
            cached: self.cached,
            generated: self.generated,
            limit: Some(self.job.limit),
            cut: self.job.cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_are_verified_with_the_last_piece() {
        let job = Job {
            request: 1,
            arrived: Duration::ZERO,
            choices: 1,
            first_choice: 0,
            prompt: 10,
            prefixes: Arc::default(),
            output: 20,
            steps: Steps::Single,
            limit: 20,
            cut: false,
        };
        let mut sequence = Sequence::new(Arc::new(job), 0);
        let speculation = Some(Speculation { tokens: 3, acceptance: 0.5 });
        let share = |sequence: &Sequence, budget, pieces| {
            let share = sequence.share_of(budget, pieces, speculation)?;
            Some((share.compute, share.drafts, share.yields))
        };
        // Nothing is drafted for a prompt.
        assert_eq!(share(&sequence, 10, true), Some((10, 0, true)));
        assert_eq!(share(&sequence, 9, true), Some((9, 0, false)));
        assert_eq!(share(&sequence, 9, false), None);
        assert_eq!(share(&sequence, 0, true), None);
        // What is computed again keeps a token back until its drafts have room beside it.
        sequence.generated = 5;
        assert_eq!(share(&sequence, 18, true), Some((15, 3, true)));
        assert_eq!(share(&sequence, 17, true), Some((14, 0, false)));
        assert_eq!(share(&sequence, 4, true), Some((4, 0, false)));
        sequence.computed = 14;
        assert_eq!(share(&sequence, 4, true), Some((1, 3, true)));
        assert_eq!(share(&sequence, 3, true), None);
    }
}
