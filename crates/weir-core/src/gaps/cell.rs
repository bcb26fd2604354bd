//! The gap record while its stream runs: atomics with one writer and any number of readers.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU16, AtomicU64, fence};

use super::GapRecord;
use super::bins::{Bins, SCALE};

/// One stream's gaps, written by its relay and read by the pipeline's tick.
///
/// There is one writer, so that a plain load and store does for an addition. A reader may see a
/// gap in one part and not yet in another; the next reading has it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct GapCell {
    itl: Counts,
    /// From chunk to chunk, once a chunk carried another number of tokens than one. Until then that is the
    /// same as `itl`.
    apart: OnceLock<Box<Counts>>,
}

impl GapCell {
    /// Adds the gap before a chunk that carried `tokens` tokens (at least one). Allocates once: at the first
    /// chunk with more than one.
    #[inline]
    pub fn add(&self, gap_ns: u64, tokens: u32) {
        if tokens <= 1 && self.apart.get().is_none() {
            self.itl.add(gap_ns, 1);
        } else {
            self.add_apart(gap_ns, tokens.max(1));
        }
    }

    fn add_apart(&self, gap_ns: u64, tokens: u32) {
        let apart = match self.apart.get() {
            Some(apart) => apart,
            None => self.part(),
        };
        apart.add(gap_ns, 1);
        self.itl.add(gap_ns / u64::from(tokens), tokens);
    }

    /// From here on the gaps from chunk to chunk are counted apart. They go on from what is true of both.
    #[cold]
    fn part(&self) -> &Counts {
        let apart = self.apart.get_or_init(|| Box::new(self.itl.copy()));
        // Who sees anything that is counted from here on sees `apart` too: with the other fence.
        fence(Release);
        apart
    }

    /// The gaps so far.
    pub fn read(&self) -> GapRecord {
        // Before `apart`: where that is not yet seen, this is true of both.
        let itl = self.itl.read();
        fence(Acquire);
        let inter_chunk = match self.apart.get() {
            Some(apart) => apart.read(),
            None => itl.clone(),
        };
        GapRecord { itl, inter_chunk }
    }
}

#[derive(Debug)]
#[repr(C)]
struct Counts {
    // Side by side: they are touched together, and a stream's memory is cold.
    count: AtomicU64,
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
    /// Of 16 bits, to keep a stream's record small.
    bins: [AtomicU16; SCALE.len()],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            sum_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
            bins: [const { AtomicU16::new(0) }; SCALE.len()],
        }
    }
}

impl Counts {
    fn add(&self, nanos: u64, times: u32) {
        let add = |cell: &AtomicU64, n: u64| cell.store(cell.load(Relaxed).saturating_add(n), Relaxed);
        add(&self.count, times.into());
        add(&self.sum_ns, nanos.saturating_mul(times.into()));
        if nanos > self.max_ns.load(Relaxed) {
            self.max_ns.store(nanos, Relaxed);
        }
        let bin = &self.bins[SCALE.index(nanos)];
        let times = u16::try_from(times).unwrap_or(u16::MAX);
        bin.store(bin.load(Relaxed).saturating_add(times), Relaxed);
    }

    fn copy(&self) -> Self {
        Self {
            count: self.count.load(Relaxed).into(),
            sum_ns: self.sum_ns.load(Relaxed).into(),
            max_ns: self.max_ns.load(Relaxed).into(),
            bins: std::array::from_fn(|bin| self.bins[bin].load(Relaxed).into()),
        }
    }

    fn read(&self) -> Bins {
        let counts = self.bins.iter().map(|bin| u32::from(bin.load(Relaxed)));
        let mut slots: Vec<(u16, u32)> = (0..).zip(counts).filter(|(_, n)| *n > 0).collect();
        let count = self.count.load(Relaxed);
        restore_saturated(&mut slots, count);
        Bins {
            count,
            sum_ns: self.sum_ns.load(Relaxed),
            max_ns: self.max_ns.load(Relaxed),
            slots: slots.into(),
        }
    }
}

/// A bin stands still at 65,535. What `count` knows beyond the bins belongs to such a bin, so it
/// is put back there: exact unless a single stream filled two of them.
fn restore_saturated(slots: &mut [(u16, u32)], count: u64) {
    let binned: u64 = slots.iter().map(|&(_, n)| u64::from(n)).sum();
    let missing = u32::try_from(count.saturating_sub(binned)).unwrap_or(u32::MAX);
    if let Some((_, n)) = slots.iter_mut().find(|(_, n)| *n == u32::from(u16::MAX)) {
        *n = n.saturating_add(missing);
    }
}

#[cfg(test)]
mod tests {
    use super::{GapCell, SCALE};
    use crate::gaps::Bins;
    use crate::timeline::Offset;

