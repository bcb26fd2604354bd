//! Time as the analysis counts it: as even as the monotonic clock, and comparable across restarts.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::exchange::WallTime;
use weir_core::timeline::Stamp;

/// Nanoseconds since the Unix epoch. Within one process it goes on as the monotonic clock does.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    /// The time from `earlier` to this moment; zero if `earlier` lies after it.
    pub const fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This moment moved on by `time`.
    pub fn plus(self, time: Duration) -> Moment {
        Moment(self.0.saturating_add(nanos(time)))
    }

    /// This moment moved back by `time`.
    pub fn minus(self, time: Duration) -> Moment {
        Moment(self.0.saturating_sub(nanos(time)))
    }

    /// Whole periods of this length since the Unix epoch.
    pub fn periods(self, length: Duration) -> u64 {
        self.0 / nanos(length).max(1)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What ties the monotonic clock to the calendar: one moment by both, taken at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// By the monotonic clock.
    pub mono: Stamp,
    /// By the wall clock.
    pub wall: WallTime,
}

impl Epoch {
    /// The moment of a stamp. Later changes of the wall clock do not move it.
    pub const fn moment(self, stamp: Stamp) -> Moment {
        Moment(match stamp.0.checked_sub(self.mono.0) {
            Some(later) => self.wall.0.saturating_add(later),
            None => self.wall.0.saturating_sub(self.mono.0 - stamp.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_core::exchange::WallTime;
    use weir_core::timeline::Stamp;

    use super::{Epoch, Moment};

    #[test]
    fn a_stamp_before_the_start_has_its_moment_too() {
        let epoch = Epoch { mono: Stamp(100), wall: WallTime(1_000) };
        assert_eq!(epoch.moment(Stamp(130)), Moment(1_030));
        assert_eq!(epoch.moment(Stamp(70)), Moment(970));
    }

    #[test]
    fn periods_are_counted_from_the_unix_epoch() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(Moment(7_199_999_999_999).periods(hour), 1);
        assert_eq!(Moment(0).plus(hour).plus(hour).periods(hour), 2);
        assert_eq!(Moment(5).minus(hour), Moment(0));
        assert_eq!(Moment(5).since(Moment(7)), Duration::ZERO);
    }
}
