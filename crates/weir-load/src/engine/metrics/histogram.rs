//! A histogram with fixed bounds, as Prometheus has them.

/// Counts of observations by bucket, with their sum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Histogram {
    bounds: Vec<f64>,
    /// One for each bound, and one for what exceeds them all.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    /// A histogram with these upper bounds, which ascend and belong to their buckets.
    pub(crate) fn new(bounds: &[f64]) -> Self {
        Histogram { bounds: bounds.to_vec(), counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Adds a value.
    pub(crate) fn observe(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
            self.sum += value;
        }
    }

    /// The upper bound of each bucket with how many values do not exceed it; the last is infinite.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((bound, *total))
        })
    }

    /// How many values there are.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }
}

/// 1, 2, 5, 10, 20, 50 and so on, up to `most`.
pub(crate) fn one_two_five(most: u64) -> Vec<f64> {
    let decades = std::iter::successors(Some(1_u64), |decade| decade.checked_mul(10));
    decades
        .flat_map(|decade| [1, 2, 5].into_iter().filter_map(move |step| decade.checked_mul(step)))
        .take_while(|&bound| bound <= most)
        .map(|bound| bound as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 2.0, 2.5] {
            histogram.observe(value);
        }
        let buckets: Vec<_> = histogram.cumulative().collect();
        assert_eq!(buckets, [(1.0, 2), (2.0, 4), (f64::INFINITY, 5)]);
        assert_eq!((histogram.count(), histogram.sum()), (5, 7.5));
    }

    #[test]
    fn bounds_stop_at_the_most() {
        assert_eq!(one_two_five(2048), [1., 2., 5., 10., 20., 50., 100., 200., 500., 1000., 2000.]);
        assert_eq!(one_two_five(20), [1., 2., 5., 10., 20.]);
        assert!(one_two_five(0).is_empty());
        assert_eq!(one_two_five(u64::MAX).last(), Some(&1e19));
    }
}
