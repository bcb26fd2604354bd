//! What a batching engine knows beside what every engine knows.

use super::config::BatchConfig;
use super::sequence::Sequence;
use super::speculation::Guess;
use crate::engine::metrics::{Histogram, Ledger, bounds, one_two_five};

/// The counters of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub(crate) ledger: Ledger,
    pub(crate) preemptions: u64,
    /// Tokens that were looked for in the prefix cache, and those of them that were found.
    pub(crate) prefix_queries: u64,
    pub(crate) prefix_hits: u64,
    pub(crate) guesses: Option<Guesses>,
    /// Tokens of each step: what it generated, and each prompt with the step that finished it.
    pub(crate) step_tokens: Histogram,
    /// How often each finished sequence was preempted.
    pub(crate) sequence_preemptions: Histogram,
    /// Tokens of each finished sequence's prompt that were not in the prefix cache.
    pub(crate) prefill_computed: Histogram,
}

/// The counters of speculative decoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guesses {
    /// Steps of sequences that drafted something.
    pub(crate) drafts: u64,
    pub(crate) draft_tokens: u64,
    pub(crate) accepted: u64,
    /// Accepted tokens by their place in the draft.
    pub(crate) accepted_at: Vec<u64>,
}

impl Books {
    pub(crate) fn new(config: &BatchConfig) -> Self {
        Books {
            ledger: Ledger::new(config.max_model_len.into()),
            preemptions: 0,
            prefix_queries: 0,
            prefix_hits: 0,
            guesses: config.speculation.map(|speculation| Guesses {
                accepted_at: vec![0; speculation.tokens as usize],
                ..Guesses::default()
            }),
            step_tokens: Histogram::new(&bounds::STEP),
            sequence_preemptions: Histogram::new(&bounds::PREEMPTIONS),
            prefill_computed: Histogram::new(&one_two_five(config.max_model_len.into())),
        }
    }

    /// A sequence was scheduled for the first time.
    pub(crate) fn looked_up(&mut self, prompt: u32, cached: u32) {
        self.prefix_queries += u64::from(prompt);
        self.prefix_hits += u64::from(cached);
    }

    /// A step of a sequence has verified its drafts.
    pub(crate) fn guessed(&mut self, guess: Guess) {
        let Some(guesses) = self.guesses.as_mut().filter(|_| guess.drafts > 0) else { return };
        guesses.drafts += 1;
        guesses.draft_tokens += u64::from(guess.drafts);
        guesses.accepted += u64::from(guess.accepted);
        for count in guesses.accepted_at.iter_mut().take(guess.accepted as usize) {
            *count += 1;
        }
    }

    /// A sequence has all its tokens.
    pub(crate) fn finished(&mut self, sequence: &Sequence) {
        let size = sequence.size();
        self.ledger.finished(sequence.life, size);
        self.sequence_preemptions.observe(sequence.preemptions.into());
        self.prefill_computed.observe((size.prompt - size.cached).into());
    }
}
