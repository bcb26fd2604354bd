//! Base-2 exponential histograms, as OpenTelemetry's data model has them: at scale s bucket i holds what
//! lies above base^i and not above base^(i + 1), where base is 2^(2^-s).

use std::sync::LazyLock;

/// How many buckets there may be; beyond that the scale is lowered.
pub(crate) const MAX_BUCKETS: usize = 160;

/// The scale to begin with: 64 buckets an octave, each 1.1 % wide. A finer one would be given up at once,
/// for the values of one histogram differ by more than a few percent.
pub(crate) const FINEST: i32 = 6;

/// Buckets an octave at scale [`FINEST`].
const PER_OCTAVE: usize = 1 << FINEST;

/// The lower edges of the buckets between 1 and 2 at scale [`FINEST`].
static EDGES: LazyLock<[f64; PER_OCTAVE]> =
    LazyLock::new(|| std::array::from_fn(|nth| (nth as f64 / PER_OCTAVE as f64).exp2()));

/// Counts by exponential bucket: at most 160 of eight bytes, as many as lie between the least and the
/// greatest value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exponential {
    scale: i32,
    /// The index of the first bucket in `counts`.
    offset: i32,
    counts: Vec<u64>,
    zeros: u64,
}

impl Exponential {
    /// An empty histogram that is never finer than `scale`.
    pub(crate) const fn new(scale: i32) -> Self {
        Self { scale, offset: 0, counts: Vec::new(), zeros: 0 }
    }

    /// Counts a value `n` times. What is not above zero counts as zero.
    pub(crate) fn add(&mut self, value: f64, n: u64) {
        match index(value) {
            Some(index) => self.add_at(index, n),
            None => self.zeros += n,
        }
    }

    /// How fine it is.
    pub(crate) fn scale(&self) -> i32 {
        self.scale
    }

    /// The index of the first bucket.
    pub(crate) fn offset(&self) -> i32 {
        self.offset
    }

    /// Counts from the first bucket to the last that is not empty.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many values were zero.
    pub(crate) fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Bytes that the buckets take.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
    }

    /// What was counted since `earlier`, an earlier state of this histogram: at the scale of this one.
    pub(crate) fn since(&self, earlier: &Exponential) -> Exponential {
        let mut earlier = earlier.clone();
        earlier.coarsen((earlier.scale - self.scale).max(0));
        let mut since = self.clone();
        for (index, &n) in (earlier.offset..).zip(&earlier.counts) {
            let place = usize::try_from(index - since.offset).ok();
            if let Some(count) = place.and_then(|place| since.counts.get_mut(place)) {
                *count = count.saturating_sub(n);
            }
        }
        since.zeros = since.zeros.saturating_sub(earlier.zeros);
        since.trim();
        since
    }

    /// Adds to a bucket, given by its index at scale [`FINEST`].
    fn add_at(&mut self, finest: i32, n: u64) {
        let mut index = finest >> (FINEST - self.scale);
        // Nearly always there is a bucket already.
        let place = usize::try_from(index - self.offset).ok();
        if let Some(count) = place.and_then(|place| self.counts.get_mut(place)) {
            *count += n;
            return;
        }
        if self.counts.is_empty() {
            self.offset = index;
        }
        loop {
            let last = self.offset + self.counts.len() as i32 - 1;
            let span = last.max(index) - self.offset.min(index) + 1;
            if span as usize <= MAX_BUCKETS {
                break;
            }
            self.coarsen(1);
            index >>= 1;
        }
        if index < self.offset {
            let missing = (self.offset - index) as usize;
            self.counts.reserve_exact(missing);
            self.counts.splice(..0, std::iter::repeat_n(0, missing));
            self.offset = index;
        }
        let place = (index - self.offset) as usize;
        if place >= self.counts.len() {
            self.counts.reserve_exact(place + 1 - self.counts.len());
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += n;
    }

    /// Lowers the scale: 2^`by` buckets become one. Edges of the coarser buckets are edges of the finer.
    fn coarsen(&mut self, by: i32) {
        if by == 0 {
            return;
        }
        let offset = self.offset >> by;
        for place in 0..self.counts.len() {
            let n = std::mem::take(&mut self.counts[place]);
            let index = (self.offset + place as i32) >> by;
            // Never behind `place`, so that nothing is added to what is still to be moved.
            self.counts[(index - offset) as usize] += n;
        }
        self.offset = offset;
        self.scale -= by;
        self.trim();
    }

    /// Drops empty buckets at both ends.
    fn trim(&mut self) {
        let used = self.counts.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1);
        self.counts.truncate(used);
        let empty = self.counts.iter().take_while(|&&n| n == 0).count();
        self.counts.drain(..empty);
        self.offset += empty as i32;
    }
}

