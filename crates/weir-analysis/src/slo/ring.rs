//! Counts by periods of time: as many of the newest periods as there are slots.

use super::keep::Change;

/// What `N` counters counted in one period.
#[derive(Clone, Copy, Debug)]
struct Slot<const N: usize> {
    counts: [u64; N],
    /// Counted to since it was last given out.
    changed: bool,
    /// A store holds a row of it.
    stored: bool,
}

/// A ring of slots, one a period. Periods are numbered from the Unix epoch. What is older than the ring is
/// long is dropped.
#[derive(Clone, Debug)]
pub(super) struct Ring<const N: usize> {
    slots: Box<[Slot<N>]>,
    newest: u64,
    /// Periods that are gone here and not yet in the store. Each was stored, so that there are no more of
    /// them between two looks than there are slots.
    expired: Vec<u64>,
}

impl<const N: usize> Ring<N> {
    pub(super) fn new(length: usize, newest: u64) -> Self {
        let empty = Slot { counts: [0; N], changed: false, stored: false };
        Self { slots: vec![empty; length.max(1)].into(), newest, expired: Vec::new() }
    }

    /// Counts to a period. False: it is older than the ring goes back.
    pub(super) fn add(&mut self, period: u64, counts: &[u64; N]) -> bool {
        self.advance(period);
        let Some(slot) = self.slot(period) else { return false };
        slot.changed = true;
        for (sum, count) in slot.counts.iter_mut().zip(counts) {
            *sum = sum.saturating_add(*count);
        }
        true
    }

    /// Makes room up to a period; at most once around, however far it lies ahead.
    pub(super) fn advance(&mut self, period: u64) {
        let length = self.length();
        let steps = period.saturating_sub(self.newest).min(length);
        for step in 1..=steps {
            let Some(gone) = (self.newest + step).checked_sub(length) else { continue };
            let slot = &mut self.slots[(gone % length) as usize];
            if slot.stored {
                self.expired.push(gone);
            }
            *slot = Slot { counts: [0; N], changed: false, stored: false };
        }
        self.newest = self.newest.max(period);
    }

    /// What was counted in the `periods` periods of which `last` is the last.
    pub(super) fn sum(&self, last: u64, periods: u64) -> [u64; N] {
        let oldest = (self.newest + 1).saturating_sub(self.length());
        let from = (last + 1).saturating_sub(periods).max(oldest);
        let mut sums = [0; N];
        for period in from..=last.min(self.newest) {
            let counts = &self.slots[(period % self.length()) as usize].counts;
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        sums
    }

    /// Takes back what a store held of a period. False: there is no place for it any more.
    pub(super) fn restore(&mut self, period: u64, counts: &[u64; N]) -> bool {
        self.advance(period);
        let fits = self.slot(period).is_some();
        if !fits {
            // What does not fit in here goes when it comes from the store the next time.
            if self.expired.len() < self.slots.len() {
                self.expired.push(period);
            }
            return false;
        }
        let untouched = self.slot(period).is_some_and(|slot| !slot.changed);
        self.add(period, counts);
        if let Some(slot) = self.slot(period) {
            slot.changed = !untouched;
            slot.stored = true;
        }
        true
    }

    /// What changed since the last look, by period; `None` for what is gone.
    pub(super) fn changes(&mut self) -> Vec<Change<N>> {
        let length = self.length();
        let mut changes: Vec<_> = self.expired.drain(..).map(|period| (period, None)).collect();
        let oldest = (self.newest + 1).saturating_sub(length);
        for period in oldest..=self.newest {
            let slot = &mut self.slots[(period % length) as usize];
            if slot.changed {
                (slot.changed, slot.stored) = (false, true);
                changes.push((period, Some(slot.counts)));
            }
        }
        changes
    }

    fn slot(&mut self, period: u64) -> Option<&mut Slot<N>> {
        let length = self.length();
        let kept = period <= self.newest && self.newest - period < length;
        kept.then(|| &mut self.slots[(period % length) as usize])
    }

    const fn length(&self) -> u64 {
        self.slots.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn a_period_leaves_when_the_ring_has_gone_around() {
        let mut ring = Ring::<1>::new(3, 10);
        assert!(ring.add(10, &[5]));
        assert!(ring.add(12, &[7]));
        assert_eq!(ring.sum(12, 3), [12]);
        assert_eq!(ring.sum(12, 2), [7]);
        assert_eq!(ring.sum(11, 2), [5]);
        ring.advance(13);
        assert_eq!(ring.sum(13, 3), [7]);
        assert!(!ring.add(10, &[1]), "older than the ring goes back");
        assert!(ring.add(11, &[1]), "slightly backwards");
        assert_eq!(ring.sum(13, 99), [8]);
    }

    #[test]
    fn a_far_jump_leaves_nothing_behind() {
        let mut ring = Ring::<1>::new(3, 0);
        ring.add(0, &[1]);
        ring.add(1, &[1]);
        assert_eq!(ring.changes(), [(0, Some([1])), (1, Some([1]))]);
        ring.advance(1_000_000_000);
        assert_eq!(ring.sum(1_000_000_000, 3), [0]);
        assert_eq!(ring.changes(), [(0, None), (1, None)]);
        assert_eq!(ring.changes(), []);
    }

    #[test]
    fn only_what_changed_is_given_out() {
        let mut ring = Ring::<1>::new(3, 10);
        ring.add(10, &[1]);
        assert_eq!(ring.changes(), [(10, Some([1]))]);
        ring.add(11, &[1]);
        ring.add(11, &[1]);
        assert_eq!(ring.changes(), [(11, Some([2]))]);
        // One that was never stored needs no deletion.
        ring.add(12, &[1]);
        ring.advance(15);
        assert_eq!(ring.changes(), [(10, None), (11, None)]);
    }

    #[test]
    fn what_is_restored_adds_up_and_is_not_given_out_again() {
        let mut ring = Ring::<1>::new(3, 10);
        assert!(ring.restore(9, &[4]));
        assert_eq!(ring.changes(), []);
        ring.add(9, &[1]);
        assert_eq!(ring.changes(), [(9, Some([5]))]);
        ring.add(10, &[1]);
        assert!(ring.restore(10, &[2]));
        assert_eq!(ring.changes(), [(10, Some([3]))]);
        assert!(!ring.restore(7, &[1]));
        assert_eq!(ring.changes(), [(7, None)]);
    }
}
