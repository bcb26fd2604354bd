//! The requests' side of the batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::config::Batching;
use super::driver::{Message, Submission};
use super::prefix;
use super::progress::{Cached, Progress};
use super::sequence::Job;
use crate::clock;
use crate::engine::ask::{Ask, Prompt};
use crate::engine::chunks::Chunks;
use crate::engine::metrics::Snapshot;

/// Messages that may wait for the batch's task; a request that finds no room waits at the door.
pub(super) const MAILBOX: usize = 1024;

/// The way into the batch.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) config: Batching,
    mailbox: mpsc::Sender<Message>,
    /// Where the engine's clock begins.
    epoch: Instant,
    requests: AtomicU64,
}

impl Batch {
    pub(super) fn new(config: Batching, mailbox: mpsc::Sender<Message>, epoch: Instant) -> Self {
        Batch { config, mailbox, epoch, requests: AtomicU64::new(0) }
    }

    /// Puts a request, which has been made to fit, into the queue.
    pub(crate) async fn enter(&self, ask: &Ask, wording: u64, cached: Cached) -> Seat {
        let arrived = clock::now().saturating_duration_since(self.epoch);
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let choices = ask.choices_each();
        let progress = Arc::new(Progress::new(ask.choices, choices, cached));
        let seat = Seat { progress: Arc::clone(&progress), chunks: ask.chunks.clone() };
        let steps = self.steps(ask.tokens, wording);
        let job = |(prompt, first_choice): (&Prompt, u32)| Job {
            request,
            arrived,
            choices,
            first_choice,
            prompt: tokens(prompt),
            prefixes: self.prefixes(&prompt.text),
            output: ask.tokens,
            steps: steps.clone(),
            limit: self.limit(ask, prompt),
            cut: ask.cut,
        };
        let firsts = (0..ask.choices).step_by(choices as usize);
        let jobs = ask.prompts.iter().zip(firsts).map(job).collect();
        let submission = Submission { request, choices: ask.choices, jobs, progress };
        // Fails only when the engine stops, and then this connection is cut as well.
        let _ = self.mailbox.send(Message::Submit(submission)).await;
        seat
    }

    /// What the batch has counted, and how full it is; nothing once the engine stops.
    pub(crate) async fn snapshot(&self) -> Option<Snapshot> {
        let (reply, snapshot) = oneshot::channel();
        self.mailbox.send(Message::Read(reply)).await.ok()?;
        snapshot.await.ok()
    }

    fn prefixes(&self, prompt: &str) -> Arc<[u64]> {
        let kv = &self.config.config().kv;
        match kv.prefix_caching {
            true => prefix::hashes(prompt, kv.block_size).into(),
            false => Arc::default(),
        }
    }
}

/// Tokens of a prompt; an empty one has that of the beginning.
pub(super) fn tokens(prompt: &Prompt) -> u32 {
    u32::try_from(prompt.tokens).unwrap_or(u32::MAX).max(1)
}

/// A request in the batch, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    progress: Arc<Progress>,
    chunks: Chunks,
}

impl Seat {
    /// Waits until every choice has the chunk that begins with token number `token`.
    pub(crate) async fn token(&self, token: u32) {
        self.progress.reached(self.chunks.complete_with(token)).await;
    }

    /// How far it has come.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.progress.leave();
    }
}
