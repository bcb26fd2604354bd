//! Who generates now and who waits, in either model.

use std::sync::Arc;

use tokio::time::sleep_until;

use super::ask::{Ask, MAX_TOKENS};
use super::batch::{Batch, Cached, Progress, Seat};
use super::chunks::Chunks;
use super::metrics::Snapshot;
use super::pace::Pace;
use super::places::{Places, Standing};
use super::refusal::Refusal;
use super::stats::Counters;
use super::tally::{Tallies, Tally};
use crate::clock::FOREVER;

/// Gives each request its turn.
#[derive(Debug)]
pub(crate) struct Scheduler {
    places: Places,
    tallies: Arc<Tallies>,
    counters: Arc<Counters>,
    /// Where completions are generated, if not each at a pace of its own.
    batch: Option<Batch>,
}

impl Scheduler {
    pub(crate) fn new(max_concurrent: Option<usize>, counters: Arc<Counters>, batch: Option<Batch>) -> Self {
        Scheduler {
            places: Places::new(max_concurrent, Arc::clone(&counters)),
            tallies: Arc::new(Tallies::new(MAX_TOKENS)),
            counters,
            batch,
        }
    }

    /// Makes a request fit into the model's context, or refuses it. The plain model has no limit.
    pub(crate) fn fit(&self, ask: Ask, wording: u64) -> Result<Ask, Refusal> {
        match &self.batch {
            Some(batch) => batch.fit(ask, wording),
            None => Ok(ask),
        }
    }

    /// Puts a completion, which has been made to fit, into the batch or the queue. What it finds in
    /// the prefix cache is written to `cached`. `pace` counts in the plain model only.
    pub(crate) async fn enter(&self, ask: &Ask, wording: u64, cached: Cached, pace: Pace) -> Turn {
        match &self.batch {
            Some(batch) => Turn::Batched(batch.enter(ask, wording, cached).await),
            None => self.paced(pace, ask.chunks.clone(), Some(self.tallies.begin(ask))),
        }
    }

    /// Puts something that generates nothing into the queue. It has one token, so to speak.
    pub(crate) fn enter_beside(&self, pace: Pace) -> Turn {
        self.paced(pace, Chunks::even(1, 1), None)
    }

    fn paced(&self, pace: Pace, chunks: Chunks, tally: Option<Tally>) -> Turn {
        Turn::Paced(Box::new(Paced { standing: self.places.enter(), pace, chunks, tally }))
    }

    /// What the engine has counted, and how busy it is; nothing once it stops.
    pub(crate) async fn snapshot(&self) -> Option<Snapshot> {
        let Some(batch) = &self.batch else {
            let stats = self.counters.read(0);
            return Some(Snapshot::Plain {
                running: stats.active,
                waiting: stats.queued,
                ledger: Box::new(self.tallies.ledger()),
            });
        };
        batch.snapshot().await
    }
}

/// A request's standing with the scheduler, given up when it is dropped.
#[derive(Debug)]
pub(crate) enum Turn {
    Paced(Box<Paced>),
    Batched(Seat),
}

impl Turn {
    /// Waits until every choice has the token of that number, counted from zero, and may send the
    /// chunk that begins with it.
    pub(crate) async fn token(&mut self, token: u32) {
        match self {
            Turn::Paced(paced) => paced.token(token).await,
            Turn::Batched(seat) => seat.token(token).await,
        }
    }

    /// How far the request has come in the batch.
    pub(crate) fn progress(&self) -> Option<&Arc<Progress>> {
        match self {
            Turn::Paced(_) => None,
            Turn::Batched(seat) => Some(seat.progress()),
        }
    }
}

/// A request of the plain model.
#[derive(Debug)]
pub(crate) struct Paced {
    standing: Standing,
    pace: Pace,
    chunks: Chunks,
    tally: Option<Tally>,
}

impl Paced {
    async fn token(&mut self, token: u32) {
        let delay = self.pace.due(token);
        if let Some(since) = self.standing.admitted().await {
            sleep_until(since + delay.min(FOREVER)).await;
            if let Some(tally) = &mut self.tally {
                tally.reached(since, self.chunks.complete_with(token));
            }
        }
    }
}
