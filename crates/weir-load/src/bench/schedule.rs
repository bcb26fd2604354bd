//! When requests are to be sent: set before the run, whatever the server does.
//!
//! As `vllm bench serve` has it: gaps are drawn from the gamma distribution, whose shape is the burstiness
//! (1: Poisson arrivals; below: bursts; above: more even; infinite: equal gaps). Where the number of requests
//! is known, the times are stretched so that the last one is due at exactly number / rate. A ramp changes the
//! rate from request to request and is not stretched.

use std::fmt;
use std::time::Duration;

use rand::distr::Distribution;
use rand::rngs::StdRng;
use rand_distr::Gamma;

use crate::clock::FOREVER;
use crate::draw;

/// Keys the times apart from other draws under the same seed.
const TIMES: u64 = u64::MAX - 1;

/// How often requests are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// All at once.
    Unlimited,
    /// So many per second in the mean.
    Fixed(f64),
    /// From one rate to another.
    Ramp {
        /// Its form.
        form: Ramp,
        /// Requests per second at the beginning.
        from: f64,
        /// Requests per second at the end.
        to: f64,
    },
}

/// The form of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ramp {
    /// The rate grows by the same amount with each request.
    Linear,
    /// The rate grows by the same factor with each request.
    Exponential,
}

/// A schedule, the same for the same seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    rate: Rate,
    burstiness: f64,
    seed: u64,
}

/// A rate or a burstiness that is not above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleError(&'static str, f64);

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: it must be above zero", self.0, self.1)
    }
}

impl std::error::Error for ScheduleError {}

impl Schedule {
    /// A schedule of requests at `rate`, with gaps of the given burstiness.
    pub fn new(rate: Rate, burstiness: f64, seed: u64) -> Result<Self, ScheduleError> {
        let rates = match rate {
            Rate::Unlimited => [1.0, 1.0],
            Rate::Fixed(rate) => [rate, rate],
            Rate::Ramp { from, to, .. } => [from, to],
        };
        for value in rates {
            if !(value > 0.0 && value.is_finite()) {
                return Err(ScheduleError("request rate", value));
            }
        }
        if burstiness.is_nan() || burstiness <= 0.0 {
            return Err(ScheduleError("burstiness", burstiness));
        }
        Ok(Self { rate, burstiness, seed })
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The shape of its gaps.
    pub fn burstiness(&self) -> f64 {
        self.burstiness
    }

    /// The due times after the start of a run, one for each of `total` requests, or without end where their
    /// number is not known. A ramp then follows the time instead, as a part of `span`.
    pub fn times(&self, total: Option<usize>, span: Option<Duration>) -> Times {
        let mut times = Times {
            schedule: *self,
            total,
            span: span.map(|span| span.as_secs_f64()),
            rng: draw::generator(self.seed, TIMES),
            nth: 0,
            at_s: 0.0,
            stretch: 1.0,
        };
        if let (Rate::Fixed(rate), Some(total)) = (self.rate, total) {
            let mut ahead = times.clone();
            let sum = (0..total).map(|_| ahead.gap()).sum::<f64>();
            if sum > 0.0 {
                times.stretch = total as f64 / rate / sum;
            }
        }
        times
    }
}

/// Iterator over the due times of a [`Schedule`].
#[derive(Clone, Debug)]
pub struct Times {
    schedule: Schedule,
    total: Option<usize>,
    span: Option<f64>,
    rng: StdRng,
    nth: usize,
    at_s: f64,
    stretch: f64,
}

impl Times {
    /// The rate at this point, in requests per second; `None` where it is not limited.
    fn rate(&self) -> Option<f64> {
        match self.schedule.rate {
            Rate::Unlimited => None,
            Rate::Fixed(rate) => Some(rate),
            Rate::Ramp { form: Ramp::Linear, from, to } => Some(from + (to - from) * self.progress()),
            Rate::Ramp { form: Ramp::Exponential, from, to } => {
                Some(from * (to / from).powf(self.progress()))
            }
        }
    }

    /// How far a ramp is, from 0 to 1.
    fn progress(&self) -> f64 {
        match (self.total, self.span) {
            (Some(total), _) => self.nth as f64 / total.saturating_sub(1).max(1) as f64,
            (None, Some(span)) if span > 0.0 => (self.at_s / span).min(1.0),
            (None, _) => 1.0,
        }
    }

