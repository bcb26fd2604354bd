//! Whether a condition holds now, does not, or cannot be told.

use super::condition::{Comparison, Condition, Test, Threshold};
use super::signal::Signal;
use super::status::Reading;
use crate::scope::Scope;

/// What comes of a condition at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// `None`: there is no data that could tell.
    pub(super) holds: Option<bool>,
    /// What was read, the one that decided first.
    pub(super) readings: Vec<Reading>,
}

/// Where a condition finds its figures.
pub(super) trait Figures {
    /// A signal's value now.
    fn value(&self, signal: &Signal, scope: &Scope) -> Option<f64>;
    /// A signal's baseline now.
    fn baseline(&self, signal: &Signal, scope: &Scope) -> Option<f64>;
}

/// Judges a condition.
pub(super) fn judge(condition: &Condition, figures: &dyn Figures) -> Judged {
    let mut readings = Vec::new();
    let (holds, decided) = test(&condition.test, &condition.scope, figures, &mut readings);
    if let Some(until_decided) = readings.get_mut(..=decided) {
        until_decided.rotate_right(1);
    }
    Judged { holds, readings }
}

/// What a test comes to, and which of the readings decided.
fn test(
    test: &Test,
    scope: &Scope,
    figures: &dyn Figures,
    readings: &mut Vec<Reading>,
) -> (Option<bool>, usize) {
    match test {
        Test::Is(comparison) => {
            readings.push(reading(comparison, scope, figures));
            (readings[readings.len() - 1].holds, readings.len() - 1)
        }
        // One side that does not hold decides, whatever is known of the other.
        Test::All(tests) => joined(tests, Some(false), scope, figures, readings),
        Test::Any(tests) => joined(tests, Some(true), scope, figures, readings),
    }
}

/// The first that comes to `decisive` decides; else the first that cannot be told; else all agree.
fn joined(
    tests: &[Test],
    decisive: Option<bool>,
    scope: &Scope,
    figures: &dyn Figures,
    readings: &mut Vec<Reading>,
) -> (Option<bool>, usize) {
    let results: Vec<_> = tests.iter().map(|part| test(part, scope, figures, readings)).collect();
    let first = |sought| results.iter().find(|(holds, _)| *holds == sought).copied();
    first(decisive).or_else(|| first(None)).or_else(|| results.first().copied()).unwrap_or((None, 0))
}

fn reading(comparison: &Comparison, scope: &Scope, figures: &dyn Figures) -> Reading {
    let Comparison { signal, comparator, threshold } = comparison;
    // What is no number tells nothing.
    let value = figures.value(signal, scope).filter(|value| value.is_finite());
    let threshold = match threshold {
        Threshold::Fixed(value) => Some(*value),
        Threshold::Baseline(factor) => figures.baseline(signal, scope).map(|baseline| factor * baseline),
    };
    Reading {
        signal: signal.to_string().into(),
        unit: signal.unit(),
        value,
        comparator: comparator.as_str().into(),
        threshold,
        holds: value.zip(threshold).map(|(value, threshold)| comparator.holds(value, threshold)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Figures, Scope, Signal, judge};

    struct Table<'a>(&'a [(&'a str, f64)]);

    impl Figures for Table<'_> {
        fn value(&self, signal: &Signal, _: &Scope) -> Option<f64> {
            self.0.iter().find(|(name, _)| *name == signal.to_string()).map(|&(_, value)| value)
        }

        fn baseline(&self, _: &Signal, _: &Scope) -> Option<f64> {
            None
        }
    }

    #[test]
    fn no_data_is_a_third_value_beside_true_and_false() {
        for (condition, figures, holds, decided) in [
            ("rps > 5 and in_flight > 5", &[("rps", 6.0), ("in_flight", 6.0)][..], Some(true), "rps"),
            ("rps > 5 and in_flight > 5", &[("rps", 6.0), ("in_flight", 5.0)], Some(false), "in_flight"),
            ("rps > 5 and in_flight > 5", &[("in_flight", 6.0)], None, "rps"),
            ("rps > 5 and in_flight > 5", &[("in_flight", 5.0)], Some(false), "in_flight"),
            ("rps > 5 or in_flight > 5", &[("in_flight", 6.0)], Some(true), "in_flight"),
            ("rps > 5 or in_flight > 5", &[("in_flight", 5.0)], None, "rps"),
            ("rps > 5 or in_flight > 5", &[("rps", 5.0), ("in_flight", 5.0)], Some(false), "rps"),
            (
                "rps > 5 and (in_flight > 5 or queue_depth > 5)",
                &[("rps", 6.0), ("queue_depth", 6.0)],
                Some(true),
                "rps",
            ),
            ("rps > 5", &[], None, "rps"),
            ("rps > 5", &[("rps", f64::NAN)], None, "rps"),
            ("rps > 2x_baseline", &[("rps", 5.0)], None, "rps"),
            ("rps >= 5", &[("rps", 5.0)], Some(true), "rps"),
            ("rps <= 5", &[("rps", 5.1)], Some(false), "rps"),
            ("rps != 5", &[("rps", 5.0)], Some(false), "rps"),
            ("rps == 0", &[("rps", 0.0)], Some(true), "rps"),
        ] {
            let condition = Condition::parse(condition).unwrap();
            let judged = judge(&condition, &Table(figures));
            assert_eq!(judged.holds, holds, "{condition} {figures:?}");
            assert_eq!(&*judged.readings[0].signal, decided, "{condition} {figures:?}");
            assert_eq!(judged.readings.len(), condition.comparisons().len());
        }
    }
}
