//! Histograms: by fixed bounds, and by exponential ones.

use weir_core::gaps::{Bins, SCALE};
use weir_core::timeline::Offset;

use super::exemplar::{Exemplar, Witness};
use super::exponential::{self, Exponential};

/// Bins of [`SCALE`] are up to 1.6 % wide: 32 buckets an octave, each 2.2 % wide, do not claim more.
const BINS_AS_EXPONENTIAL: i32 = 5;

/// Counts by bucket, in two ways: by fixed bounds and, more finely, by exponential ones.
///
/// The counts take at most 160 × 8 bytes for the exponential buckets and 8 for each bound; another 48
/// for each bound once there are exemplars.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    /// One more than there are bounds: for what lies above the last.
    counts: Box<[u64]>,
    exponential: Exponential,
    sum: f64,
    /// The least and the greatest value, as far as they are known.
    min: Option<f64>,
    max: Option<f64>,
    /// By bucket; empty before the first.
    exemplars: Vec<Option<Exemplar>>,
}

impl Histogram {
    /// An empty histogram.
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self::at_scale(bounds, exponential::FINEST)
    }

    /// An empty histogram for what is folded in from bins: its exponential buckets are not narrower than
    /// those.
    pub(crate) fn of_bins(bounds: &'static [f64]) -> Self {
        Self::at_scale(bounds, BINS_AS_EXPONENTIAL)
    }

    fn at_scale(bounds: &'static [f64], scale: i32) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len() + 1].into(),
            exponential: Exponential::new(scale),
            sum: 0.0,
            min: None,
            max: None,
            exemplars: Vec::new(),
        }
    }

    /// Counts a value. What is not a number is not counted.
    pub(crate) fn observe(&mut self, value: f64) {
        self.observe_seen(value, None);
    }

    /// Counts a value, and remembers who saw it, if its trace is kept.
    pub(crate) fn observe_seen(&mut self, value: f64, witness: Option<&Witness>) {
        if !value.is_finite() {
            return;
        }
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        self.counts[bucket] += 1;
        self.exponential.add(value, 1);
        self.sum += value;
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
        if let Some(&witness) = witness {
            self.exemplars.resize(self.counts.len(), None);
            self.exemplars[bucket] = Some(Exemplar { value, witness });
        }
    }

    /// Counts a value, if there is one.
    pub(crate) fn observe_some(&mut self, value: Option<f64>, witness: Option<&Witness>) {
        if let Some(value) = value {
            self.observe_seen(value, witness);
        }
    }

    /// Counts a length of time, if there is one.
    pub(crate) fn observe_time(&mut self, time: Option<Offset>, witness: Option<&Witness>) {
        self.observe_some(time.map(Offset::as_secs_f64), witness);
    }

    /// Counts all that is in `bins`. A bin ends below its upper edge and a bucket at its bound:
    /// a gap of exactly a bound is counted in the bucket above.
    ///
    /// By exponential buckets a bin is counted as a whole where its middle lies. So a gap stands in the
    /// wrong one of two neighbours if an edge parts it from the middle of its bin, which is at most 0.8 %
    /// away; below 64 grains of 1/1024 ms half a grain. What lies beyond the last edge, 131 s, is counted in the last bin.
    pub(crate) fn fold(&mut self, bins: &Bins) {
        for &(bin, n) in &bins.slots {
            let (bin, n) = (usize::from(bin), u64::from(n));
            let edge = SCALE.lower_edge(bin);
            let bucket = self.bounds.partition_point(|&bound| nanos(bound) <= edge);
            self.counts[bucket] += n;
            self.exponential.add(Offset(SCALE.middle(bin)).as_secs_f64(), n);
        }
        self.sum += Offset(bins.sum_ns).as_secs_f64();
        // The least is not known of bins, and the greatest of all pulses of a stream is its greatest.
        if let Some(max) = bins.max().map(Offset::as_secs_f64) {
            self.max = Some(self.max.map_or(max, |before| before.max(max)));
        }
    }

    /// The upper bounds.
    pub(crate) fn bounds(&self) -> &'static [f64] {
        self.bounds
    }

    /// The counts by bucket, one more than there are bounds.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
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

    /// The least of them, where it is known.
    pub(crate) fn min(&self) -> Option<f64> {
        self.min
    }

    /// The greatest of them, where it is known.
    pub(crate) fn max(&self) -> Option<f64> {
        self.max
    }

    /// The same values by exponential buckets.
    pub(crate) fn exponential(&self) -> &Exponential {
        &self.exponential
    }

    /// The last exemplar of a bucket.
    pub(crate) fn exemplar(&self, bucket: usize) -> Option<&Exemplar> {
        self.exemplars.get(bucket)?.as_ref()
    }

    /// The last exemplar of every bucket that has one.
    pub(crate) fn exemplars(&self) -> impl Iterator<Item = &Exemplar> + '_ {
        self.exemplars.iter().flatten()
    }

    /// What was counted since `earlier`, an earlier state of this histogram. Nothing is known of the
    /// least and the greatest of that.
    pub(crate) fn since(&self, earlier: &Histogram) -> Histogram {
        let counts = self.counts.iter().zip(&earlier.counts).map(|(n, before)| n.saturating_sub(*before));
        let exemplars = (0..self.exemplars.len())
            .map(|bucket| self.exemplar(bucket).filter(|now| earlier.exemplar(bucket) != Some(now)).copied());
        Histogram {
            bounds: self.bounds,
            counts: counts.collect(),
            exponential: self.exponential.since(&earlier.exponential),
            sum: (self.sum - earlier.sum).max(0.0),
            min: None,
            max: None,
            exemplars: exemplars.collect(),
        }
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_core::gaps::{GapCell, SCALE};
    use weir_core::timeline::Offset;

    use super::{BINS_AS_EXPONENTIAL, Exemplar, Histogram, nanos};
    use crate::metrics::bounds::{
        GENAI_SECONDS, GENAI_TOKENS, HTTP_SECONDS, LAG, LATENCY, OVERHEAD, PER_CHUNK, PER_TOKEN, SPEED,
    };
    use crate::metrics::exponential::MAX_BUCKETS;

    #[test]
    fn bounds_rise() {
        let genai = [GENAI_SECONDS, GENAI_TOKENS, HTTP_SECONDS];
        for bounds in [LATENCY, PER_TOKEN, PER_CHUNK, OVERHEAD, SPEED, LAG].into_iter().chain(genai) {
            assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        }
    }

    #[test]
    fn bounds_of_gaps_are_edges_of_bins() {
        for &bound in [PER_TOKEN, PER_CHUNK, GENAI_SECONDS].into_iter().flatten() {
            let nanos = nanos(bound);
            assert_eq!(SCALE.lower_edge(SCALE.index(nanos)), nanos, "{bound}");
        }
    }

    #[test]
    fn a_value_of_exactly_a_bound_lies_in_its_bucket() {
        let mut histogram = Histogram::new(&[0.001, 0.002]);
        for value in [0.0, 0.001, 0.002, 0.002_000_1, f64::NAN, f64::INFINITY] {
            histogram.observe(value);
        }
        histogram.observe_time(None, None);
        histogram.observe_time(Some(Offset(1_500_000)), None);
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
        let mut folded = Histogram::of_bins(PER_TOKEN);
        folded.fold(&cell.read().itl);
        assert_eq!(folded.counts, one_by_one.counts);
        assert!((folded.sum() - one_by_one.sum()).abs() < 1e-6);
        let exponential = folded.exponential();
        assert_eq!(exponential.counts().iter().sum::<u64>(), gaps.len() as u64);
        assert!(exponential.counts().len() <= MAX_BUCKETS && exponential.scale() < BINS_AS_EXPONENTIAL);
    }

    #[test]
    fn exponential_buckets_are_not_narrower_than_the_bins() {
        let bucket = f64::from(-BINS_AS_EXPONENTIAL).exp2().exp2();
        for bin in 64..SCALE.len() {
            let width = SCALE.lower_edge(bin + 1) as f64 / SCALE.lower_edge(bin) as f64;
            assert!(width <= bucket, "{bin}: {width}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut histogram = Histogram::new(LATENCY);
        for n in 0..10_000 {
            histogram.observe(f64::from(n * 7_919 % 10_007) * 0.06);
        }
        assert!(histogram.exponential.memory() <= 160 * 8, "{}", histogram.exponential.memory());
        assert_eq!(size_of::<Histogram>(), 136);
        assert_eq!(size_of::<Option<Exemplar>>(), 48);
    }

    proptest! {
        #[test]
        fn a_folded_gap_stands_in_its_exponential_bucket_or_beside_it(gap in 62_500_u64..131_000_000_000) {
            let cell = GapCell::default();
            cell.add(gap, 1);
            let mut folded = Histogram::of_bins(PER_TOKEN);
            folded.fold(&cell.read().itl);
            let mut exact = Histogram::of_bins(PER_TOKEN);
            exact.observe(Offset(gap).as_secs_f64());
            let (folded, exact) = (folded.exponential(), exact.exponential());
            prop_assert_eq!(folded.scale(), exact.scale());
            prop_assert!(folded.offset().abs_diff(exact.offset()) <= 1);
            prop_assert_eq!(folded.counts(), [1]);
        }
    }
}
