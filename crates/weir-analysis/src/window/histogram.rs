//! A distribution as bins, with the exact count, sum and greatest beside them.

use super::budget::Budget;
use super::sparse::{Packed, Sparse};

/// What is known exactly. Of values whose bin found no room this is all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exact {
    /// How many values.
    pub(super) count: u64,
    /// How many of them are in bins.
    pub(super) binned: u64,
    /// Their sum, raw.
    pub(super) sum: u64,
    /// The greatest, raw.
    pub(super) max: u64,
}

impl Exact {
    /// Takes in `other`.
    pub(super) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.binned = self.binned.saturating_add(other.binned);
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

/// A histogram that grows.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    pub(super) exact: Exact,
    pub(super) bins: Sparse,
}

impl Histogram {
    /// Adds a raw value.
    pub(super) fn record(&mut self, bin: u16, raw: u64, budget: &mut Budget) {
        self.exact.add(Exact { count: 1, binned: 0, sum: raw, max: raw });
        self.count(bin, 1, budget);
    }

    /// Adds values of one bin, their sum and greatest told apart.
    pub(super) fn count(&mut self, bin: u16, n: u32, budget: &mut Budget) {
        if self.bins.add(bin, n, budget) {
            self.exact.binned = self.exact.binned.saturating_add(n.into());
        } else {
            budget.overflow(n.into());
        }
    }

    /// Takes in a closed histogram.
    pub(super) fn merge(&mut self, closed: &Closed, budget: &mut Budget) {
        self.exact.add(closed.exact);
        self.bins.merge(closed.bins.iter(), budget);
    }

    /// Takes off a closed histogram that was merged before. The greatest is as it was.
    pub(super) fn subtract(&mut self, closed: &Closed) {
        self.exact.count = self.exact.count.saturating_sub(closed.exact.count);
        self.exact.binned = self.exact.binned.saturating_sub(closed.exact.binned);
        self.exact.sum = self.exact.sum.saturating_sub(closed.exact.sum);
        self.bins.subtract(closed.bins.iter());
    }

    /// Packs what is in it and leaves it empty.
    pub(super) fn close(&mut self, budget: &mut Budget) -> Closed {
        let full = std::mem::take(self);
        let closed = Closed { exact: full.exact, bins: Packed::new(&full.bins) };
        budget.resize(full.bins.bytes(), closed.bins.bytes());
        closed
    }
}

/// A histogram of a slot that is over.
#[derive(Debug, Default)]
pub(super) struct Closed {
    pub(super) exact: Exact,
    pub(super) bins: Packed,
}
