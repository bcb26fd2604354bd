//! Queueing formulas, and the running throughput they need.

use std::time::Duration;

use crate::timeline::Stamp;

/// Little's law: the mean number inside a stable system is the arrival rate (per second) times
/// the mean time inside.
pub fn littles_law(arrivals_per_second: f64, time_inside: Duration) -> f64 {
    arrivals_per_second * time_inside.as_secs_f64()
}

/// How long a newcomer will wait behind `depth` others when `throughput` of them leave a second:
/// Little's law solved for time. Absent while nothing is known to leave.
pub fn predicted_wait(depth: u64, throughput: f64) -> Option<Duration> {
    if !(throughput.is_finite() && throughput > 0.0) {
        return None;
    }
    Duration::try_from_secs_f64(depth as f64 / throughput).ok()
}

/// The least and the most that `Retry-After` says, in seconds: common clients ignore more.
const RETRY_AFTER_SECONDS: std::ops::RangeInclusive<u64> = 1..=60;

/// The value of `Retry-After` for a predicted wait: whole seconds, rounded up, within 1 to 60; 1
/// when no wait can be predicted.
pub fn retry_after(wait: Option<Duration>) -> u64 {
    let seconds = wait.map_or(0, |wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
    seconds.clamp(*RETRY_AFTER_SECONDS.start(), *RETRY_AFTER_SECONDS.end())
}

/// A rate of events with exponential forgetting: what happened `HORIZON` ago counts 1/e.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    weight: f64,
    first: Option<Stamp>,
    last: Stamp,
}

/// How far back a [`Rate`] remembers.
const HORIZON: Duration = Duration::from_secs(30);

impl Rate {
    /// Counts one event at `now`.
    pub fn count(&mut self, now: Stamp) {
        self.weight = self.faded(now) + 1.0;
        self.first.get_or_insert(now);
        self.last = now;
    }

    /// Events per second as of `now`; zero before the first.
    pub fn per_second(&self, now: Stamp) -> f64 {
        let Some(first) = self.first else { return 0.0 };
        // While it is younger than its horizon a fading count has not seen its full share:
        // after an age of a, 1 − e^(−a/HORIZON) of it. The floor keeps the first events finite.
        let age = now.since(first).as_secs_f64() / HORIZON.as_secs_f64();
        let seen = (1.0 - (-age).exp()).max(1.0 / HORIZON.as_secs_f64());
        self.faded(now) / (HORIZON.as_secs_f64() * seen)
    }

    fn faded(&self, now: Stamp) -> f64 {
        self.weight * (-now.since(self.last).as_secs_f64() / HORIZON.as_secs_f64()).exp()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Rate, littles_law, predicted_wait, retry_after};
    use crate::timeline::Stamp;

    #[test]
    fn ten_ahead_at_four_a_second_wait_two_and_a_half_seconds() {
        let wait = predicted_wait(10, 4.0);
        assert_eq!(wait, Some(Duration::from_millis(2500)));
        assert_eq!(retry_after(wait), 3);
        assert_eq!(littles_law(4.0, Duration::from_millis(2500)), 10.0);
    }

    #[test]
    fn retry_after_stays_within_what_clients_honour() {
        assert_eq!(retry_after(None), 1);
        assert_eq!(retry_after(Some(Duration::ZERO)), 1);
        assert_eq!(retry_after(Some(Duration::from_secs(4))), 4);
        assert_eq!(retry_after(Some(Duration::from_secs(86_400))), 60);
        assert_eq!(predicted_wait(5, 0.0), None);
        assert_eq!(predicted_wait(5, f64::NAN), None);
    }

    #[test]
    fn a_steady_rate_is_found_and_forgotten() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(Stamp(0)), 0.0);
        let second = 1_000_000_000;
        for i in 0..100 {
            rate.count(Stamp(i * second / 5));
        }
        let found = rate.per_second(Stamp(100 * second / 5));
        assert!((found - 5.0).abs() < 0.3, "{found}");
        assert!(rate.per_second(Stamp(1000 * second)) < 0.001);
    }
}
