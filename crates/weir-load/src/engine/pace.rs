//! When each token is due.

use std::time::Duration;

use rand::rngs::StdRng;

use super::config::{Behaviour, Interval};
use crate::arrival::{exponential_gap, mean_gap};

/// The due times of one request's tokens, counted from its admission. They are sums of what was
/// drawn, never of what was slept, so lateness does not add up.
#[derive(Debug)]
pub(crate) struct Pace {
    mean: Duration,
    interval: Interval,
    rng: StdRng,
    token: u32,
    due: Duration,
}

impl Pace {
    pub(crate) fn new(behaviour: &Behaviour, rng: StdRng) -> Self {
        Pace {
            mean: mean_gap(behaviour.tps),
            interval: behaviour.interval,
            rng,
            token: 0,
            due: behaviour.ttft,
        }
    }

    /// When a token is due; the time stands still for a token before the last one asked for.
    pub(crate) fn due(&mut self, token: u32) -> Duration {
        while self.token < token {
            self.token += 1;
            self.due = self.due.saturating_add(match self.interval {
                Interval::Fixed => self.mean,
                Interval::Exp => exponential_gap(self.mean, &mut self.rng),
            });
        }
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw;

    fn pace(interval: Interval, key: u64) -> Pace {
        let behaviour =
            Behaviour { ttft: Duration::from_millis(100), tps: 50.0, interval, ..Behaviour::default() };
        Pace::new(&behaviour, draw::generator(1, key))
    }

    #[test]
    fn fixed_tokens_are_due_at_equal_distances() {
        let mut pace = pace(Interval::Fixed, 1);
        assert_eq!([0, 1, 5].map(|token| pace.due(token).as_millis()), [100, 120, 200]);
        assert_eq!(pace.due(2).as_millis(), 200);
    }

    #[test]
    fn exponential_tokens_keep_the_mean_rate_and_depend_on_the_key_alone() {
        let mean = (pace(Interval::Exp, 1).due(20_000).as_secs_f64() - 0.1) / 20_000.0;
        assert!((mean - 0.02).abs() < 0.001, "mean gap {mean}");
        assert_eq!(pace(Interval::Exp, 1).due(7), pace(Interval::Exp, 1).due(7));
        assert_ne!(pace(Interval::Exp, 1).due(7), pace(Interval::Exp, 2).due(7));
    }

    #[test]
    fn without_bound_every_token_is_due_at_once() {
        let behaviour = Behaviour { tps: f64::INFINITY, ..Behaviour::default() };
        let mut pace = Pace::new(&behaviour, draw::generator(1, 1));
        assert_eq!(pace.due(1000), behaviour.ttft);
    }
}
