//! Lanes over time: Little's law stage by stage, utilisation, the wait to expect, and what makes a queue
//! grow.

mod law;
#[cfg(test)]
mod tests;
mod verdict;

pub use law::{Law, StageLaw};
pub use verdict::{QueueState, QueueVerdict};

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::lanes::LaneReading;
use weir_core::queueing::predicted_wait;

use crate::scope::Window;
use crate::time::Moment;

/// How far back lanes are looked at.
const HISTORY: Duration = Duration::from_secs(300);

/// Readings of a lane that are kept: one a second, and the one that the history counts from.
const MAX_READINGS: usize = 302;

/// Lanes are named by configuration; this is a fence, not a limit.
const MAX_LANES: usize = 1_024;

/// What lanes have shown in the last five minutes.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    lanes: BTreeMap<Box<str>, Readings>,
}

/// The readings of one lane, oldest first.
#[derive(Clone, Debug, Default)]
struct Readings(VecDeque<Reading>);

#[derive(Clone, Debug)]
struct Reading {
    at: Moment,
    lane: LaneReading,
}

/// A lane at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaneStatus {
    /// `global`, or the model's name.
    pub lane: String,
    /// How many requests may be at the upstream at once, if that is limited.
    pub limit: Option<u64>,
    /// Waiting now.
    pub queued: u64,
    /// Admitted and not over.
    pub in_flight: u64,
    /// Mean number at the upstream over the limit, in the last minute: 1 is full. Absent without a limit.
    pub utilisation: Option<f64>,
    /// How long a newcomer would wait, in seconds: Little's law solved for the time, by the requests that
    /// left the upstream in the last minute. Zero while nobody waits; absent while nothing leaves.
    pub predicted_wait_s: Option<f64>,
    /// Little's law over the last minute and the last five.
    pub laws: Vec<Law>,
    /// What the queue does, and why.
    pub queue: QueueVerdict,
}

impl Queues {
    /// Takes in the lanes of a tick.
    pub fn tick(&mut self, at: Moment, lanes: &[LaneReading]) {
        for lane in lanes {
            if self.lanes.len() < MAX_LANES || self.lanes.contains_key(&lane.name) {
                self.lanes.entry(lane.name.clone()).or_default().add(at, lane);
            }
        }
        // A lane that configuration has dropped is not shown by ticks any more.
        self.lanes
            .retain(|_, readings| readings.newest().is_some_and(|newest| at.since(newest.at) < HISTORY));
    }

    /// Every lane, in the order of names.
    pub fn status(&self) -> Vec<LaneStatus> {
        self.lanes.values().filter_map(Readings::status).collect()
    }

    /// How many wait in a lane.
    pub fn queued(&self, lane: &str) -> Option<u64> {
        Some(self.lanes.get(lane)?.newest()?.lane.queued)
    }

    /// How many of a lane are at the upstream.
    pub fn in_flight(&self, lane: &str) -> Option<u64> {
        Some(self.lanes.get(lane)?.newest()?.lane.in_flight)
    }

    /// See [`LaneStatus::utilisation`].
    pub fn utilisation(&self, lane: &str) -> Option<f64> {
        self.lanes.get(lane)?.utilisation()
    }

    /// See [`LaneStatus::predicted_wait_s`].
    pub fn predicted_wait(&self, lane: &str) -> Option<f64> {
        self.lanes.get(lane)?.predicted_wait()
    }
}

impl Readings {
    fn add(&mut self, at: Moment, lane: &LaneReading) {
        if let Some(newest) = self.newest() {
            if at <= newest.at {
                return;
            }
            // Counters start anew with the process.
            if lane.arrivals < newest.lane.arrivals || lane.completions < newest.lane.completions {
                self.0.clear();
            }
        }
        self.0.push_back(Reading { at, lane: lane.clone() });
        // The first one that is old enough is what the history counts from.
        while self.0.get(1).is_some_and(|second| at.since(second.at) >= HISTORY)
            || self.0.len() > MAX_READINGS
        {
            self.0.pop_front();
        }
    }

    fn newest(&self) -> Option<&Reading> {
        self.0.back()
    }

    /// The last reading that is at least `age` old; the oldest there is where none is that old.
    fn back(&self, age: Duration) -> Option<&Reading> {
        let newest = self.newest()?;
        let younger = self.0.partition_point(|reading| newest.at.since(reading.at) >= age);
        self.0.get(younger.saturating_sub(1))
    }

    fn status(&self) -> Option<LaneStatus> {
        let Reading { lane, .. } = self.newest()?;
        Some(LaneStatus {
            lane: lane.name.to_string(),
            limit: lane.limit,
            queued: lane.queued,
            in_flight: lane.in_flight,
            utilisation: self.utilisation(),
            predicted_wait_s: self.predicted_wait(),
            laws: [Window::Minute, Window::FiveMinutes]
                .into_iter()
                .filter_map(|window| self.law(window))
                .collect(),
            queue: self.verdict(),
        })
    }

    fn law(&self, window: Window) -> Option<Law> {
        Law::between(window, self.back(window.length())?, self.newest()?)
    }

    fn utilisation(&self) -> Option<f64> {
        let (from, to) = (self.back(Window::Minute.length())?, self.newest()?);
        let limit = to.lane.limit.filter(|limit| *limit > 0)?;
        Some(from.mean_at_upstream(to)? / limit as f64)
    }

    fn predicted_wait(&self) -> Option<f64> {
        let (from, to) = (self.back(Window::Minute.length())?, self.newest()?);
        if to.lane.queued == 0 {
            return Some(0.0);
        }
        let wait = predicted_wait(to.lane.queued + 1, from.completions_per_s(to)?);
        wait.map(|wait| wait.as_secs_f64())
    }
}

impl Reading {
    /// Seconds until a later reading; absent where it is not later.
    fn until(&self, later: &Reading) -> Option<f64> {
        let seconds = later.at.since(self.at).as_secs_f64();
        (seconds > 0.0).then_some(seconds)
    }

    fn per_s(&self, later: &Reading, of: impl Fn(&LaneReading) -> u64) -> Option<f64> {
        Some(of(&later.lane).saturating_sub(of(&self.lane)) as f64 / self.until(later)?)
    }

    fn arrivals_per_s(&self, later: &Reading) -> Option<f64> {
        self.per_s(later, |lane| lane.arrivals)
    }

    fn completions_per_s(&self, later: &Reading) -> Option<f64> {
        self.per_s(later, |lane| lane.completions)
    }

    fn mean_at_upstream(&self, later: &Reading) -> Option<f64> {
        let inside = |lane: &LaneReading| lane.stages.prefill.inside_ns + lane.stages.decode.inside_ns;
        self.per_s(later, inside).map(|nanos| nanos / 1e9)
    }

    fn mean_queued(&self, later: &Reading) -> Option<f64> {
        self.per_s(later, |lane| lane.stages.queue.inside_ns).map(|nanos| nanos / 1e9)
    }

    /// Mean seconds at the upstream of those that left it.
    fn time_at_upstream(&self, later: &Reading) -> Option<f64> {
        let time = |lane: &LaneReading| lane.stages.prefill.time_ns + lane.stages.decode.time_ns;
        let left = later.lane.completions.checked_sub(self.lane.completions).filter(|left| *left > 0)?;
        Some(time(&later.lane).saturating_sub(time(&self.lane)) as f64 / 1e9 / left as f64)
    }
}