/// The bucket of a value at scale [`FINEST`]; at a scale lower by k it is this shifted right by k.
/// Absent for what is not above zero. Values below 2^-1022 are taken for zero: they do not come.
fn index(value: f64) -> Option<i32> {
    if value < f64::MIN_POSITIVE || !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // Edges strictly below: a bucket holds its upper edge, so a power of two lies in the octave before.
    let below = EDGES.partition_point(|&edge| edge < mantissa) as i32;
    Some(exponent * PER_OCTAVE as i32 + below - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{EDGES, Exponential, FINEST, MAX_BUCKETS, index};

    /// The upper edge of a bucket, by the definition.
    fn upper(scale: i32, index: i32) -> f64 {
        (f64::from(index + 1) * f64::from(-scale).exp2()).exp2()
    }

    fn of(values: &[f64]) -> Exponential {
        let mut histogram = Exponential::new(FINEST);
        values.iter().for_each(|&value| histogram.add(value, 1));
        histogram
    }

    fn total(histogram: &Exponential) -> u64 {
        histogram.zeros() + histogram.counts().iter().sum::<u64>()
    }

    #[test]
    fn powers_of_two_are_upper_edges_at_every_scale() {
        for exponent in -1022..=1023 {
            let index = index(f64::from(exponent).exp2()).unwrap();
            for scale in -4..=FINEST {
                let at_scale = index >> (FINEST - scale);
                let exact = match scale {
                    0.. => (exponent << scale) - 1,
                    _ => (exponent - 1) >> -scale,
                };
                assert_eq!(at_scale, exact, "2^{exponent} at {scale}");
            }
        }
    }

    #[test]
    fn an_edge_lies_below_and_the_next_number_above() {
        for (nth, &edge) in (0..).zip(EDGES.iter()) {
            assert_eq!(index(edge), Some(nth - 1), "{edge}");
            assert_eq!(index(edge.next_up()), Some(nth), "{edge}");
        }
    }

    #[test]
    fn zero_has_a_count_of_its_own() {
        let histogram = of(&[0.0, 1.0, -0.0]);
        assert_eq!((histogram.zeros(), histogram.counts()), (2, [1].as_slice()));
        assert_eq!((histogram.offset(), histogram.scale()), (-1, FINEST));
    }

    #[test]
    fn the_scale_falls_when_the_range_grows() {
        let histogram = of(&[0.001, 600.0]);
        assert_eq!(histogram.scale(), 3);
        assert!(histogram.counts().len() <= MAX_BUCKETS);
        assert_eq!(of(&[1e-300, 1e300]).counts().iter().sum::<u64>(), 2);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value in 1e-12_f64..1e12, scale in -3..=FINEST) {
            let index = index(value).unwrap() >> (FINEST - scale);
            // Edges that are no powers of two are rounded: the definition holds to the last bits.
            let (lower, upper) = (upper(scale, index - 1), upper(scale, index));
            prop_assert!(lower * (1.0 - 1e-14) < value && value <= upper * (1.0 + 1e-14), "{lower} {upper}");
        }

        #[test]
        fn nothing_is_lost_whatever_the_range(values in prop::collection::vec(-300.0_f64..300.0, 1..60)) {
            let values: Vec<f64> = values.into_iter().map(f64::exp2).collect();
            let histogram = of(&values);
            prop_assert_eq!(total(&histogram), values.len() as u64);
            prop_assert!(histogram.counts().len() <= MAX_BUCKETS);
            for (nth, &n) in (0..).zip(histogram.counts()) {
                let bucket = histogram.offset() + nth;
                let at = |value: &&f64| index(**value).unwrap() >> (FINEST - histogram.scale()) == bucket;
                prop_assert_eq!(values.iter().filter(at).count() as u64, n);
            }
        }

        #[test]
        fn a_difference_is_what_came_between(
            before in prop::collection::vec(0.0_f64..2.0, 0..40),
            after in prop::collection::vec(-12.0_f64..12.0, 0..40),
        ) {
            let after: Vec<f64> = after.into_iter().map(f64::exp2).collect();
            let earlier = of(&before);
            let later = of(&[before.clone(), after.clone()].concat());
            let since = later.since(&earlier);
            prop_assert_eq!(total(&since), after.len() as u64);
            let mut alone = of(&after);
            alone.coarsen(alone.scale() - since.scale());
            if !alone.counts().is_empty() {
                prop_assert_eq!(alone, since);
            }
        }
    }
}
