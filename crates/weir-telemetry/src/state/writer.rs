//! The far end of the store, on a thread of its own.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::counts::StateCounts;
use super::file::StateFile;
use super::pending::{Batch, Pending};
use crate::clock::Clock;
use crate::rate_limit::RateLimit;

/// After a write that failed, the next is tried when so much time has passed.
const RETRY: Duration = Duration::from_secs(5);

/// What the two ends share. The lock is held while rows change hands, never while they are written.
#[derive(Debug, Default)]
pub(super) struct Shared {
    desk: Mutex<Desk>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Desk {
    pending: Pending,
    finishing: bool,
}

impl Shared {
    /// Changes what waits, and rings.
    pub(super) fn offer(&self, rows: Vec<weir_analysis::saved::Row>) -> usize {
        let dropped = self.desk().pending.offer(rows);
        self.bell.notify_one();
        dropped
    }

    /// Nothing more will come.
    pub(super) fn finish(&self) {
        self.desk().finishing = true;
        self.bell.notify_one();
    }

    /// Waits until there is something to write. Absent once all is written and nothing more will come.
    fn next(&self) -> Option<Next> {
        let idle = |desk: &mut Desk| desk.pending.is_empty() && !desk.finishing;
        let waited = self.bell.wait_while(self.desk(), idle);
        let mut desk = waited.unwrap_or_else(PoisonError::into_inner);
        (!desk.pending.is_empty()).then(|| Next { batch: desk.pending.take(), last: desk.finishing })
    }

    /// Puts back what could not be written.
    fn put_back(&self, batch: Batch) {
        self.desk().pending.put_back(batch);
    }

    /// Waits until the next attempt.
    fn rest(&self) {
        let _ = self.bell.wait_timeout_while(self.desk(), RETRY, |desk| !desk.finishing);
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Next {
    batch: Batch,
    /// There will be no other.
    last: bool,
}

/// Writes what waits, a transaction at a time.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) file: StateFile,
    pub(super) shared: Arc<Shared>,
    pub(super) counts: Arc<StateCounts>,
    pub(super) clock: Clock,
    pub(super) log: RateLimit,
}

impl Writer {
    /// Writes until nothing more will come and all is written, or cannot be.
    pub(super) fn run(mut self) {
        while let Some(Next { batch, last }) = self.shared.next() {
            match self.file.write(&batch) {
                Ok(wrote) => {
                    self.shared.desk().pending.settle();
                    self.counts.rows.store(wrote.rows, Relaxed);
                    self.counts.dropped.fetch_add(wrote.dropped, Relaxed);
                    self.counts.written.fetch_add(wrote.written, Relaxed);
                    if wrote.dropped > 0 {
                        self.tell_full(wrote.dropped);
                    }
                }
                Err(error) => {
                    self.tell(&error, batch.len());
                    if last {
                        self.counts.errors.fetch_add(1, Relaxed);
                        self.counts.dropped.fetch_add(batch.len() as u64, Relaxed);
                        return;
                    }
                    self.shared.put_back(batch);
                    self.counts.errors.fetch_add(1, Relaxed);
                    self.shared.rest();
                }
            }
        }
    }

    fn tell(&mut self, error: &rusqlite::Error, rows: usize) {
        if let Some(held_back) = self.log.pass((self.clock)()) {
            tracing::warn!(%error, rows, held_back, "cannot write state; it is tried again");
        }
    }

    fn tell_full(&mut self, dropped: u64) {
        if let Some(held_back) = self.log.pass((self.clock)()) {
            tracing::warn!(dropped, held_back, "too many rows of state, new ones were dropped");
        }
    }
}
