//! The gap record while its stream runs: atomics with one writer and any number of readers.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};

use super::GapRecord;
use super::bins::{Bins, COARSE, FINE};

/// One stream's gaps, written by its relay and read by the pipeline's tick.
///
/// There is one writer, so that a plain load and store does for an addition. A reader may see a
/// gap in one part and not yet in another; the next reading has it.
#[derive(Debug)]
#[repr(C)]
pub struct GapCell {
    // The totals side by side: they are touched together, and a stream's memory is cold.
    itl: Totals,
    inter_chunk: Totals,
    itl_bins: [AtomicU16; FINE.len()],
    inter_chunk_bins: [AtomicU16; COARSE.len()],
}

impl Default for GapCell {
    fn default() -> Self {
        Self {
            itl: Totals::default(),
            inter_chunk: Totals::default(),
            itl_bins: [const { AtomicU16::new(0) }; FINE.len()],
            inter_chunk_bins: [const { AtomicU16::new(0) }; COARSE.len()],
        }
    }
}

impl GapCell {
    /// Adds the gap before a chunk that carried `tokens` tokens (at least one).
    pub fn add(&self, gap_ns: u64, tokens: u32) {
        let tokens = tokens.max(1);
        let per_token = gap_ns / u64::from(tokens);
        self.inter_chunk.add(gap_ns, 1);
        count(&self.inter_chunk_bins[COARSE.index(gap_ns)], 1);
        self.itl.add(per_token, tokens);
        count(&self.itl_bins[FINE.index(per_token)], tokens);
    }

    /// The gaps so far.
    pub fn read(&self) -> GapRecord {
        GapRecord {
            itl: self.itl.read(&self.itl_bins),
            inter_chunk: self.inter_chunk.read(&self.inter_chunk_bins),
        }
    }
}

/// Bins of 16 bits, to keep a stream's record within 1 KiB.
fn count(bin: &AtomicU16, times: u32) {
    let times = u16::try_from(times).unwrap_or(u16::MAX);
    bin.store(bin.load(Relaxed).saturating_add(times), Relaxed);
}

#[derive(Debug, Default)]
struct Totals {
    count: AtomicU64,
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
}

impl Totals {
    fn add(&self, nanos: u64, times: u32) {
        let add = |cell: &AtomicU64, n: u64| cell.store(cell.load(Relaxed).saturating_add(n), Relaxed);
        add(&self.count, times.into());
        add(&self.sum_ns, nanos.saturating_mul(times.into()));
        if nanos > self.max_ns.load(Relaxed) {
            self.max_ns.store(nanos, Relaxed);
        }
    }

    fn read(&self, bins: &[AtomicU16]) -> Bins {
        let counts = bins.iter().map(|bin| u32::from(bin.load(Relaxed)));
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
    use super::{FINE, GapCell};
    use crate::timeline::Offset;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_cell_stays_within_one_kibibyte() {
        assert!(size_of::<GapCell>() <= 1024, "{}", size_of::<GapCell>());
    }

    #[test]
    fn a_chunk_of_four_tokens_is_four_gaps_of_a_quarter() {
        let cell = GapCell::default();
        cell.add(40 * MS, 4);
        cell.add(10 * MS, 1);
        let record = cell.read();
        assert_eq!(record.inter_chunk.count, 2);
        assert_eq!(record.inter_chunk.max(), Some(Offset(40 * MS)));
        assert_eq!(record.itl.count, 5);
        assert_eq!(record.itl.mean(), Some(Offset(10 * MS)));
        assert_eq!(record.itl.slots.as_ref(), [(FINE.index(10 * MS) as u16, 5)]);
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
    fn more_gaps_than_a_bin_holds_are_still_counted() {
        let cell = GapCell::default();
        for _ in 0..70_000 {
            cell.add(MS, 1);
        }
        let record = cell.read();
        assert_eq!(record.itl.slots.as_ref(), [(FINE.index(MS) as u16, 70_000)]);
        assert_eq!(record.itl.mean(), Some(Offset(MS)));
    }
}
