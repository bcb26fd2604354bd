//! Moments worth knowing when the history is looked at, each with what was before it and after.

use std::collections::VecDeque;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::observation::LandmarkEvent;

use crate::time::Moment;

/// As many are kept; the oldest goes first.
const KEPT: usize = 256;

/// After this long what came after is known.
const AFTER: Duration = Duration::from_secs(60);

/// The last landmarks.
#[derive(Clone, Debug, Default)]
pub struct Landmarks {
    kept: VecDeque<MarkedMoment>,
}

/// Something that happened to Weir itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MarkedMoment {
    /// When, in nanoseconds since the Unix epoch.
    pub at: Moment,
    /// `started`, `reloaded`, `limit_changed`, `action_fired`, `alert_firing` or `alert_resolved`.
    pub event: String,
    /// The particulars, for people.
    pub detail: String,
    /// Figures of the minute before.
    pub before: Surroundings,
    /// Figures of the minute after; absent until it has passed.
    pub after: Option<Surroundings>,
}

/// What a landmark may have changed. Absent where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Surroundings {
    /// 95th percentile of the time to first token, in seconds.
    pub ttft_p95_s: Option<f64>,
    /// Output tokens per second.
    pub output_tps: Option<f64>,
    /// Requests waiting for admission.
    pub queue_depth: Option<f64>,
}

impl Landmarks {
    /// Something happened at `at`, and this is how it had been.
    pub fn add(&mut self, at: Moment, event: LandmarkEvent, detail: &str, before: Surroundings) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        let (event, detail) = (event.as_str().to_owned(), detail.to_owned());
        self.kept.push_back(MarkedMoment { at, event, detail, before, after: None });
    }

    /// Whether the minute after some landmark has passed by `now`.
    pub fn is_due(&self, now: Moment) -> bool {
        self.kept.iter().any(|landmark| landmark.is_due(now))
    }

    /// This is how it is at `now`, for those whose minute has passed.
    pub fn settle(&mut self, now: Moment, after: Surroundings) {
        for landmark in self.kept.iter_mut().filter(|landmark| landmark.is_due(now)) {
            landmark.after = Some(after);
        }
    }

    /// The newest first.
    pub fn list(&self) -> Vec<MarkedMoment> {
        self.kept.iter().rev().cloned().collect()
    }
}

impl MarkedMoment {
    fn is_due(&self, now: Moment) -> bool {
        self.after.is_none() && now.since(self.at) >= AFTER
    }
}

#[cfg(test)]
mod tests {
    use weir_core::observation::LandmarkEvent;

    use super::{KEPT, Landmarks, Surroundings};
    use crate::time::Moment;

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_came_after_is_known_after_a_minute_and_once() {
        let depth = |queue_depth| Surroundings { queue_depth: Some(queue_depth), ..Surroundings::default() };
        let mut landmarks = Landmarks::default();
        landmarks.add(Moment(10 * S), LandmarkEvent::LimitChanged, "global: 64 to 32", depth(5.0));
        assert!(!landmarks.is_due(Moment(69 * S)));
        assert!(landmarks.is_due(Moment(70 * S)));
        landmarks.settle(Moment(70 * S), depth(40.0));
        landmarks.settle(Moment(71 * S), depth(80.0));
        assert!(!landmarks.is_due(Moment(71 * S)));
        let list = landmarks.list();
        assert_eq!(list[0].event, "limit_changed");
        assert_eq!((list[0].before, list[0].after), (depth(5.0), Some(depth(40.0))));
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut landmarks = Landmarks::default();
        for n in 0..=KEPT as u64 {
            landmarks.add(Moment(n), LandmarkEvent::Reloaded, "", Surroundings::default());
        }
        let list = landmarks.list();
        assert_eq!((list.len(), list[0].at, list[KEPT - 1].at), (KEPT, Moment(KEPT as u64), Moment(1)));
    }
}
