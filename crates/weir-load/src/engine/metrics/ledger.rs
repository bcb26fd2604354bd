//! What an engine knows of the work it has done.

use std::time::Duration;

use super::bounds;
use super::histogram::{Histogram, one_two_five};

/// Counters and histograms, true at the moment of the last step.
///
/// Each choice of a request is a sequence of its own here, as in vLLM, and its prompt counts with
/// each of them.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    /// Tokens of prompts, counted with the first token of each answer.
    pub(crate) prompt_tokens: u64,
    /// Those of them that were in the prefix cache.
    pub(crate) cached_tokens: u64,
    pub(crate) generation_tokens: u64,
    pub(crate) finished: Finished,
    /// Seconds from arrival to the first token.
    pub(crate) first_token: Histogram,
    /// Seconds from one step that yielded tokens for a sequence to the next.
    pub(crate) between_tokens: Histogram,
    /// Seconds per token after the first, one value for each sequence.
    pub(crate) per_token: Histogram,
    pub(crate) phases: Phases,
    pub(crate) sizes: Sizes,
}

/// Sequences that have ended, by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) stop: u64,
    pub(crate) length: u64,
    pub(crate) abort: u64,
}

/// Seconds of a sequence's phases.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    pub(crate) whole: Histogram,
    pub(crate) queue: Histogram,
    pub(crate) prefill: Histogram,
    pub(crate) decode: Histogram,
    pub(crate) inference: Histogram,
}

/// Sizes of sequences and requests.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) prompt_tokens: Histogram,
    pub(crate) generation_tokens: Histogram,
    /// The most tokens of any choice of a request.
    pub(crate) longest_choice: Histogram,
    pub(crate) choices: Histogram,
    pub(crate) limit: Histogram,
}

/// When the phases of a sequence began, on the engine's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) arrived: Duration,
    pub(crate) scheduled: Option<Duration>,
    pub(crate) first_token: Option<Duration>,
    pub(crate) last_token: Option<Duration>,
}

/// The sizes of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) prompt: u32,
    pub(crate) cached: u32,
    pub(crate) generated: u32,
    /// The token limit, where there is one.
    pub(crate) limit: Option<u32>,
    /// Whether the limit cut the answer.
    pub(crate) cut: bool,
}

impl Ledger {
    /// Empty books of an engine whose sequences have up to `longest` tokens.
    pub(crate) fn new(longest: u64) -> Self {
        let request = || Histogram::new(&bounds::REQUEST);
        let tokens = || Histogram::new(&one_two_five(longest));
        Ledger {
            prompt_tokens: 0,
            cached_tokens: 0,
            generation_tokens: 0,
            finished: Finished::default(),
            first_token: Histogram::new(&bounds::FIRST_TOKEN),
            between_tokens: Histogram::new(&bounds::BETWEEN_TOKENS),
            per_token: Histogram::new(&bounds::BETWEEN_TOKENS),
            phases: Phases {
                whole: request(),
                queue: request(),
                prefill: request(),
                decode: request(),
                inference: request(),
            },
            sizes: Sizes {
                prompt_tokens: tokens(),
                generation_tokens: tokens(),
                longest_choice: tokens(),
                choices: Histogram::new(&bounds::CHOICES),
                limit: tokens(),
            },
        }
    }

    /// A sequence has `new` more tokens. Returns the tokens that its step counts: these and, with
    /// the first of them, those of the prompt.
    pub(crate) fn generated(&mut self, life: &mut Life, now: Duration, new: u32, size: Size) -> u64 {
        self.generation_tokens += u64::from(new);
        let mut counted = u64::from(new);
        match life.last_token.replace(now) {
            Some(last) => self.between_tokens.observe(seconds(now, last)),
            None => {
                life.first_token = Some(now);
                self.first_token.observe(seconds(now, life.arrived));
                self.prompt_tokens += u64::from(size.prompt);
                self.cached_tokens += u64::from(size.cached);
                counted += u64::from(size.prompt);
            }
        }
        counted
    }

