//! Sums over windows that end now: a ring of cells of one length.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Moment;

/// What can be summed.
pub(super) trait Add {
    /// Adds another.
    fn add(&mut self, other: &Self);
}

/// Cells of one length, the oldest first. Those that nothing fell into are not kept.
#[derive(Clone, Debug)]
pub(super) struct Sliding<T> {
    cell: Duration,
    most: u64,
    cells: VecDeque<(u64, T)>,
}

impl<T: Add + Default> Sliding<T> {
    /// For windows of at most `span`.
    pub(super) fn new(cell: Duration, span: Duration) -> Self {
        let most = span.as_nanos().div_ceil(cell.as_nanos().max(1));
        Self { cell, most: u64::try_from(most).unwrap_or(u64::MAX), cells: VecDeque::new() }
    }

    /// The cell of this moment. One before the last cell falls into the last.
    pub(super) fn at(&mut self, now: Moment) -> &mut T {
        let last = self.cells.back().map_or(0, |(period, _)| *period);
        let period = now.periods(self.cell).max(last);
        while self.cells.front().is_some_and(|(first, _)| first.saturating_add(self.most) <= period) {
            self.cells.pop_front();
        }
        if self.cells.is_empty() || period > last {
            self.cells.push_back((period, T::default()));
        }
        let place = self.cells.len() - 1;
        &mut self.cells[place].1
    }

    /// The sum over the last cells of this length, the one that is not over included.
    pub(super) fn sum(&self, now: Moment, length: Duration) -> T {
        let cells = length.as_nanos().div_ceil(self.cell.as_nanos().max(1));
        let cells = u64::try_from(cells).unwrap_or(u64::MAX);
        let period = now.periods(self.cell);
        let mut sum = T::default();
        let within = self.cells.iter().rev().skip_while(|(at, _)| *at > period);
        within.take_while(|(at, _)| at.saturating_add(cells) > period).for_each(|(_, cell)| sum.add(cell));
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Add, Sliding};
    use crate::time::Moment;

    impl Add for u64 {
        fn add(&mut self, other: &Self) {
            *self += other;
        }
    }

    fn second(n: u64) -> Moment {
        Moment(n * 1_000_000_000)
    }

    #[test]
    fn a_window_holds_its_last_cells() {
        let mut sums = Sliding::<u64>::new(Duration::from_secs(1), Duration::from_secs(60));
        for n in 100..300 {
            *sums.at(second(n)) += n;
        }
        assert_eq!(sums.cells.len(), 60);
        let last = |length| sums.sum(second(299), Duration::from_secs(length));
        assert_eq!((last(1), last(2)), (299, 597));
        assert_eq!(last(60), (240..300).sum::<u64>());
        assert_eq!(sums.sum(second(310), Duration::from_secs(60)), (251..300).sum::<u64>());
        assert_eq!(sums.sum(second(400), Duration::from_secs(60)), 0);
    }

    #[test]
    fn what_comes_late_falls_into_the_last_cell() {
        let mut sums = Sliding::<u64>::new(Duration::from_secs(1), Duration::from_secs(60));
        *sums.at(second(10)) += 1;
        *sums.at(second(3)) += 2;
        assert_eq!((sums.cells.len(), sums.sum(second(10), Duration::from_secs(1))), (1, 3));
    }
}
