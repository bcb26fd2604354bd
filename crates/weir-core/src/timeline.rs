//! When things happened in an exchange: one array of offsets, indexed by [`Mark`].
//! Durations are derived from it and never stored.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point on the machine's monotonic clock, in nanoseconds (`CLOCK_MONOTONIC` on Linux).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The time from `earlier` to this stamp; zero if `earlier` lies after it.
    pub const fn since(self, earlier: Stamp) -> Offset {
        Offset(self.0.saturating_sub(earlier.0))
    }

    /// This stamp moved on by `offset`.
    pub const fn plus(self, offset: Offset) -> Stamp {
        Stamp(self.0.saturating_add(offset.0))
    }
}

/// Nanoseconds since the exchange was received, or between two marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(pub u64);

impl Offset {
    /// Seconds, as metrics and records give them.
    pub fn as_secs_f64(self) -> f64 {
        Duration::from_nanos(self.0).as_secs_f64()
    }

    /// The same length of time as a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl From<Duration> for Offset {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The moments of an exchange, in the order in which they normally come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The request head was read. Offset 0 by definition.
    Received,
    /// The request body was read (or its buffer filled) and admission was asked for.
    Queued,
    /// Admission was granted.
    Admitted,
    /// An upstream connection stood ready.
    Connected,
    /// The request was handed to that connection.
    Dispatched,
    /// The response head was read.
    ResponseHead,
    /// The first byte of the response body came; comments count.
    FirstByte,
    /// The first event with JSON came.
    FirstEvent,
    /// The first event that carries output came.
    FirstToken,
    /// The first output that is not reasoning came.
    FirstAnswer,
    /// The last event that carries output came.
    LastToken,
    /// The terminal event came.
    Terminal,
    /// The exchange was over, however it ended.
    Ended,
}

impl Mark {
    /// Every mark, in order.
    pub const ALL: [Mark; 13] = [
        Mark::Received,
        Mark::Queued,
        Mark::Admitted,
        Mark::Connected,
        Mark::Dispatched,
        Mark::ResponseHead,
        Mark::FirstByte,
        Mark::FirstEvent,
        Mark::FirstToken,
        Mark::FirstAnswer,
        Mark::LastToken,
        Mark::Terminal,
        Mark::Ended,
    ];

    /// The name as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mark::Received => "received",
            Mark::Queued => "queued",
            Mark::Admitted => "admitted",
            Mark::Connected => "connected",
            Mark::Dispatched => "dispatched",
            Mark::ResponseHead => "response_head",
            Mark::FirstByte => "first_byte",
            Mark::FirstEvent => "first_event",
            Mark::FirstToken => "first_token",
            Mark::FirstAnswer => "first_answer",
            Mark::LastToken => "last_token",
            Mark::Terminal => "terminal",
            Mark::Ended => "ended",
        }
    }
}

/// The sentinel of a mark that never came. An exchange of 584 years would be needed to reach it.
const ABSENT: u64 = u64::MAX;

/// The marks of one exchange as offsets from [`Mark::Received`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    offsets: [u64; Mark::ALL.len()],
}

impl Default for Timeline {
    fn default() -> Self {
        let mut offsets = [ABSENT; Mark::ALL.len()];
        offsets[Mark::Received as usize] = 0;
        Self { offsets }
    }
}

impl Timeline {
    /// Sets a mark, or moves it if it was set already.
    pub fn set(&mut self, mark: Mark, at: Offset) {
        self.offsets[mark as usize] = at.0;
    }

    /// Sets a mark unless it was set before: for the first of a kind.
    pub fn set_first(&mut self, mark: Mark, at: Offset) {
        if self.offsets[mark as usize] == ABSENT {
            self.offsets[mark as usize] = at.0;
        }
    }

    /// Takes a mark back: it came, and when is not known.
    pub fn forget(&mut self, mark: Mark) {
        self.offsets[mark as usize] = ABSENT;
    }

    /// The offset of a mark, if it came.
    pub fn at(&self, mark: Mark) -> Option<Offset> {
        let offset = self.offsets[mark as usize];
        (offset != ABSENT).then_some(Offset(offset))
    }

