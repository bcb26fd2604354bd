//! Keeps a failure that happens a thousand times a second from filling the log.

use weir_core::timeline::Stamp;

/// One message in this time.
const PERIOD_NS: u64 = 10_000_000_000;

/// Lets one message through every ten seconds, and counts those in between.
#[derive(Debug, Default)]
pub(crate) struct RateLimit {
    last: Option<Stamp>,
    held_back: u64,
}

impl RateLimit {
    /// Whether to speak now; if so, how many were held back since the last time.
    pub(crate) fn pass(&mut self, now: Stamp) -> Option<u64> {
        if self.last.is_some_and(|last| now.since(last).0 < PERIOD_NS) {
            self.held_back += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.held_back))
    }
}

#[cfg(test)]
mod tests {
    use weir_core::timeline::Stamp;

    use super::{PERIOD_NS, RateLimit};

    #[test]
    fn one_passes_and_the_rest_is_counted() {
        let mut limit = RateLimit::default();
        assert_eq!(limit.pass(Stamp(5)), Some(0));
        assert_eq!(limit.pass(Stamp(6)), None);
        assert_eq!(limit.pass(Stamp(PERIOD_NS)), None);
        assert_eq!(limit.pass(Stamp(PERIOD_NS + 5)), Some(2));
    }
}
