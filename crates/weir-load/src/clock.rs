//! The only place in this crate that reads time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// Longer than anything here runs, and short enough to be added to any time.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Nanoseconds of `CLOCK_MONOTONIC`, comparable between the processes of one machine.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // The monotonic clock starts at boot and never goes below zero.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Now, for deadlines to sleep towards.
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_never_goes_back() {
        let first = monotonic_ns();
        let second = monotonic_ns();
        assert!(first > 0 && second >= first);
    }
}
