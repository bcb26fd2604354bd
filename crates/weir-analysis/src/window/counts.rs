//! What is counted by when it happened, in slots that can be amended: an exchange tells at its end what
//! went on while it ran.

use std::time::Duration;

use crate::time::Moment;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// Exchanges that ended.
    Requests,
    /// Those that count for the error rate.
    Answered,
    /// Those of them that were errors.
    Errors,
    /// Those that their client left.
    Abandoned,
    InputTokens,
    OutputTokens,
    /// Nanoseconds that exchanges spent between admission and end, summed.
    BusyNs,
    /// Nanoseconds that exchanges spent in the queue, summed.
    QueuedNs,
    /// Nanoseconds over which it is known how many were in flight.
    WatchedNs,
    /// Admitted exchanges in them, summed over time: exchanges × nanoseconds.
    InFlightNs,
    /// Waiting exchanges in them, likewise.
    WaitingNs,
    /// Exchanges that goodput was asked of.
    Judged,
    /// Those of them that met every limit.
    Good,
    /// Output tokens of the good ones.
    GoodTokens,
}

/// How many there are.
const COUNTS: usize = 14;

/// Every count of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([u64; COUNTS]);

impl Counts {
    pub(super) const fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    /// Whether nothing happened: time in which nothing was seen aside.
    pub(super) fn is_idle(&self) -> bool {
        let happened = |count: usize| self.0[count] > 0 && count != Count::WatchedNs as usize;
        !(0..COUNTS).any(happened)
    }

    fn add(&mut self, other: &Self) {
        for (sum, n) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(n);
        }
    }
}

/// The last slots of one length. `N` slots of `S` seconds.
#[derive(Debug)]
pub(super) struct Ring<const N: usize, const S: u64> {
    slots: Box<[Counts]>,
    newest: u64,
}

impl<const N: usize, const S: u64> Ring<N, S> {
    /// Bytes held.
    pub(super) const BYTES: usize = N * size_of::<Counts>();

    pub(super) fn new(now: Moment) -> Self {
        Self { slots: vec![Counts::default(); N].into(), newest: now.periods(Duration::from_secs(S)) }
    }

    /// Moves on to the slot of `now`; what is between is empty.
    pub(super) fn advance(&mut self, now: Moment) {
        let slot = Self::slot(now);
        if slot <= self.newest {
            return;
        }
        let passed = (slot - self.newest).min(N as u64);
        for gone in slot + 1 - passed..=slot {
            self.slots[Self::place(gone)] = Counts::default();
        }
        self.newest = slot;
    }

    /// Adds to the slot of a moment; nothing where that is older than all, or not yet there.
    pub(super) fn add(&mut self, at: Moment, count: Count, n: u64) {
        let slot = Self::slot(at);
        if slot <= self.newest && self.newest - slot < N as u64 {
            let cell = &mut self.slots[Self::place(slot)].0[count as usize];
            *cell = cell.saturating_add(n);
        }
    }

    /// Spreads an amount evenly from one moment to another. What falls before the oldest slot is lost to
    /// every window, and what falls after the newest goes to that.
    pub(super) fn spread(&mut self, from: Moment, to: Moment, count: Count, amount: u64) {
        let length = to.0.saturating_sub(from.0);
        if length == 0 {
            return self.add(to, count, amount);
        }
        let share = |until: u64| {
            let part = u128::from(until.clamp(from.0, to.0) - from.0);
            (u128::from(amount) * part / u128::from(length)) as u64
        };
        let oldest = self.newest.saturating_sub(N as u64 - 1);
        let last = Self::slot(to).min(self.newest);
        for slot in Self::slot(from).max(oldest)..=last {
            let until = if slot == last { to.0 } else { (slot + 1).saturating_mul(S * 1_000_000_000) };
            let since = slot.saturating_mul(S * 1_000_000_000);
            let cell = &mut self.slots[Self::place(slot)].0[count as usize];
            *cell = cell.saturating_add(share(until) - share(since));
        }
    }

    /// The counts from a slot on, up to now.
    pub(super) fn since(&self, slot: u64) -> Counts {
        let mut sum = Counts::default();
        let oldest = self.newest.saturating_sub(N as u64 - 1);
        for slot in slot.max(oldest)..=self.newest {
            sum.add(&self.slots[Self::place(slot)]);
        }
        sum
    }

    /// The counts of one slot that is still held.
    pub(super) fn at(&self, slot: u64) -> Option<&Counts> {
        let held = slot <= self.newest && self.newest - slot < N as u64;
        held.then(|| &self.slots[Self::place(slot)])
    }

    /// The slot of a moment.
    pub(super) fn slot(at: Moment) -> u64 {
        at.periods(Duration::from_secs(S))
    }

    const fn place(slot: u64) -> usize {
        (slot % N as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Ring};
    use crate::time::Moment;

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_is_spread_lies_where_it_was_and_adds_up() {
        let mut ring: Ring<4, 5> = Ring::new(Moment(0));
        ring.advance(Moment(17 * S));
        ring.spread(Moment(3 * S), Moment(16 * S), Count::BusyNs, 13 * S);
        let cells: Vec<u64> = (0..4).map(|slot| ring.at(slot).unwrap().of(Count::BusyNs) / S).collect();
        assert_eq!(cells, [2, 5, 5, 1]);
        ring.spread(Moment(3 * S), Moment(16 * S), Count::OutputTokens, 7);
        assert_eq!(ring.since(0).of(Count::OutputTokens), 7);
        ring.advance(Moment(20 * S));
        assert_eq!(ring.at(0), None);
        assert_eq!(ring.since(0).of(Count::BusyNs), 11 * S);
    }

    #[test]
    fn a_leap_empties_it_without_walking_there() {
        let mut ring: Ring<4, 5> = Ring::new(Moment(0));
        ring.add(Moment(0), Count::Requests, 1);
        ring.advance(Moment(u64::MAX));
        assert_eq!(ring.since(0).of(Count::Requests), 0);
        ring.add(Moment(0), Count::Requests, 1);
        assert_eq!(ring.since(0).of(Count::Requests), 0);
    }
}
