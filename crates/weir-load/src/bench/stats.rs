//! Statistics of samples, and how sure a difference between two of them is.

use rand::Rng;

use crate::draw;

/// How often a sample is drawn again.
pub const RESAMPLES: usize = 2000;

/// Keeps the two samples' draws apart.
const SIDES: u64 = 0xb007;

/// A figure of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The 50th percentile.
    Median,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

/// Between two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How a statistic differs between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Which.
    pub statistic: Statistic,
    /// That of the sample before.
    pub before: f64,
    /// That of the sample after.
    pub after: f64,
    /// After − before, where the true one lies with the confidence asked for.
    pub absolute: Interval,
    /// After ÷ before − 1, likewise; `None` where a resample before is not above 0.
    pub relative: Option<Interval>,
}

/// The `p`-th percentile, 0 to 100, of sorted values: linear between the two nearest, as numpy's default.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = p.clamp(0.0, 100.0) / 100.0 * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted.get(rank.floor() as usize)?, sorted.get(rank.ceil() as usize)?);
    Some(low + (high - low) * rank.fract())
}

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The Kolmogorov–Smirnov distance of two samples: the greatest between their distribution functions, 0 to 1.
pub fn ks_distance(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (a, b) = (sorted(a), sorted(b));
    let share = |of: &[f64], value: f64| of.partition_point(|other| *other <= value) as f64 / of.len() as f64;
    let distances = a.iter().chain(&b).map(|value| (share(&a, *value) - share(&b, *value)).abs());
    Some(distances.fold(0.0, f64::max))
}

/// Values in groups. What is in one group hangs together (the gaps of one stream, say), so that groups are drawn
/// again, not values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Every value with its group, ascending.
    values: Vec<(f64, u32)>,
    /// The number of values in each group, and their sum.
    groups: Vec<(u64, f64)>,
}

impl Sample {
    /// Values that do not hang together.
    pub fn of_values(values: &[f64]) -> Self {
        Self::of_groups(values.iter().map(std::slice::from_ref))
    }

    /// Groups of values; empty groups, and what is no number, are left out.
    pub fn of_groups<'a>(groups: impl Iterator<Item = &'a [f64]>) -> Self {
        let mut sample = Self { values: Vec::new(), groups: Vec::new() };
        for group in groups {
            let before = sample.values.len();
            let nth = sample.groups.len() as u32;
            sample.values.extend(group.iter().filter(|value| value.is_finite()).map(|value| (*value, nth)));
            let added = sample.values.get(before..).unwrap_or_default();
            if !added.is_empty() {
                let sum = added.iter().map(|(value, _)| value).sum();
                sample.groups.push((added.len() as u64, sum));
            }
        }
        sample.values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        sample
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// A statistic of all values; `None`: there are none.
    pub fn statistic(&self, statistic: Statistic) -> Option<f64> {
        let once = vec![1; self.groups.len()];
        (!self.values.is_empty()).then(|| self.weighted(&[statistic], &once).into_iter().next())?
    }

    /// Statistics of the sample in which each group stands as often as its weight says. `statistics` ascend.
    fn weighted(&self, statistics: &[Statistic], weights: &[u64]) -> Vec<f64> {
        let drawn = || self.groups.iter().zip(weights);
        let total: u64 = drawn().map(|((length, _), weight)| length * weight).sum();
        let sum: f64 = drawn().map(|((_, sum), weight)| sum * *weight as f64).sum();
        let rank = |p: f64| p / 100.0 * total.saturating_sub(1) as f64;
        let ranks: Vec<f64> =
            statistics.iter().filter_map(|statistic| statistic.percentile()).map(rank).collect();
        let wanted: Vec<u64> =
            ranks.iter().flat_map(|rank| [rank.floor() as u64, rank.ceil() as u64]).collect();
        let found = self.ranked(&wanted, weights);
        let mut percentiles = found.chunks(2).zip(&ranks).map(|(found, rank)| match found {
            [low, high] => low + (high - low) * rank.fract(),
            _ => f64::NAN,
        });
        let figure = |statistic: &Statistic| match statistic.percentile() {
            None => sum / total as f64,
            Some(_) => percentiles.next().unwrap_or(f64::NAN),
        };
        statistics.iter().map(figure).collect()
    }

    /// The values at these ranks, which ascend from 0. This is where a bootstrap spends its time.
    fn ranked(&self, ranks: &[u64], weights: &[u64]) -> Vec<f64> {
        let mut found = Vec::with_capacity(ranks.len());
        let (mut up_to, mut next) = (0, ranks.first().copied().unwrap_or(u64::MAX));
        for (value, group) in &self.values {
            up_to += weights[*group as usize];
            while up_to > next {
                found.push(*value);
                next = ranks.get(found.len()).copied().unwrap_or(u64::MAX);
            }
            if found.len() == ranks.len() {
                break;
            }
        }
        found
    }

    /// The same statistics of samples that are drawn again from this one with repetition, group by group.
    fn resampled(&self, statistics: &[Statistic], seed: u64) -> Vec<Vec<f64>> {
        let resample = |nth: usize| {
            let mut rng = draw::generator(seed, nth as u64);
            let mut weights = vec![0_u64; self.groups.len()];
            for _ in 0..weights.len() {
                let drawn = rng.random_range(0..weights.len());
                if let Some(weight) = weights.get_mut(drawn) {
                    *weight += 1;
                }
            }
            self.weighted(statistics, &weights)
        };
        (0..RESAMPLES).map(resample).collect()
    }
}

