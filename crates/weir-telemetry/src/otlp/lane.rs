//! The way of exchanges to one destination.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::config::OtlpDestination;
use super::counts::{Lost, TraceCounts};
use crate::clock::Clock;
use crate::rate_limit::RateLimit;
use crate::valued::Valued;

/// The near end of a destination's queue.
#[derive(Debug)]
pub(crate) struct Lane {
    name: Box<str>,
    queue: mpsc::Sender<Arc<Valued>>,
    counts: Arc<TraceCounts>,
    clock: Clock,
    log: RateLimit,
}

impl Lane {
    /// A lane, and the far end of its queue.
    pub(super) fn new(destination: &OtlpDestination, clock: Clock) -> (Self, mpsc::Receiver<Arc<Valued>>) {
        let (queue, far_end) = mpsc::channel(destination.batch.queue);
        let (name, counts) = (destination.name.clone(), Arc::default());
        (Self { name, queue, counts, clock, log: RateLimit::default() }, far_end)
    }

    /// Hands an exchange over, if there is room.
    pub(super) fn offer(&mut self, valued: &Arc<Valued>) {
        self.counts.enter();
        if self.queue.try_send(Arc::clone(valued)).is_ok() {
            return;
        }
        self.counts.leave(1);
        self.counts.lose(1, Lost::QueueFull);
        if let Some(held_back) = self.log.pass((self.clock)()) {
            let destination = &*self.name;
            tracing::warn!(
                destination,
                held_back,
                "too many exchanges wait for export, this one was dropped"
            );
        }
    }

    /// The name of the destination.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What became of the exchanges.
    pub(crate) fn counts(&self) -> Arc<TraceCounts> {
        Arc::clone(&self.counts)
    }

    pub(super) fn into_counts(self) -> (Box<str>, Arc<TraceCounts>) {
        (self.name, self.counts)
    }
}
