//! When requests arrive: Poisson, constant, or as fast as a fixed number of clients ask.

use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use rand_distr::Exp1;

use crate::clock::FOREVER;
use crate::draw;

/// Keys the arrival times apart from every request's own draws.
const ARRIVALS: u64 = u64::MAX;

/// An arrival process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// Independent arrivals at a mean rate: exponential gaps.
    Poisson {
        /// Mean arrivals per second.
        per_second: f64,
    },
    /// Equal gaps.
    Constant {
        /// Arrivals per second.
        per_second: f64,
    },
    /// A fixed number of clients; each asks again when its answer has ended.
    Closed {
        /// How many clients.
        clients: usize,
    },
}

impl Arrival {
    /// The endless gaps between arrivals, the first one counted from the start.
    pub fn gaps(self, seed: u64) -> Gaps {
        let mean = match self {
            Arrival::Poisson { per_second } | Arrival::Constant { per_second } => mean_gap(per_second),
            Arrival::Closed { .. } => Duration::ZERO,
        };
        Gaps { mean, random: matches!(self, Arrival::Poisson { .. }), rng: draw::generator(seed, ARRIVALS) }
    }
}

/// The mean gap of a rate. A rate without bound, or one that is not above zero, gives no gap.
pub(crate) fn mean_gap(per_second: f64) -> Duration {
    let gap = Duration::try_from_secs_f64(1.0 / per_second).unwrap_or_default();
    gap.min(FOREVER)
}

/// A gap around `mean`, drawn from the exponential distribution.
pub(crate) fn exponential_gap(mean: Duration, rng: &mut StdRng) -> Duration {
    mean.mul_f64(rng.sample::<f64, _>(Exp1))
}

/// Iterator over the gaps of an [`Arrival`] process; it never ends.
#[derive(Debug)]
pub struct Gaps {
    mean: Duration,
    random: bool,
    rng: StdRng,
}

impl Iterator for Gaps {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(if self.random { exponential_gap(self.mean, &mut self.rng) } else { self.mean })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(arrival: Arrival, seed: u64, count: usize) -> Vec<Duration> {
        arrival.gaps(seed).take(count).collect()
    }

    #[test]
    fn constant_arrivals_have_equal_gaps() {
        let gaps = first(Arrival::Constant { per_second: 40.0 }, 1, 3);
        assert_eq!(gaps, vec![Duration::from_millis(25); 3]);
    }

    #[test]
    fn closed_arrivals_do_not_wait() {
        let gaps = first(Arrival::Closed { clients: 4 }, 1, 2);
        assert_eq!(gaps, vec![Duration::ZERO; 2]);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let gaps = first(Arrival::Poisson { per_second: 100.0 }, 7, 20_000);
        let mean = gaps.iter().sum::<Duration>().as_secs_f64() / 20_000.0;
        assert!((mean - 0.01).abs() < 0.0005, "mean gap {mean}");
        // An exponential exceeds its mean with probability 1/e.
        let long = gaps.iter().filter(|gap| gap.as_secs_f64() > 0.01).count() as f64 / 20_000.0;
        assert!((long - (-1f64).exp()).abs() < 0.02, "share above the mean {long}");
    }

    #[test]
    fn the_seed_alone_decides() {
        let poisson = Arrival::Poisson { per_second: 10.0 };
        assert_eq!(first(poisson, 3, 5), first(poisson, 3, 5));
        assert_ne!(first(poisson, 3, 5), first(poisson, 4, 5));
    }

    #[test]
    fn a_rate_near_zero_gives_a_gap_that_can_be_reckoned_with() {
        assert_eq!(mean_gap(1e-15), FOREVER);
        let gaps = first(Arrival::Poisson { per_second: 1e-15 }, 1, 100);
        assert!(gaps.iter().all(|gap| *gap < FOREVER * 100));
    }

    #[test]
    fn a_rate_that_gives_no_gap() {
        for rate in [f64::INFINITY, 0.0, -1.0, f64::NAN] {
            assert_eq!(mean_gap(rate), Duration::ZERO);
        }
    }
}