    /// Draws the gap before the next request, in seconds.
    fn gap(&mut self) -> f64 {
        let Some(rate) = self.rate() else { return 0.0 };
        let burstiness = self.schedule.burstiness;
        let scale = 1.0 / (rate * burstiness);
        match Gamma::new(burstiness, scale) {
            Ok(gamma) if burstiness.is_finite() => gamma.sample(&mut self.rng),
            // No gaps are more even than equal ones.
            Ok(_) | Err(_) => 1.0 / rate,
        }
    }
}

impl Iterator for Times {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.total.is_some_and(|total| self.nth >= total) {
            return None;
        }
        self.at_s += self.gap() * self.stretch;
        self.nth += 1;
        Some(Duration::try_from_secs_f64(self.at_s).unwrap_or(FOREVER).min(FOREVER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: Rate, burstiness: f64, total: usize) -> Vec<f64> {
        let schedule = Schedule::new(rate, burstiness, 7).unwrap();
        schedule.times(Some(total), None).map(|time| time.as_secs_f64()).collect()
    }

    fn gaps(times: &[f64]) -> Vec<f64> {
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Mean and coefficient of variation.
    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn gaps_have_the_rate_and_the_burstiness() {
        for burstiness in [0.25, 1.0, 4.0] {
            let (mean, spread) = moments(&gaps(&times(Rate::Fixed(50.0), burstiness, 40_000)));
            assert!((mean - 0.02).abs() < 1e-4, "burstiness {burstiness}: mean {mean}");
            // A gamma distribution's coefficient of variation is 1/√shape.
            let expected = 1.0 / burstiness.sqrt();
            assert!((spread / expected - 1.0).abs() < 0.03, "burstiness {burstiness}: cv {spread}");
        }
    }

    #[test]
    fn the_last_request_is_due_at_number_by_rate() {
        for burstiness in [0.5, 1.0, f64::INFINITY] {
            let times = times(Rate::Fixed(8.0), burstiness, 20);
            assert_eq!(times.len(), 20);
            assert!((times[19] - 2.5).abs() < 1e-6, "{}", times[19]);
        }
        assert_eq!(times(Rate::Fixed(4.0), f64::INFINITY, 3), [0.25, 0.5, 0.75]);
    }

    #[test]
    fn without_a_limit_all_are_due_at_once() {
        assert_eq!(times(Rate::Unlimited, 1.0, 3), [0.0; 3]);
    }

    #[test]
    fn a_ramp_goes_by_the_request() {
        // Even gaps: rates 1, 2, 3 give gaps 1, 1/2, 1/3; rates 1, 2, 4 give 1, 1/2, 1/4.
        let ramp = |form, to| times(Rate::Ramp { form, from: 1.0, to }, f64::INFINITY, 3);
        for (times, expected) in [
            (ramp(Ramp::Linear, 3.0), [1.0, 1.5, 1.5 + 1.0 / 3.0]),
            (ramp(Ramp::Exponential, 4.0), [1.0, 1.5, 1.75]),
        ] {
            assert!(times.iter().zip(expected).all(|(time, due)| (time - due).abs() < 1e-8), "{times:?}");
        }
    }

    #[test]
    fn a_ramp_of_unknown_length_goes_by_the_time() {
        let rate = Rate::Ramp { form: Ramp::Linear, from: 1.0, to: 3.0 };
        let schedule = Schedule::new(rate, f64::INFINITY, 7).unwrap();
        let times: Vec<f64> = schedule
            .times(None, Some(Duration::from_secs(2)))
            .take(3)
            .map(|time| time.as_secs_f64())
            .collect();
        // Rate 1 at 0 s; 2 at 1 s; 2.5 at 1.5 s.
        assert!((times[1] - 1.5).abs() < 1e-8 && (times[2] - 1.9).abs() < 1e-8, "{times:?}");
    }

    #[test]
    fn the_seed_alone_decides() {
        let with = |seed| -> Vec<Duration> {
            Schedule::new(Rate::Fixed(1.0), 1.0, seed).unwrap().times(None, None).take(5).collect()
        };
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (rate, burstiness) in [
            (Rate::Fixed(0.0), 1.0),
            (Rate::Fixed(f64::NAN), 1.0),
            (Rate::Fixed(1.0), 0.0),
            (Rate::Fixed(1.0), f64::NAN),
            (Rate::Ramp { form: Ramp::Linear, from: 1.0, to: -1.0 }, 1.0),
        ] {
            assert!(Schedule::new(rate, burstiness, 1).is_err(), "{rate:?} {burstiness}");
        }
    }
}
