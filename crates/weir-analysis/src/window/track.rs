//! One measure of one series: its open slot, its closed ones, and the sum of each window.

use std::collections::VecDeque;

use crate::scope::Window;

use super::budget::Budget;
use super::histogram::{Closed, Histogram};

/// Length of a slot in seconds.
pub(super) const SLOT_S: u64 = 5;

/// Slots in a minute, which are rolled up into one.
pub(super) const SLOTS_A_MINUTE: u64 = 60 / SLOT_S;

/// Closed slots that are kept: with the open one they make five minutes.
const SLOTS: usize = 59;

/// Closed minutes that are kept: with the one that is not over they make an hour.
const MINUTES: usize = 59;

/// Closed slots in a window of one minute.
const LAST_MINUTE: usize = SLOTS_A_MINUTE as usize - 1;

#[derive(Debug)]
pub(super) struct Track {
    open: Histogram,
    /// The closed slots of the minute that is not over.
    minute: Histogram,
    slots: VecDeque<Closed>,
    minutes: VecDeque<Closed>,
    /// What is closed, for each window in the order of [`Window::ALL`].
    sums: [Histogram; 3],
}

impl Track {
    /// Bytes that it holds beside its bins.
    pub(super) const FIXED_BYTES: usize = size_of::<Self>() + (SLOTS + 1 + MINUTES + 1) * size_of::<Closed>();

    pub(super) fn new() -> Self {
        Self {
            open: Histogram::default(),
            minute: Histogram::default(),
            slots: VecDeque::with_capacity(SLOTS + 1),
            minutes: VecDeque::with_capacity(MINUTES + 1),
            sums: Default::default(),
        }
    }

    /// Where to record.
    pub(super) const fn open(&mut self) -> &mut Histogram {
        &mut self.open
    }

    /// Closes the open slot, and the minute too where it is over.
    pub(super) fn close(&mut self, minute_ends: bool, budget: &mut Budget) {
        let closed = self.open.close(budget);
        if closed.exact.count > 0 {
            self.minute.merge(&closed, budget);
            for sum in &mut self.sums {
                sum.merge(&closed, budget);
            }
        }
        self.slots.push_back(closed);
        if let Some(at) = self.slots.len().checked_sub(LAST_MINUTE + 1) {
            let kept = self.slots.range(at + 1..);
            expire(&mut self.sums[0], &self.slots[at], kept.map(|slot| slot.exact.max), budget);
        }
        if self.slots.len() > SLOTS
            && let Some(gone) = self.slots.pop_front()
        {
            expire(&mut self.sums[1], &gone, self.slots.iter().map(|slot| slot.exact.max), budget);
            budget.resize(gone.bins.bytes(), 0);
        }
        if minute_ends {
            self.close_minute(budget);
        }
    }

    fn close_minute(&mut self, budget: &mut Budget) {
        let closed = self.minute.close(budget);
        self.minutes.push_back(closed);
        if self.minutes.len() > MINUTES
            && let Some(gone) = self.minutes.pop_front()
        {
            expire(&mut self.sums[2], &gone, self.minutes.iter().map(|minute| minute.exact.max), budget);
            budget.resize(gone.bins.bytes(), 0);
        }
    }

    /// What the window holds: what is closed, and what is open.
    pub(super) const fn window(&self, window: Window) -> [&Histogram; 2] {
        [&self.sums[window as usize], &self.open]
    }

    /// The closed slots, the latest last.
    pub(super) const fn slots(&self) -> &VecDeque<Closed> {
        &self.slots
    }

    /// Bytes of its bins.
    pub(super) fn bytes(&self) -> usize {
        let open = self.open.bins.bytes() + self.minute.bins.bytes();
        let sums: usize = self.sums.iter().map(|sum| sum.bins.bytes()).sum();
        let closed: usize = self.slots.iter().chain(&self.minutes).map(|closed| closed.bins.bytes()).sum();
        open + sums + closed
    }
}

/// Takes off a slot that has left; the greatest is sought among the others where it has left too.
fn expire(sum: &mut Histogram, gone: &Closed, kept: impl Iterator<Item = u64>, budget: &mut Budget) {
    if gone.exact.count == 0 {
        return;
    }
    sum.subtract(gone);
    if gone.exact.max == sum.exact.max {
        sum.exact.max = kept.max().unwrap_or(0);
    }
    if sum.exact.count == 0 {
        budget.resize(sum.bins.bytes(), 0);
        *sum = Histogram::default();
    }
}
