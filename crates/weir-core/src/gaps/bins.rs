//! Log-linear bins: every octave of time is cut into equal parts.
//!
//! The grain is 1/1024 ms, so that 1, 2, 4, 8 … ms and their simple fractions (1.25, 1.5, 20, 25,
//! 50, 100 ms) are edges of bins: histograms with such boundaries fold out of the bins exactly.

use serde::{Deserialize, Serialize};

use crate::timeline::Offset;

/// How finely octaves are cut: 2^`sub_bits` bins each. A value at or above `2^(sub_bits + groups
/// − 1)` grains falls into the last bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    sub_bits: u32,
    groups: usize,
}

/// 16 bins an octave (a bin is at most 6.25 % wide), up to 131 s.
pub const FINE: Scale = Scale { sub_bits: 4, groups: 24 };

/// 4 bins an octave (a bin is at most 25 % wide), up to 131 s.
pub const COARSE: Scale = Scale { sub_bits: 2, groups: 26 };

impl Scale {
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
        let grains = nanos.saturating_mul(128) / 125_000;
        if grains >> self.sub_bits == 0 {
            return grains as usize;
        }
        let octave = grains.ilog2() - self.sub_bits;
        // `grains >> octave` lies between one and two times 2^sub_bits.
        let index = ((octave as usize) << self.sub_bits) + (grains >> octave) as usize;
        if index < self.len() { index } else { self.len() - 1 }
    }

    /// The lower edge of a bin in nanoseconds, rounded up to the first nanosecond inside it.
    pub const fn lower_edge(self, index: usize) -> u64 {
        let parts = 1 << self.sub_bits;
        let grains = if index < parts {
            index as u64
        } else {
            let octave = (index >> self.sub_bits) - 1;
            ((parts + (index & (parts - 1))) as u64) << octave
        };
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
    /// (bin, count) in rising order of bins, without empty bins.
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

    /// The `q`-quantile (0 ≤ q ≤ 1) by nearest rank, placed inside its bin by linear
    /// interpolation and never above the greatest value. Absent when nothing was counted.
    pub fn quantile(&self, scale: Scale, q: f64) -> Option<Offset> {
        let total: u64 = self.slots.iter().map(|&(_, n)| u64::from(n)).sum();
        if total == 0 {
            return None;
        }
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
        let mut below = 0;
        for &(bin, n) in &self.slots {
            if below + u64::from(n) >= rank {
                let (from, to) = (scale.lower_edge(bin.into()), scale.lower_edge(usize::from(bin) + 1));
                let share = ((rank - below) as f64 - 0.5) / f64::from(n);
                let value = from + ((to - from) as f64 * share) as u64;
                return Some(Offset(value.min(self.max_ns)));
            }
            below += u64::from(n);
        }
        Some(Offset(self.max_ns))
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

    use super::{Bins, COARSE, FINE};
    use crate::timeline::Offset;

    #[test]
    fn round_milliseconds_are_edges() {
        for ms in [1_u64, 2, 4, 5, 8, 10, 20, 25, 40, 50, 80, 100, 200, 400] {
            let nanos = ms * 1_000_000;
            assert_eq!(FINE.lower_edge(FINE.index(nanos)), nanos, "{ms} ms");
        }
        for ms in [1_u64, 2, 4, 5, 8, 10, 20, 40, 80, 160] {
            let nanos = ms * 1_000_000;
            assert_eq!(COARSE.lower_edge(COARSE.index(nanos)), nanos, "{ms} ms");
        }
    }

    #[test]
    fn an_hour_falls_into_the_last_bin() {
        assert_eq!(FINE.index(3_600_000_000_000), FINE.len() - 1);
        assert_eq!(COARSE.index(u64::MAX), COARSE.len() - 1);
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Bins::default().quantile(FINE, 0.5), None);
        assert_eq!(Bins::default().mean(), None);
        assert_eq!(Bins::default().max(), None);
    }

    proptest! {
        #[test]
        fn a_value_lies_within_its_bin(nanos in 0_u64..131_000_000_000) {
            for scale in [FINE, COARSE] {
                let bin = scale.index(nanos);
                prop_assert!(scale.lower_edge(bin) <= nanos);
                prop_assert!(nanos < scale.lower_edge(bin + 1));
            }
        }

        #[test]
        fn quantiles_are_within_one_bin_of_the_exact_ones(mut values in prop::collection::vec(1_000_000_u64..10_000_000_000, 1..200)) {
            let mut counts = vec![0_u32; FINE.len()];
            for &v in &values { counts[FINE.index(v)] += 1; }
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
                let Offset(found) = bins.quantile(FINE, q).unwrap();
                prop_assert!((found as f64 - exact).abs() <= exact * 0.0626, "{found} for {exact}");
            }
        }
    }
}
