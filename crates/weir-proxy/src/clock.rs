//! Where time is read, and nowhere else in this crate.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use weir_core::exchange::WallTime;
use weir_core::timeline::Stamp;

/// The monotonic clock, in nanoseconds. Durations come from it alone: it never steps back.
pub fn monotonic() -> Stamp {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither part of a monotonic reading is negative.
    Stamp(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// The wall clock, read once an exchange, to say when it was received.
#[allow(clippy::disallowed_methods, reason = "this is the place where wall time is read")]
pub fn wall() -> WallTime {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime(u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX))
}
