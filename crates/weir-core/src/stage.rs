//! What Little's law needs of one stage that requests pass through: how many came and went, how long
//! they were in it, and how many were in it over time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::timeline::Stamp;

/// The gauge of one stage.
///
/// The lock keeps numbers together that mean something only together. It is taken when a request comes
/// and goes, and once a second to be read; never for an event.
#[derive(Debug, Default)]
pub struct StageGauge {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    reading: StageReading,
    changed: Stamp,
}

/// One look at a stage. All of it only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReading {
    /// Requests that came in.
    pub entered: u64,
    /// Requests that went out.
    pub left: u64,
    /// Time that those who went out had been in, summed, in nanoseconds.
    pub time_ns: u64,
    /// The number inside, summed over time: requests × nanoseconds.
    pub inside_ns: u64,
}

impl StageGauge {
    /// A request came in.
    pub fn enter(&self, at: Stamp) {
        let mut counts = self.lock();
        counts.advance(at);
        counts.reading.entered += 1;
    }

    /// A request that had come in at `since` went out.
    pub fn leave(&self, since: Stamp, at: Stamp) {
        let mut counts = self.lock();
        counts.advance(at);
        counts.reading.left += 1;
        counts.reading.time_ns = counts.reading.time_ns.saturating_add(at.since(since).0);
    }

    /// What it shows at `now`.
    pub fn read(&self, now: Stamp) -> StageReading {
        let mut counts = self.lock();
        counts.advance(now);
        counts.reading
    }

    /// Nothing panics under the lock, and if it did, what was counted would still be right.
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Those inside have been in until `at`. Stamps of two threads can be a little out of order.
    fn advance(&mut self, at: Stamp) {
        let passed = at.since(self.changed).0;
        let inside = self.reading.inside();
        self.reading.inside_ns = self.reading.inside_ns.saturating_add(inside.saturating_mul(passed));
        self.changed = self.changed.max(at);
    }
}

impl StageReading {
    /// How many are in it.
    pub const fn inside(&self) -> u64 {
        self.entered.saturating_sub(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::{StageGauge, StageReading};
    use crate::timeline::Stamp;

    #[test]
    fn two_that_overlap_are_summed_over_time() {
        let gauge = StageGauge::default();
        gauge.enter(Stamp(100));
        gauge.enter(Stamp(150));
        gauge.leave(Stamp(100), Stamp(200));
        let reading = StageReading { entered: 2, left: 1, time_ns: 100, inside_ns: 50 + 2 * 50 + 10 };
        assert_eq!(gauge.read(Stamp(210)), reading);
        assert_eq!(reading.inside(), 1);
    }

    #[test]
    fn a_stamp_that_is_a_little_old_takes_nothing_back() {
        let gauge = StageGauge::default();
        gauge.enter(Stamp(100));
        gauge.leave(Stamp(100), Stamp(200));
        gauge.enter(Stamp(190));
        assert_eq!(gauge.read(Stamp(210)).inside_ns, 110);
    }
}
