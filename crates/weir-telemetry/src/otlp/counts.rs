//! What became of what was to be exported.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why an exchange did not get to its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Too many waited already.
    QueueFull,
    /// The destination said no.
    Refused,
    /// It was tried for too long.
    GaveUp,
    /// Weir ended first.
    Shutdown,
}

/// The exchanges of one destination. Added up, they are all that were to be exported and do not wait.
#[derive(Debug, Default)]
pub(crate) struct TraceCounts {
    confirmed: AtomicU64,
    lost: [AtomicU64; 4],
    unknown: AtomicU64,
    retries: AtomicU64,
    waiting: AtomicU64,
}

impl TraceCounts {
    /// The names of the causes of loss, in the order of [`Lost`].
    pub(crate) const CAUSES: [(&'static str, Lost); 4] = [
        ("queue_full", Lost::QueueFull),
        ("refused", Lost::Refused),
        ("gave_up", Lost::GaveUp),
        ("shutdown", Lost::Shutdown),
    ];

    pub(super) fn confirm(&self, exchanges: u64) {
        self.confirmed.fetch_add(exchanges, Relaxed);
    }

    pub(super) fn lose(&self, exchanges: u64, why: Lost) {
        self.lost[why as usize].fetch_add(exchanges, Relaxed);
    }

    pub(super) fn doubt(&self, exchanges: u64) {
        self.unknown.fetch_add(exchanges, Relaxed);
    }

    pub(super) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    pub(super) fn enter(&self) {
        self.waiting.fetch_add(1, Relaxed);
    }

    pub(super) fn leave(&self, exchanges: u64) {
        self.waiting.fetch_sub(exchanges, Relaxed);
    }

    /// Exchanges that the destination has confirmed.
    pub(crate) fn confirmed(&self) -> u64 {
        self.confirmed.load(Relaxed)
    }

    /// Exchanges that did not get there.
    pub(crate) fn lost(&self, why: Lost) -> u64 {
        self.lost[why as usize].load(Relaxed)
    }

    /// Exchanges that may have got there.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown.load(Relaxed)
    }

    /// Requests that were sent again.
    pub(crate) fn retries(&self) -> u64 {
        self.retries.load(Relaxed)
    }

    /// Exchanges that wait, or are on their way.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }
}

/// The metrics of one destination.
#[derive(Debug, Default)]
pub(crate) struct MetricCounts {
    taken: AtomicU64,
    failed: AtomicU64,
}

impl MetricCounts {
    pub(super) fn take(&self) {
        self.taken.fetch_add(1, Relaxed);
    }

    pub(super) fn fail(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Rounds that the destination has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// Rounds that failed, or of which it is not known.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }
}
