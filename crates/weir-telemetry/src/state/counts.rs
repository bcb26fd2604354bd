//! What became of the rows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts since the store was opened.
#[derive(Debug, Default)]
pub struct StateCounts {
    pub(super) written: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) rows: AtomicU64,
}

impl StateCounts {
    /// Rows whose change was committed; rows that were taken away count too.
    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// Rows that were not kept: too many waited, too many are held, or one was too long.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Attempts to write that failed. The rows wait for the next attempt.
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// Rows that the store holds.
    pub fn rows(&self) -> u64 {
        self.rows.load(Relaxed)
    }
}