    /// A sequence has all its tokens.
    pub(crate) fn finished(&mut self, life: Life, size: Size) {
        match size.cut {
            true => self.finished.length += 1,
            false => self.finished.stop += 1,
        }
        let (Some(scheduled), Some(first), Some(last)) = (life.scheduled, life.first_token, life.last_token)
        else {
            return;
        };
        let phases = &mut self.phases;
        phases.whole.observe(seconds(last, life.arrived));
        phases.queue.observe(seconds(scheduled, life.arrived));
        phases.prefill.observe(seconds(first, scheduled));
        phases.decode.observe(seconds(last, first));
        phases.inference.observe(seconds(last, scheduled));
        self.per_token.observe(match size.generated {
            0 | 1 => 0.0,
            generated => seconds(last, first) / f64::from(generated - 1),
        });
        self.sizes.prompt_tokens.observe(size.prompt.into());
        self.sizes.generation_tokens.observe(size.generated.into());
        if let Some(limit) = size.limit {
            self.sizes.limit.observe(limit.into());
        }
    }

    /// All `choices` choices of a request have all their tokens, `longest` at most.
    pub(crate) fn request_finished(&mut self, choices: u32, longest: u32) {
        self.sizes.choices.observe(choices.into());
        self.sizes.longest_choice.observe(longest.into());
    }

    /// The other side of a sequence has left.
    pub(crate) fn aborted(&mut self) {
        self.finished.abort += 1;
    }
}

/// From `earlier` to `later`, and never less than nothing.
fn seconds(later: Duration, earlier: Duration) -> f64 {
    later.saturating_sub(earlier).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { prompt: 7, cached: 4, generated: 3, limit: Some(3), cut: true };

    #[test]
    fn a_sequence_is_booked_phase_by_phase() {
        let ms = Duration::from_millis;
        let mut ledger = Ledger::new(4096);
        let mut life = Life { arrived: ms(100), scheduled: Some(ms(350)), ..Life::default() };
        assert_eq!(ledger.generated(&mut life, ms(600), 1, SIZE), 8);
        assert_eq!(ledger.generated(&mut life, ms(850), 2, SIZE), 2);
        ledger.finished(life, SIZE);
        ledger.request_finished(1, 3);

        assert_eq!((ledger.prompt_tokens, ledger.cached_tokens, ledger.generation_tokens), (7, 4, 3));
        assert_eq!(ledger.finished, Finished { length: 1, ..Finished::default() });
        let sums = [
            &ledger.first_token,
            &ledger.between_tokens,
            &ledger.per_token,
            &ledger.phases.whole,
            &ledger.phases.queue,
            &ledger.phases.prefill,
            &ledger.phases.decode,
            &ledger.phases.inference,
            &ledger.sizes.prompt_tokens,
            &ledger.sizes.generation_tokens,
            &ledger.sizes.limit,
        ]
        .map(|histogram| (histogram.count(), histogram.sum()));
        let expected = [0.5, 0.25, 0.125, 0.75, 0.25, 0.25, 0.25, 0.5, 7.0, 3.0, 3.0].map(|sum| (1, sum));
        assert_eq!(sums, expected);
    }

    #[test]
    fn one_token_has_no_time_per_token() {
        let mut ledger = Ledger::new(100);
        let size = Size { generated: 1, limit: None, cut: false, ..SIZE };
        let mut life = Life { scheduled: Some(Duration::ZERO), ..Life::default() };
        ledger.generated(&mut life, Duration::from_secs(1), 1, size);
        ledger.finished(life, size);
        assert_eq!((ledger.per_token.count(), ledger.per_token.sum()), (1, 0.0));
        assert_eq!((ledger.finished.stop, ledger.sizes.limit.count()), (1, 0));
    }
}