    /// The time between two marks, if both came and in this order.
    pub fn between(&self, from: Mark, to: Mark) -> Option<Offset> {
        let (from, to) = (self.at(from)?, self.at(to)?);
        to.0.checked_sub(from.0).map(Offset)
    }

    /// The marks that came, in the order of [`Mark::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Mark, Offset)> + '_ {
        Mark::ALL.into_iter().filter_map(|mark| Some((mark, self.at(mark)?)))
    }

    /// Time spent waiting for admission.
    pub fn queue_wait(&self) -> Option<Offset> {
        self.between(Mark::Queued, Mark::Admitted)
    }

    /// Time to first token as the client sees it: from the request head, queue wait included.
    pub fn ttft(&self) -> Option<Offset> {
        self.at(Mark::FirstToken)
    }

    /// Time to first token as the upstream gives it: from the hand-over to its connection.
    pub fn upstream_ttft(&self) -> Option<Offset> {
        self.between(Mark::Dispatched, Mark::FirstToken)
    }

    /// End to end: to the last token of a stream, to the end of any other answer.
    pub fn e2e(&self) -> Option<Offset> {
        self.at(Mark::LastToken).or_else(|| self.at(Mark::Ended))
    }

    /// Time Weir itself took before the request was handed on: from the head to the hand-over,
    /// less `body_wait` (waiting for the client's body), the queue and the connecting.
    pub fn overhead(&self, body_wait: Offset) -> Option<Offset> {
        let taken = self.at(Mark::Dispatched)?.0;
        let queued = self.queue_wait().unwrap_or_default().0;
        let connecting = self.between(Mark::Admitted, Mark::Connected).unwrap_or_default().0;
        Some(Offset(taken.saturating_sub(body_wait.0 + queued + connecting)))
    }
}

/// As a map from mark to nanoseconds, without the marks that never came.
impl Serialize for Timeline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(mark, at)| (mark.as_str(), at.0)))
    }
}

impl<'de> Deserialize<'de> for Timeline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut timeline = Timeline::default();
        for (name, at) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let mark = Mark::ALL
                .into_iter()
                .find(|mark| mark.as_str() == name)
                .ok_or_else(|| D::Error::custom(format_args!("unknown mark `{name}`")))?;
            timeline.set(mark, Offset(at));
        }
        Ok(timeline)
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, Offset, Stamp, Timeline};

    #[test]
    fn marks_that_never_came_are_absent() {
        let mut timeline = Timeline::default();
        assert_eq!(timeline.at(Mark::Received), Some(Offset(0)));
        assert_eq!(timeline.ttft(), None);
        timeline.set_first(Mark::FirstToken, Offset(7));
        timeline.set_first(Mark::FirstToken, Offset(9));
        assert_eq!(timeline.ttft(), Some(Offset(7)));
        timeline.set(Mark::LastToken, Offset(9));
        timeline.set(Mark::LastToken, Offset(12));
        assert_eq!(timeline.e2e(), Some(Offset(12)));
        assert_eq!(timeline.between(Mark::LastToken, Mark::FirstToken), None);
        let names: Vec<_> = timeline.iter().map(|(mark, _)| mark.as_str()).collect();
        assert_eq!(names, ["received", "first_token", "last_token"]);
    }

    #[test]
    fn overhead_leaves_out_the_body_the_queue_and_the_connection() {
        let mut timeline = Timeline::default();
        for (mark, at) in
            [(Mark::Queued, 30), (Mark::Admitted, 130), (Mark::Connected, 170), (Mark::Dispatched, 175)]
        {
            timeline.set(mark, Offset(at));
        }
        assert_eq!(timeline.queue_wait(), Some(Offset(100)));
        assert_eq!(timeline.overhead(Offset(20)), Some(Offset(15)));
    }

    #[test]
    fn a_stamp_before_the_start_gives_zero_and_not_a_wrapped_number() {
        assert_eq!(Stamp(5).since(Stamp(9)), Offset(0));
    }
}
