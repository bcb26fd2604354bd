//! Histograms with fixed bounds, fit for what they measure.

use weir_core::gaps::{Bins, Scale};
use weir_core::timeline::Offset;

/// Upper bounds of the buckets of request latencies: 1 ms to 10 minutes.
pub(crate) const LATENCY: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0,
    5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];

/// Upper bounds for the time per token. Each is an edge of [`weir_core::gaps::FINE`]'s bins.
pub(crate) const PER_TOKEN: &[f64] = &[
    0.000_5, 0.001, 0.002, 0.003, 0.004, 0.005, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06,
    0.08, 0.1, 0.16, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2,
];

/// Upper bounds for the time per chunk. Each is an edge of [`weir_core::gaps::COARSE`]'s bins.
pub(crate) const PER_CHUNK: &[f64] = &[
    0.000_5, 0.001, 0.002, 0.003, 0.005, 0.008, 0.01, 0.016, 0.02, 0.028, 0.04, 0.056, 0.08, 0.112, 0.16,
    0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/// Upper bounds for the time that Weir itself takes: 10 µs to 1 s.
pub(crate) const OVERHEAD: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_2, 0.000_3, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 1.0,
];

/// Upper bounds for tokens per second.
pub(crate) const SPEED: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 125.0, 150.0, 200.0, 300.0,
    400.0, 600.0, 1000.0, 2000.0,
];

/// Upper bounds for the lags of Weir's own parts: 0.1 ms to 10 s.
pub(crate) const LAG: &[f64] =
    &[0.000_1, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Counts by bucket. `counts` has one more than there are bounds: for what lies above the last.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    counts: Box<[u64]>,
    sum: f64,
}

impl Histogram {
    /// An empty histogram.
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1].into(), sum: 0.0 }
    }

    /// One of which the counts were kept elsewhere, one more than there are bounds.
    pub(crate) fn from_parts(bounds: &'static [f64], counts: Box<[u64]>, sum: f64) -> Self {
        Self { bounds, counts, sum }
    }

    /// Counts a value. What is not a number is not counted.
    pub(crate) fn observe(&mut self, value: f64) {
        if value.is_finite() {
            self.counts[self.bounds.partition_point(|&bound| bound < value)] += 1;
            self.sum += value;
        }
    }

    /// Counts a value, if there is one.
    pub(crate) fn observe_some(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.observe(value);
        }
    }

    /// Counts a length of time, if there is one.
    pub(crate) fn observe_time(&mut self, time: Option<Offset>) {
        self.observe_some(time.map(Offset::as_secs_f64));
    }

    /// Counts all that is in `bins`. A bin ends below its upper edge and a bucket at its bound:
    /// a gap of exactly a bound is counted in the bucket above.
    pub(crate) fn fold(&mut self, bins: &Bins, scale: Scale) {
        for &(bin, n) in &bins.slots {
            let edge = scale.lower_edge(bin.into());
            let bucket = self.bounds.partition_point(|&bound| nanos(bound) <= edge);
            self.counts[bucket] += u64::from(n);
        }
        self.sum += Offset(bins.sum_ns).as_secs_f64();
    }

    /// The upper bounds, each with how many values lie at or below it.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut below = 0;
        self.bounds.iter().zip(&self.counts).map(move |(&bound, n)| {
            below += n;
            (bound, below)
        })
    }

    /// How many values were counted.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use weir_core::gaps::{COARSE, FINE, GapCell};
    use weir_core::timeline::Offset;

    use super::{Histogram, LAG, LATENCY, OVERHEAD, PER_CHUNK, PER_TOKEN, SPEED, nanos};

    #[test]
    fn bounds_rise() {
        for bounds in [LATENCY, PER_TOKEN, PER_CHUNK, OVERHEAD, SPEED, LAG] {
            assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        }
    }

    #[test]
    fn bounds_of_gaps_are_edges_of_bins() {
        for (bounds, scale) in [(PER_TOKEN, FINE), (PER_CHUNK, COARSE)] {
            for &bound in bounds {
                let nanos = nanos(bound);
                assert_eq!(scale.lower_edge(scale.index(nanos)), nanos, "{bound}");
            }
        }
    }

    #[test]
    fn a_value_of_exactly_a_bound_lies_in_its_bucket() {
        let mut histogram = Histogram::new(&[0.001, 0.002]);
        for value in [0.0, 0.001, 0.002, 0.002_000_1, f64::NAN, f64::INFINITY] {
            histogram.observe(value);
        }
        histogram.observe_time(None);
        histogram.observe_time(Some(Offset(1_500_000)));
        let counts: Vec<_> = histogram.cumulative().map(|(_, n)| n).collect();
        assert_eq!(counts, [2, 4]);
        assert_eq!(histogram.count(), 5);
        assert!((histogram.sum() - 0.006_500_1).abs() < 1e-12);
    }

    #[test]
    fn folded_gaps_are_counted_as_if_one_by_one() {
        let gaps: Vec<u64> = (0..5_000_u64).map(|n| (n * n * 977) % 60_000_000_000 + 1).collect();
        let cell = GapCell::default();
        let mut one_by_one = Histogram::new(PER_TOKEN);
        for &gap in &gaps {
            cell.add(gap, 1);
            one_by_one.observe(Offset(gap).as_secs_f64());
        }
        let mut folded = Histogram::new(PER_TOKEN);
        folded.fold(&cell.read().itl, FINE);
        assert_eq!(folded.counts, one_by_one.counts);
        assert!((folded.sum() - one_by_one.sum()).abs() < 1e-6);
        let mut chunks = Histogram::new(PER_CHUNK);
        chunks.fold(&cell.read().inter_chunk, COARSE);
        assert_eq!(chunks.count(), gaps.len() as u64);
    }
}
