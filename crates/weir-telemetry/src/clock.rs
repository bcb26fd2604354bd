//! The only place in this crate that reads time.

use jiff::Timestamp;
use rustix::time::{ClockId, Timespec, clock_gettime};

use weir_core::exchange::WallTime;
use weir_core::timeline::Stamp;

/// The monotonic clock that the data path stamps with; whoever needs it is handed it.
pub type Clock = fn() -> Stamp;

/// Now, by the wall clock.
pub(crate) fn wall() -> WallTime {
    WallTime(nanos(clock_gettime(ClockId::Realtime)))
}

/// A wall-clock time as RFC 3339 in UTC, with nanoseconds. Absent for a year of five digits.
pub(crate) fn rfc3339(time: WallTime) -> Option<String> {
    let timestamp = Timestamp::from_nanosecond(time.0.into()).ok()?;
    Some(format!("{timestamp:.9}"))
}

/// The clock does not stand before its zero on a machine that serves anyone.
fn nanos(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use weir_core::exchange::WallTime;

    use super::{rfc3339, wall};

    #[test]
    fn a_time_is_written_with_all_its_nanoseconds() {
        let text = rfc3339(WallTime(1_709_210_096_000_000_070)).unwrap();
        assert_eq!(text, "2024-02-29T12:34:56.000000070Z");
        assert!(rfc3339(WallTime(u64::MAX)).unwrap().starts_with("2554-"));
    }

    #[test]
    fn wall_time_lies_after_this_was_written() {
        assert!(wall().0 > 1_700_000_000_000_000_000);
    }
}
