//! What became of the notifications of a target.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why a notification was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Too many waited; it was the oldest.
    QueueFull,
    /// The target answered that it does not want it.
    Refused,
    /// It was tried too often, or for too long.
    GaveUp,
    /// The template did not render it, or it was too long.
    Unrenderable,
    /// Weir ended first.
    Shutdown,
}

/// Counts since the target was first set up. What an Alertmanager is told again has counts of its own.
#[derive(Debug, Default)]
pub struct TargetCounts {
    sent: AtomicU64,
    retries: AtomicU64,
    waiting: AtomicU64,
    lost: [AtomicU64; 5],
    resends: AtomicU64,
    failed_resends: AtomicU64,
    not_kept: AtomicU64,
}

impl TargetCounts {
    /// The reasons and their names in metrics.
    pub const LOST: [(&'static str, Lost); 5] = [
        ("queue_full", Lost::QueueFull),
        ("refused", Lost::Refused),
        ("gave_up", Lost::GaveUp),
        ("unrenderable", Lost::Unrenderable),
        ("shutdown", Lost::Shutdown),
    ];

    /// Notifications that the target took.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Attempts after the first.
    pub fn retries(&self) -> u64 {
        self.retries.load(Relaxed)
    }

    /// Notifications that wait, the one that is being sent included.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// Notifications that were not delivered.
    pub fn lost(&self, why: Lost) -> u64 {
        self.lost[why as usize].load(Relaxed)
    }

    /// How often an Alertmanager took what still fires once more.
    pub fn resends(&self) -> u64 {
        self.resends.load(Relaxed)
    }

    /// How often it did not.
    pub fn failed_resends(&self) -> u64 {
        self.failed_resends.load(Relaxed)
    }

    /// Alerts that fire and are not sent again, because too many do.
    pub fn not_kept(&self) -> u64 {
        self.not_kept.load(Relaxed)
    }

    pub(super) fn came(&self) {
        self.waiting.fetch_add(1, Relaxed);
    }

    pub(super) fn went(&self) {
        self.sent.fetch_add(1, Relaxed);
        self.waiting.fetch_sub(1, Relaxed);
    }

    pub(super) fn lose(&self, why: Lost) {
        self.lost[why as usize].fetch_add(1, Relaxed);
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// It was not to be sent.
    pub(super) fn skip(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }

    pub(super) fn retry(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    pub(super) fn resent(&self, taken: bool) {
        if taken { &self.resends } else { &self.failed_resends }.fetch_add(1, Relaxed);
    }

    pub(super) fn leave_out(&self) {
        self.not_kept.fetch_add(1, Relaxed);
    }

    /// What still waits is lost. Says how many.
    pub(super) fn shut_down(&self) -> u64 {
        let lost = self.waiting.swap(0, Relaxed);
        self.lost[Lost::Shutdown as usize].fetch_add(lost, Relaxed);
        lost
    }
}
