//! What the plain model knows of its work, for `/metrics`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::ask::Ask;
use super::metrics::{Ledger, Life, Size};
use crate::clock;

/// The books of the plain model. A mutex, because every connection writes into them and a scrape
/// reads them all at once; it is held for a few additions.
#[derive(Debug)]
pub(crate) struct Tallies {
    ledger: Mutex<Ledger>,
    epoch: Instant,
}

impl Tallies {
    /// Empty books of answers and prompts of up to `longest` tokens.
    pub(crate) fn new(longest: u64) -> Self {
        Tallies { ledger: Mutex::new(Ledger::new(longest)), epoch: clock::now() }
    }

    /// What is in them now.
    pub(crate) fn ledger(&self) -> Ledger {
        self.lock().clone()
    }

    /// A request has come.
    pub(crate) fn begin(self: &Arc<Self>, ask: &Ask) -> Tally {
        Tally {
            tallies: Arc::clone(self),
            life: Life { arrived: self.offset(clock::now()), ..Life::default() },
            prompts: ask.prompts.iter().map(|prompt| narrow(prompt.tokens)).collect(),
            choices: ask.choices_each(),
            tokens: ask.tokens,
            size: Size { prompt: 0, cached: 0, generated: 0, limit: ask.limit, cut: ask.cut },
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offset(&self, at: Instant) -> std::time::Duration {
        at.saturating_duration_since(self.epoch)
    }
}

/// One request; if it is dropped before its last token, the other side has left.
#[derive(Debug)]
pub(crate) struct Tally {
    tallies: Arc<Tallies>,
    life: Life,
    /// Tokens of each prompt, and the choices that each has.
    prompts: Vec<u32>,
    choices: u32,
    /// Tokens that each choice will have, and what is known of its size so far.
    tokens: u32,
    size: Size,
}

impl Tally {
    /// Each choice, in its place since `since`, now has `generated` tokens.
    pub(crate) fn reached(&mut self, since: Instant, generated: u32) {
        let Some(new) = generated.checked_sub(self.size.generated).filter(|&new| new > 0) else { return };
        self.size.generated = generated;
        self.life.scheduled = Some(self.tallies.offset(since));
        let now = self.tallies.offset(clock::now());
        let mut ledger = self.tallies.lock();
        let before = self.life;
        for &prompt in &self.prompts {
            let size = Size { prompt, ..self.size };
            for _ in 0..self.choices {
                self.life = before;
                ledger.generated(&mut self.life, now, new, size);
                if self.finished() {
                    ledger.finished(self.life, size);
                }
            }
            if self.finished() {
                ledger.request_finished(self.choices, self.tokens);
            }
        }
    }

    fn finished(&self) -> bool {
        self.size.generated == self.tokens
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if !self.finished() {
            let mut ledger = self.tallies.lock();
            let choices = self.prompts.len() * self.choices as usize;
            (0..choices).for_each(|_| ledger.aborted());
        }
    }
}

fn narrow(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
