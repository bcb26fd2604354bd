//! How long to wait before trying again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(15);

/// Waits that double, with chance in them: senders that failed together do not come back together.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    /// The next wait; no shorter than what was asked for.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let wait = self.next.mul_f64(rand::random_range(0.75..1.25));
        self.next = (self.next * 2).min(LONGEST);
        wait.max(asked.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backoff, FIRST, LONGEST};

    #[test]
    fn waits_double_up_to_a_bound_and_heed_what_is_asked() {
        let mut backoff = Backoff::default();
        let mut expected = FIRST;
        for _ in 0..10 {
            let wait = backoff.next(None);
            assert!(wait >= expected.mul_f64(0.75) && wait <= expected.mul_f64(1.25), "{wait:?}");
            expected = (expected * 2).min(LONGEST);
        }
        assert_eq!(Backoff::default().next(Some(Duration::from_secs(40))), Duration::from_secs(40));
    }
}
