//! What the batch tells a request of its progress, and what the request tells the batch.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;

use super::model::Yield;
use crate::truth::BatchTruth;

/// Prompt tokens that were found in the prefix cache, of all prompts of a request together. Nobody
/// knows before the request is scheduled, and nobody ever knows in an engine without a prefix cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cached(Arc<Found>);

#[derive(Debug, Default)]
struct Found {
    known: AtomicBool,
    tokens: AtomicU32,
}

impl Cached {
    /// How many they are, once that is known.
    pub(crate) fn tokens(&self) -> Option<u32> {
        self.0.known.load(Ordering::Acquire).then(|| self.0.tokens.load(Ordering::Relaxed))
    }

    /// A prompt was looked up.
    fn add(&self, tokens: u32) {
        self.0.tokens.fetch_add(tokens, Ordering::Relaxed);
        self.0.known.store(true, Ordering::Release);
    }
}

/// How far a request has come. The batch writes it and never waits for its reader: it is the newest
/// state, and not a queue of what led to it.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Tokens of each choice.
    generated: Box<[AtomicU32]>,
    /// Choices of each prompt.
    choices_each: u32,
    /// Rings with every change. One reader listens.
    bell: Notify,
    /// Whether the reader has left.
    gone: AtomicBool,
    cached: Cached,
    queued: OnceLock<Duration>,
    prefilled: OnceLock<Duration>,
    preemptions: AtomicU32,
}

impl Progress {
    pub(super) fn new(choices: u32, choices_each: u32, cached: Cached) -> Self {
        Progress {
            generated: (0..choices).map(|_| AtomicU32::new(0)).collect(),
            choices_each,
            bell: Notify::new(),
            gone: AtomicBool::new(false),
            cached,
            queued: OnceLock::new(),
            prefilled: OnceLock::new(),
            preemptions: AtomicU32::new(0),
        }
    }

    /// A step has brought a choice some tokens.
    pub(super) fn tell(&self, news: &Yield) {
        let _ = self.queued.set(news.queued);
        let _ = self.prefilled.set(news.prefilled);
        self.preemptions.fetch_max(news.preemptions, Ordering::Relaxed);
        if let Some(generated) = self.generated.get(news.choice as usize) {
            // Of each prompt one choice is counted: the others find what that one has left.
            let first =
                generated.load(Ordering::Relaxed) == 0 && news.choice.is_multiple_of(self.choices_each);
            if let Some(cached) = news.cached.filter(|_| first) {
                self.cached.add(cached);
            }
            generated.store(news.generated, Ordering::Release);
        }
        self.bell.notify_one();
    }

    /// Waits until every choice has that many tokens.
    pub(super) async fn reached(&self, tokens: u32) {
        while self.generated.iter().any(|generated| generated.load(Ordering::Acquire) < tokens) {
            self.bell.notified().await;
        }
    }

    /// The reader leaves.
    pub(super) fn leave(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Whether the reader has left.
    pub(super) fn gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// What the batch did for the request, once it has a token.
    pub(crate) fn truth(&self) -> Option<BatchTruth> {
        let nanoseconds = |phase: &OnceLock<Duration>| {
            phase.get().map(|phase| u64::try_from(phase.as_nanos()).unwrap_or(u64::MAX))
        };
        Some(BatchTruth {
            queue_ns: nanoseconds(&self.queued)?,
            prefill_ns: nanoseconds(&self.prefilled)?,
            preemptions: self.preemptions.load(Ordering::Relaxed),
            cached_tokens: self.cached.tokens(),
        })
    }
}
