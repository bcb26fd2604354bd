//! Log-linear bins: every octave of time is cut into equal parts.
//!
//! The grain is 1/1024 ms, so that 1, 2, 4, 8 … ms and their simple fractions (1.25, 1.5, 20, 25,
//! 50, 100 ms) are edges of bins: histograms with such boundaries fold out of the bins exactly.

use serde::{Deserialize, Serialize};

use super::grid;
use crate::timeline::Offset;

/// How finely octaves are cut: 2^`sub_bits` bins each. A value at or above `2^(sub_bits + groups
/// − 1)` grains falls into the last bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    sub_bits: u32,
    groups: usize,
}

/// The scale of every [`Bins`]: 64 bins an octave, up to 131 s. A bin is at most 1.6 % wide, so that its
/// middle is within 0.8 % of all that is in it; below 64 grains it is one grain wide.
pub const SCALE: Scale = Scale::new(6, 22);

impl Scale {
    /// A scale of `groups` octaves, the first of them from zero on, each cut into 2^`sub_bits` bins.
    pub const fn new(sub_bits: u32, groups: usize) -> Self {
        Self { sub_bits, groups }
    }

    /// How many bins there are.
    pub const fn len(self) -> usize {
        self.groups << self.sub_bits
    }

    /// Always false: a scale has bins.
    pub const fn is_empty(self) -> bool {
        self.groups == 0
    }

    /// The bin that holds a length of time.
    pub const fn index(self, nanos: u64) -> usize {
        let index = grid::bin(grid::grains(nanos), self.sub_bits);
        if index < self.len() { index } else { self.len() - 1 }
    }

    /// The middle of a bin in nanoseconds.
    pub const fn middle(self, index: usize) -> u64 {
        self.lower_edge(index).midpoint(self.lower_edge(index + 1))
    }

    /// The lower edge of a bin in nanoseconds, rounded up to the first nanosecond inside it. Beyond the last
    /// bin: where that ends.
    pub const fn lower_edge(self, index: usize) -> u64 {
        let index = if index < self.len() { index } else { self.len() };
        let (grains, _) = grid::extent(index, self.sub_bits);
        (grains * 125_000).div_ceil(128)
    }
}

/// Counts by bin, sparse, with the exact number, sum and greatest of what was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bins {
    /// How many lengths of time were counted.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub sum_ns: u64,
    /// The greatest of them in nanoseconds. In a difference of two readings: of the later one.
    pub max_ns: u64,
    /// (bin of [`SCALE`], count) in rising order of bins, without empty bins.
    pub slots: Box<[(u16, u32)]>,
}

impl Bins {
    /// The mean, exact; absent when nothing was counted.
    pub fn mean(&self) -> Option<Offset> {
        self.sum_ns.checked_div(self.count).map(Offset)
    }

    /// The greatest, exact; absent when nothing was counted.
    pub fn max(&self) -> Option<Offset> {
        (self.count > 0).then_some(Offset(self.max_ns))
    }

    /// The `q`-quantile (0 ≤ q ≤ 1) by nearest rank: the middle of the bin that holds it, never above the
    /// greatest value. So it is within half a bin, 0.8 %, of the exact one, wherever in their bin the values
    /// lie; beyond the last edge, 131 s, it is too low. Absent when nothing was counted.
    pub fn quantile(&self, q: f64) -> Option<Offset> {
        let total: u64 = self.slots.iter().map(|&(_, n)| u64::from(n)).sum();
        if total == 0 {
            return None;
        }
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
        let mut up_to = 0;
        let holds = |&&(_, n): &&(u16, u32)| {
            up_to += u64::from(n);
            up_to >= rank
        };
        let &(bin, _) = self.slots.iter().find(holds)?;
        Some(Offset(SCALE.middle(bin.into()).min(self.max_ns)))
    }

    /// What was counted since `earlier`, a reading of the same bins.
    pub fn since(&self, earlier: &Bins) -> Bins {
        let mut before = earlier.slots.iter().copied().peekable();
        let slots = self
            .slots
            .iter()
            .filter_map(|&(bin, n)| {
                while before.peek().is_some_and(|&(b, _)| b < bin) {
                    before.next();
                }
                let old = before.next_if(|&(b, _)| b == bin).map_or(0, |(_, n)| n);
                (n > old).then(|| (bin, n - old))
            })
            .collect();
        Bins {
            count: self.count.saturating_sub(earlier.count),
            sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns),
            max_ns: self.max_ns,
            slots,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Bins, SCALE};
    use crate::timeline::Offset;

    #[test]
    fn round_milliseconds_are_edges() {
        for ms in [1_u64, 2, 4, 5, 8, 10, 20, 25, 28, 40, 50, 56, 80, 100, 112, 160, 200, 400] {
            let nanos = ms * 1_000_000;
            assert_eq!(SCALE.lower_edge(SCALE.index(nanos)), nanos, "{ms} ms");
        }
    }

    #[test]
    fn the_last_bin_begins_below_131_s_and_takes_all_that_is_longer() {
        let last = SCALE.len() - 1;
        assert_eq!(last, 1407);
        // 127/128 of 2^27 grains, and 2^27 grains.
        assert_eq!((SCALE.lower_edge(last), SCALE.lower_edge(last + 1)), (130_048_000_000, 131_072_000_000));
        assert_eq!(SCALE.index(3_600_000_000_000), last);
        assert_eq!(SCALE.index(u64::MAX), last);
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Bins::default().quantile(0.5), None);
        assert_eq!(Bins::default().mean(), None);
        assert_eq!(Bins::default().max(), None);
    }

    /// Between 16 and 32 ms a bin is 0.25 ms wide.
    #[test]
    fn a_quantile_is_the_middle_of_its_bin() {
        let bin = SCALE.index(20_000_000) as u16;
        let bins = |max_ns| Bins { count: 3, sum_ns: 60_000_000, max_ns, slots: [(bin, 3)].into() };
        assert_eq!(bins(20_249_000).quantile(0.99), Some(Offset(20_125_000)));
        assert_eq!(bins(20_000_000).quantile(0.01), Some(Offset(20_000_000)));
    }

    proptest! {
        #[test]
        fn a_value_lies_within_its_bin(nanos in 0_u64..131_000_000_000) {
            let bin = SCALE.index(nanos);
            prop_assert!(SCALE.lower_edge(bin) <= nanos);
            prop_assert!(nanos < SCALE.lower_edge(bin + 1));
        }

        #[test]
        fn quantiles_are_within_half_a_bin_of_the_exact_ones(mut values in prop::collection::vec(62_500_u64..131_000_000_000, 1..200)) {
            let mut counts = vec![0_u32; SCALE.len()];
            for &v in &values { counts[SCALE.index(v)] += 1; }
            values.sort_unstable();
            let bins = Bins {
                count: values.len() as u64,
                sum_ns: values.iter().sum(),
                max_ns: *values.last().unwrap(),
                slots: counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, &n)| (i as u16, n)).collect(),
            };
            for q in [0.5, 0.95, 0.99] {
                let rank = ((q * values.len() as f64).ceil() as usize).max(1);
                let exact = values[rank - 1] as f64;
                let Offset(found) = bins.quantile(q).unwrap();
                prop_assert!((found as f64 - exact).abs() <= exact * 0.0079, "{found} for {exact}");
            }
        }
    }
}