/// How statistics differ between two samples, each with the interval that holds the true difference with this
/// `confidence`: the percentile bootstrap over [`RESAMPLES`] pairs of samples that are drawn again. Nothing where a
/// sample is empty.
pub fn differences(
    before: &Sample,
    after: &Sample,
    statistics: &[Statistic],
    confidence: f64,
    seed: u64,
) -> Vec<Difference> {
    if before.values.is_empty() || after.values.is_empty() {
        return Vec::new();
    }
    let mut ascending = statistics.to_vec();
    ascending.sort_unstable();
    ascending.dedup();
    let a = before.resampled(&ascending, draw::mix(seed ^ SIDES));
    let b = after.resampled(&ascending, draw::mix(seed ^ (SIDES + 1)));
    let difference = |(nth, statistic): (usize, &Statistic)| {
        let pairs: Vec<(f64, f64)> =
            a.iter().zip(&b).filter_map(|(a, b)| Some((*a.get(nth)?, *b.get(nth)?))).collect();
        let absolute: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
        let relative: Vec<f64> = pairs.iter().filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0).collect();
        let all = relative.len() == pairs.len();
        Some(Difference {
            statistic: *statistic,
            before: before.statistic(*statistic)?,
            after: after.statistic(*statistic)?,
            absolute: middle(&absolute, confidence)?,
            relative: if all { middle(&relative, confidence) } else { None },
        })
    };
    ascending.iter().enumerate().filter_map(difference).collect()
}

impl Statistic {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Mean, Self::Median, Self::P95, Self::P99];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    fn percentile(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::Median => Some(50.0),
            Self::P95 => Some(95.0),
            Self::P99 => Some(99.0),
        }
    }
}

