//! Live gauges of the admission lanes: written by admission, read by whoever shows them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::stage::{StageGauge, StageReading};
use crate::timeline::Stamp;

/// The lane that every admitted request passes.
pub const GLOBAL: &str = "global";

/// The lane of a request whose model could not be read.
pub const UNKNOWN: &str = "unknown";

/// Stands for all models that there is no room to tell apart.
pub const OTHER: &str = "other";

/// The stand-in for "no limit".
pub const UNLIMITED: u64 = u64::MAX;

/// One lane's gauges and counters.
#[derive(Debug)]
pub struct LaneGauge {
    /// [`GLOBAL`], or the model's name.
    pub name: Box<str>,
    /// The limit in force; [`UNLIMITED`] without one.
    pub limit: AtomicU64,
    /// Waiting now.
    pub queued: AtomicU64,
    /// Admitted and not over.
    pub in_flight: AtomicU64,
    /// Arrivals so far, whether admitted, queued or turned away.
    pub arrivals: AtomicU64,
    /// Permits given back so far.
    pub completions: AtomicU64,
    /// Turned away because the queue was full.
    pub rejected_full: AtomicU64,
    /// Left because the queue timeout ran out.
    pub timed_out: AtomicU64,
    /// Left because their client did.
    pub abandoned: AtomicU64,
    /// Waits of those admitted, summed, in nanoseconds.
    pub wait_ns: AtomicU64,
    /// The stages that its requests pass through.
    pub stages: Stages<StageGauge>,
}

/// One of a kind for each stage of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages<T> {
    /// In the line, waiting for admission. Who is turned away at once was never in it.
    pub queue: T,
    /// From admission to the first token, or to the end of an answer without one.
    pub prefill: T,
    /// From the first token to the end.
    pub decode: T,
}

impl LaneGauge {
    fn new(name: &str) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            name: name.into(),
            limit: AtomicU64::new(UNLIMITED),
            queued: zero(),
            in_flight: zero(),
            arrivals: zero(),
            completions: zero(),
            rejected_full: zero(),
            timed_out: zero(),
            abandoned: zero(),
            wait_ns: zero(),
            stages: Stages::default(),
        }
    }

    /// What it shows at `now`.
    pub fn read(&self, now: Stamp) -> LaneReading {
        let Stages { queue, prefill, decode } = &self.stages;
        LaneReading {
            name: self.name.clone(),
            limit: self.limit(),
            queued: self.queued.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            arrivals: self.arrivals.load(Relaxed),
            completions: self.completions.load(Relaxed),
            rejected_full: self.rejected_full.load(Relaxed),
            timed_out: self.timed_out.load(Relaxed),
            abandoned: self.abandoned.load(Relaxed),
            wait_ns: self.wait_ns.load(Relaxed),
            stages: Stages { queue: queue.read(now), prefill: prefill.read(now), decode: decode.read(now) },
        }
    }

    /// The limit in force, if there is one.
    pub fn limit(&self) -> Option<u64> {
        let limit = self.limit.load(Relaxed);
        (limit != UNLIMITED).then_some(limit)
    }
}

/// One look at a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReading {
    /// [`GLOBAL`], or the model's name.
    pub name: Box<str>,
    /// The limit in force, if there is one.
    pub limit: Option<u64>,
    /// Waiting now.
    pub queued: u64,
    /// Admitted and not over.
    pub in_flight: u64,
    /// Arrivals so far, whether admitted, queued or turned away.
    pub arrivals: u64,
    /// Permits given back so far.
    pub completions: u64,
    /// Turned away so far because the queue was full.
    pub rejected_full: u64,
    /// Left so far because the queue timeout ran out.
    pub timed_out: u64,
    /// Left so far because their client did.
    pub abandoned: u64,
    /// Waits of those admitted, summed, in nanoseconds.
    pub wait_ns: u64,
    /// The stages that its requests pass through.
    #[serde(default)]
    pub stages: Stages<StageReading>,
}

impl LaneReading {
    /// How many did not get to the upstream for want of room or time.
    pub const fn turned_away(&self) -> u64 {
        self.rejected_full + self.timed_out
    }
}

/// All lanes of a process. There is one for each model that has limits of its own, and the global
/// one, so configuration bounds their number.
#[derive(Debug, Default)]
pub struct Lanes {
    // Taken when a lane is made and when gauges are read: a few times a second at most.
    lanes: Mutex<Vec<Arc<LaneGauge>>>,
}

impl Lanes {
    /// The gauges of a lane, made at the first use.
    pub fn gauge(&self, name: &str) -> Arc<LaneGauge> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.iter().find(|lane| &*lane.name == name) {
            return Arc::clone(lane);
        }
        let lane = Arc::new(LaneGauge::new(name));
        lanes.push(Arc::clone(&lane));
        lane
    }

    /// Every lane, in the order in which they were made.
    pub fn list(&self) -> Vec<Arc<LaneGauge>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
