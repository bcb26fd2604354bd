//! What is known at a moment, as plain data: what the API answers and dashboards show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alert::AlertStatus;
use crate::buffering::Buffering;
use crate::cost::CostSummary;
use crate::landmarks::MarkedMoment;
use crate::progress::Progress;
use crate::queue::LaneStatus;
use crate::scope::{Scope, Window};
use crate::slo::{ErrorClasses, SloStatus};
use crate::time::Moment;
use crate::window::{Figures, Memory, Sparklines};

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
    /// Figures of windows that have any: of everything first, then by model, then by upstream.
    pub figures: Vec<ScopeFigures>,
    /// The last hour of everything, as lines to be drawn.
    pub history: Option<Sparklines>,
    /// How SLOs stand, in the order of configuration.
    pub slos: Vec<SloStatus>,
    /// Errors by class.
    pub error_classes: ErrorClasses,
    /// The alerts, in the order of their rules; empty where there are no rules.
    pub alerts: Vec<AlertStatus>,
    /// What exchanges cost.
    pub cost: CostSummary,
    /// The lanes of admission: Little's law, utilisation, and what their queues do.
    pub lanes: Vec<LaneStatus>,
    /// What is in flight, and whether it gets anywhere.
    pub in_flight: Progress,
    /// Hops that seem to hold streams back.
    pub buffering: Vec<Buffering>,
    /// What happened to Weir itself, the newest first.
    pub landmarks: Vec<MarkedMoment>,
    /// What the windows hold.
    pub memory: Memory,
}

/// Figures of one window of one scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeFigures {
    /// What they are figures of.
    pub scope: Scope,
    /// Over which window.
    pub window: Window,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Snapshot {
    /// What is known before anything was seen.
    pub fn empty(at: Moment, started: Moment) -> Self {
        Self {
            version: FORM,
            at,
            started,
            figures: Vec::new(),
            history: None,
            slos: Vec::new(),
            error_classes: ErrorClasses { windows: Vec::new() },
            alerts: Vec::new(),
            cost: CostSummary::default(),
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
            memory: Memory { used_bytes: 0, limit_bytes: 0, overflowed: 0, turned_away: 0, dropped: 0 },
        }
    }
}