/// What holds so much of the values, with as much below as above.
fn middle(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values);
    let tail = (1.0 - confidence) * 50.0;
    Some(Interval { low: percentile(&sorted, tail)?, high: percentile(&sorted, 100.0 - tail)? })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, Normal};

    use super::*;

    #[test]
    fn percentiles_are_numpys() {
        // numpy.percentile([1, 2, 4, 8], [0, 25, 50, 95, 100])
        let values = [1.0, 2.0, 4.0, 8.0];
        let found = [0.0, 25.0, 50.0, 95.0, 100.0].map(|p| percentile(&values, p).unwrap());
        for (found, expected) in found.iter().zip([1.0, 1.75, 3.0, 7.4, 8.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!((percentile(&[], 50.0), mean(&[]), mean(&values)), (None, None, Some(3.75)));
    }

    #[test]
    fn distances_of_distributions() {
        assert_eq!(ks_distance(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(ks_distance(&[1.0, 2.0, 3.0, 4.0], &[4.0, 2.0, 3.0, 1.0]), Some(0.0));
        // Up to 2: 2/4 against 1/4; up to 3: 3/4 against 1/4.
        assert_eq!(ks_distance(&[1.0, 2.0, 3.0, 4.0], &[2.0, 4.0, 5.0, 6.0]), Some(0.5));
        assert_eq!(ks_distance(&[], &[1.0]), None);
    }

    #[test]
    fn a_weighted_sample_is_the_written_out_one() {
        let groups: [&[f64]; 4] = [&[3.0, 1.0], &[], &[2.0, 9.0, 4.0], &[7.0]];
        let sample = Sample::of_groups(groups.into_iter());
        assert_eq!(sample.groups(), 3);
        let written = sorted(&[3.0, 1.0, 3.0, 1.0, 7.0, 7.0, 7.0]);
        let expected = [
            mean(&written),
            percentile(&written, 50.0),
            percentile(&written, 95.0),
            percentile(&written, 99.0),
        ];
        let found = sample.weighted(&Statistic::ALL, &[2, 0, 3]);
        assert_eq!(found.into_iter().map(Some).collect::<Vec<_>>(), expected);
        assert_eq!(sample.statistic(Statistic::Median), Some(3.5));
        assert_eq!(Sample::of_values(&[f64::NAN]).statistic(Statistic::Mean), None);
    }

    fn normal(mean: f64, n: u64, seed: u64) -> Vec<f64> {
        let normal = Normal::new(mean, 10.0).unwrap();
        (0..n).map(|nth| normal.sample(&mut draw::generator(seed, nth))).collect()
    }

    #[test]
    fn intervals_are_those_of_the_normal_distribution() {
        // Standard error of the difference of means: 10 · √(2/400) = 0.707; of medians √(π/2) of it.
        let (a, b) = (Sample::of_values(&normal(100.0, 400, 1)), Sample::of_values(&normal(110.0, 400, 2)));
        let found = differences(&a, &b, &[Statistic::Median, Statistic::Mean], 0.95, 1);
        assert_eq!(found[0].statistic, Statistic::Mean);
        let width = |nth: usize| {
            (found[nth].absolute.high - found[nth].absolute.low)
                / (2.0 * 1.96 * 10.0 * (2.0_f64 / 400.0).sqrt())
        };
        assert!((0.9..1.1).contains(&width(0)), "{}", width(0));
        assert!((1.0..1.55).contains(&width(1)), "{}", width(1));
        let relative = found[0].relative.unwrap();
        assert!(relative.low > 0.07 && relative.high < 0.13, "{relative:?}");
        assert_eq!(found, differences(&a, &b, &[Statistic::Mean, Statistic::Median], 0.95, 1));
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let holds = |seed: u64| {
            let [a, b] = [1, 2].map(|side| Sample::of_values(&normal(100.0, 40, seed * 2 + side)));
            let interval = differences(&a, &b, &[Statistic::Mean], 0.95, seed)[0].absolute;
            interval.low <= 0.0 && interval.high >= 0.0
        };
        let held = (0..60).filter(|seed| holds(*seed)).count();
        assert!((52..=60).contains(&held), "{held} of 60");
    }

    #[test]
    fn values_that_hang_together_make_the_interval_wider() {
        // 40 groups of 25 equal values are worth 40 values.
        let groups: Vec<Vec<f64>> = normal(100.0, 40, 5).into_iter().map(|value| vec![value; 25]).collect();
        let grouped = Sample::of_groups(groups.iter().map(Vec::as_slice));
        let single = Sample::of_values(&groups.concat());
        let width = |sample: &Sample| {
            let interval = differences(sample, sample, &[Statistic::Mean], 0.95, 1)[0].absolute;
            interval.high - interval.low
        };
        let ratio = width(&grouped) / width(&single);
        assert!((4.5..5.5).contains(&ratio), "{ratio}");
    }
}