    const MS: u64 = 1_000_000;

    fn bin(ms: u64) -> u16 {
        SCALE.index(ms * MS) as u16
    }

    #[test]
    fn a_cell_takes_three_kibibytes_and_six_once_parted() {
        let (cell, apart) = (size_of::<GapCell>(), size_of::<super::Counts>());
        assert!(cell <= 3 << 10, "{cell}");
        assert!(cell + apart <= 6 << 10, "{cell} and {apart}");
    }

    #[test]
    fn with_one_token_a_chunk_both_are_the_same_bins() {
        let cell = GapCell::default();
        cell.add(10 * MS, 1);
        cell.add(20 * MS, 0);
        let record = cell.read();
        assert_eq!(record.itl, record.inter_chunk);
        assert_eq!(record.itl.slots.as_ref(), [(bin(10), 1), (bin(20), 1)]);
        assert!(cell.apart.get().is_none());
    }

    #[test]
    fn a_chunk_of_four_tokens_is_four_gaps_of_a_quarter() {
        let cell = GapCell::default();
        cell.add(40 * MS, 4);
        cell.add(10 * MS, 1);
        let record = cell.read();
        assert_eq!(record.inter_chunk.count, 2);
        assert_eq!(record.inter_chunk.max(), Some(Offset(40 * MS)));
        assert_eq!(record.inter_chunk.slots.as_ref(), [(bin(10), 1), (bin(40), 1)]);
        assert_eq!(record.itl.count, 5);
        assert_eq!(record.itl.mean(), Some(Offset(10 * MS)));
        assert_eq!(record.itl.slots.as_ref(), [(bin(10), 5)]);
    }

    #[test]
    fn a_difference_of_readings_is_what_came_between() {
        let cell = GapCell::default();
        cell.add(10 * MS, 1);
        let earlier = cell.read();
        cell.add(20 * MS, 1);
        cell.add(10 * MS, 1);
        let between = cell.read().since(&earlier);
        assert_eq!(between.itl.count, 2);
        assert_eq!(between.itl.sum_ns, 30 * MS);
        assert_eq!(between.itl.slots.len(), 2);
        assert!(cell.read().since(&cell.read()).is_empty());
    }

    #[test]
    fn a_difference_across_the_parting_is_what_came_between() {
        let cell = GapCell::default();
        for ms in [10, 10, 30] {
            cell.add(ms * MS, 1);
        }
        let earlier = cell.read();
        cell.add(10 * MS, 1);
        cell.add(30 * MS, 3);
        cell.add(40 * MS, 1);
        let between = cell.read().since(&earlier);
        let itl =
            Bins { count: 5, sum_ns: 80 * MS, max_ns: 40 * MS, slots: [(bin(10), 4), (bin(40), 1)].into() };
        assert_eq!(between.itl, itl);
        let inter_chunk = Bins {
            count: 3,
            sum_ns: 80 * MS,
            max_ns: 40 * MS,
            slots: [(bin(10), 1), (bin(30), 1), (bin(40), 1)].into(),
        };
        assert_eq!(between.inter_chunk, inter_chunk);
    }

    /// Whenever a reader looks, what it sees of the gaps from chunk to chunk is what was added: the
    /// differences of its readings add up, though it may look while the writer parts the bins.
    #[test]
    fn readings_add_up_whenever_they_are_made() {
        for _ in 0..200 {
            let cell = GapCell::default();
            let mut seen = GapCell::default().read();
            let mut slots = std::collections::BTreeMap::<u16, u32>::new();
            let mut look = || {
                let now = cell.read();
                let between = now.since(&seen);
                between.inter_chunk.slots.iter().for_each(|&(bin, n)| *slots.entry(bin).or_default() += n);
                seen = now;
            };
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    (0..20).for_each(|_| cell.add(10 * MS, 1));
                    (0..20).for_each(|_| cell.add(40 * MS, 4));
                });
                while !writer.is_finished() {
                    look();
                }
            });
            look();
            assert_eq!(slots.into_iter().collect::<Vec<_>>(), [(bin(10), 20), (bin(40), 20)]);
        }
    }

    #[test]
    fn more_gaps_than_a_bin_holds_are_still_counted() {
        let cell = GapCell::default();
        for _ in 0..70_000 {
            cell.add(MS, 1);
        }
        let record = cell.read();
        assert_eq!(record.itl.slots.as_ref(), [(bin(1), 70_000)]);
        assert_eq!(record.itl.mean(), Some(Offset(MS)));
        cell.add(2 * MS, 2);
        let record = cell.read();
        assert_eq!(record.itl.slots.as_ref(), [(bin(1), 70_002)]);
        assert_eq!(record.inter_chunk.slots.as_ref(), [(bin(1), 70_000), (bin(2), 1)]);
    }
}
