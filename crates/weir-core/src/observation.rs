//! What flows down from the data path and the sensors to the recorders.

use serde::{Deserialize, Serialize};

use crate::exchange::{Exchange, ExchangeId, Pulse, Side, WallTime};
use crate::inflight::Phase;
use crate::lanes::LaneReading;
use crate::timeline::{Offset, Stamp};

/// One observation. Record files hold one a line, tagged by its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Observation {
    /// An exchange is over.
    Exchange(Box<Exchange>),
    /// An exchange put out tokens.
    Pulse(Box<Pulse>),
    /// A second has passed.
    Tick(Box<Tick>),
    /// Something happened to Weir itself.
    Landmark(Box<Landmark>),
}

/// A look at the whole, once a second. Whatever is worked out from observations goes by these for its
/// time, so that a recorded file gives the same answers again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// When, by the monotonic clock.
    pub at: Stamp,
    /// The same moment by the wall clock.
    pub wall: WallTime,
    /// The lanes of admission.
    #[serde(default)]
    pub lanes: Vec<LaneReading>,
    /// What is in flight.
    #[serde(default)]
    pub in_flight: InFlight,
}

/// What is in flight at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// How many are in each phase, in the order of [`Phase::ALL`].
    pub phases: [u64; Phase::ALL.len()],
    /// How many have put out a token and then stood still for longer than `stall_after`.
    pub stalled: u64,
    /// Those that have stood still the longest, the longest first, at most [`LISTED_SILENCES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<Silence>,
}

/// As many silent exchanges are told one by one. All are counted.
pub const LISTED_SILENCES: usize = 16;

/// An exchange in flight that has not moved for longer than `stall_after`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// Which.
    pub id: ExchangeId,
    /// The model asked for.
    pub model: Option<Box<str>>,
    /// Where it stands.
    pub phase: Phase,
    /// How long ago its request came.
    pub age: Offset,
    /// How long nothing has moved.
    pub length: Offset,
    /// Which side is silent.
    pub side: Side,
    /// Tokens so far.
    pub tokens: u64,
}

/// A moment worth knowing when the history is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landmark {
    /// When, by the monotonic clock.
    pub at: Stamp,
    /// The same moment by the wall clock.
    pub wall: WallTime,
    /// What happened.
    pub event: LandmarkEvent,
    /// The particulars, for people.
    pub detail: Box<str>,
}

/// What can happen to Weir itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandmarkEvent {
    /// Weir started.
    Started,
    /// The configuration was read again.
    Reloaded,
    /// A limit changed.
    LimitChanged,
    /// An alert's action was carried out.
    ActionFired,
    /// An alert began to fire.
    AlertFiring,
    /// An alert ceased to fire.
    AlertResolved,
}

impl LandmarkEvent {
    /// The name as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Reloaded => "reloaded",
            Self::LimitChanged => "limit_changed",
            Self::ActionFired => "action_fired",
            Self::AlertFiring => "alert_firing",
            Self::AlertResolved => "alert_resolved",
        }
    }
}
