//! Means and percentiles.

use serde::{Deserialize, Serialize};

/// What is told of a set of values, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// Their mean.
    pub mean_ms: f64,
    /// The middle.
    pub median_ms: f64,
    /// The standard deviation of the values themselves (divided by their number, as numpy does).
    pub std_ms: f64,
    /// The least.
    pub min_ms: f64,
    /// The greatest.
    pub max_ms: f64,
    /// Percentiles that were asked for, each with its percent, in that order.
    pub percentiles_ms: Vec<(f64, f64)>,
}

impl Summary {
    /// Of values in seconds; `None` where there are none.
    pub fn of(mut seconds: Vec<f64>, percents: &[f64]) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let (first, last) = (*seconds.first()?, *seconds.last()?);
        let count = seconds.len() as f64;
        let mean = seconds.iter().sum::<f64>() / count;
        let variance = seconds.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let at = |percent: f64| percentile(&seconds, percent).unwrap_or(last) * 1e3;
        Some(Summary {
            count: seconds.len(),
            mean_ms: mean * 1e3,
            median_ms: at(50.0),
            std_ms: variance.sqrt() * 1e3,
            min_ms: first * 1e3,
            max_ms: last * 1e3,
            percentiles_ms: percents.iter().map(|&percent| (percent, at(percent))).collect(),
        })
    }
}

/// A percentile of sorted values by linear interpolation between the two beside it, numpy's default.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let part = place - place.floor();
    Some(sorted[below] + (sorted[above] - sorted[below]) * part)
}

/// A percent in words: `99`, `99.9`.
pub(super) fn percent_word(percent: f64) -> String {
    // Whole numbers are written without a point.
    format!("{percent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numpys() {
        // numpy.percentile([1, 2, 4, 8], [0, 25, 50, 90, 100]) is [1, 1.75, 3, 6.8, 8].
        let values = [1.0, 2.0, 4.0, 8.0];
        for (percent, expected) in [(0.0, 1.0), (25.0, 1.75), (50.0, 3.0), (90.0, 6.8), (100.0, 8.0)] {
            let value = percentile(&values, percent).unwrap();
            assert!((value - expected).abs() < 1e-12, "p{percent}: {value}");
        }
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(percentile(&[3.0], 99.0), Some(3.0));
    }

    #[test]
    fn a_summary_is_in_milliseconds() {
        let summary = Summary::of(vec![0.004, 0.001, 0.008, 0.002], &[90.0]).unwrap();
        // Mean 3.75; squared distances 7.5625 + 3.0625 + 0.0625 + 18.0625, a quarter of their sum 7.1875.
        assert!((summary.mean_ms - 3.75).abs() < 1e-12 && (summary.std_ms - 7.1875f64.sqrt()).abs() < 1e-12);
        assert!((summary.median_ms - 3.0).abs() < 1e-12 && (summary.percentiles_ms[0].1 - 6.8).abs() < 1e-12);
        assert_eq!((summary.count, summary.min_ms, summary.max_ms), (4, 1.0, 8.0));
        assert_eq!(Summary::of(Vec::new(), &[99.0]), None);
    }

    #[test]
    fn percents_are_written_short() {
        assert_eq!((percent_word(99.0), percent_word(99.9)), ("99".into(), "99.9".into()));
    }
}
