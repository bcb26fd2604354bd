//! What is known at a moment, as plain data: what the API answers and dashboards show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffering::Buffering;
use crate::landmarks::MarkedMoment;
use crate::progress::Progress;
use crate::queue::LaneStatus;
use crate::time::Moment;

/// The form of the snapshot. It changes when a reader of the old form would misread the new one; fields
/// may be added without that.
pub const FORM: u32 = 1;

/// All that is known at a moment. What was not measured is absent, and never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// The form of the snapshot: [`FORM`].
    pub version: u32,
    /// When it was taken, in nanoseconds since the Unix epoch.
    pub at: Moment,
    /// When Weir started, in nanoseconds since the Unix epoch.
    pub started: Moment,
    /// The lanes of admission: Little's law, utilisation, and what their queues do.
    pub lanes: Vec<LaneStatus>,
    /// What is in flight, and whether it gets anywhere.
    pub in_flight: Progress,
    /// Hops that seem to hold streams back.
    pub buffering: Vec<Buffering>,
    /// What happened to Weir itself, the newest first.
    pub landmarks: Vec<MarkedMoment>,
}

impl Snapshot {
    /// What is known before anything was seen.
    pub fn empty(at: Moment, started: Moment) -> Self {
        Self {
            version: FORM,
            at,
            started,
            lanes: Vec::new(),
            in_flight: Progress {
                queued: 0,
                waiting: 0,
                prefill: 0,
                decode: 0,
                stalled: 0,
                no_progress_s: None,
                alarm: false,
                silent: Vec::new(),
            },
            buffering: Vec::new(),
            landmarks: Vec::new(),
        }
    }
}
