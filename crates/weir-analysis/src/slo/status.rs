//! How SLOs stand: plain data for whoever shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::burn::{BurnWindow, Severity};

/// How one SLO stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloStatus {
    /// What it is called.
    pub name: Box<str>,
    /// What is asked, for people: `ttft ≤ 2 s for 95 %`.
    pub objective: String,
    /// Which objective it is: `ttft`, `itl`, `tpot`, `e2e`, `queue_wait`, `error_rate`, `availability`.
    pub kind: Box<str>,
    /// The model whose exchanges count; absent where all do.
    pub model: Option<Box<str>>,
    /// The share of events that has to be good.
    pub target: f64,
    /// The limit of a latency, as asked.
    pub limit_s: Option<f64>,
    /// The limit that holds in fact. That of gaps lies on the edge of a bin.
    pub effective_limit_s: Option<f64>,
    /// Fewer events than this in either window of an alert raise none.
    pub min_events: u64,
    /// The error budget of 30 days.
    pub budget: BudgetStatus,
    /// Burn by window, the shortest first.
    pub windows: Vec<BurnStatus>,
    /// The alerts over pairs of windows.
    pub alerts: Vec<BurnAlert>,
    /// The most severe alert that fires.
    pub severity: Option<Severity>,
}

/// An error budget over the last 30 days.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetStatus {
    /// How much of the 30 days lies after the first observation.
    pub covered_s: f64,
    /// Whether that is not all of it.
    pub partial: bool,
    /// Good events.
    pub good: u64,
    /// Bad events.
    pub bad: u64,
    /// Good events among all; absent without events.
    pub good_share: Option<f64>,
    /// What is left of the budget: 1 − share of bad events / (1 − target). Below 0 once it is overspent;
    /// absent without events.
    pub remaining: Option<f64>,
    /// How long what is left lasts at the burn of the last hour: remaining × 30 d / burn. 0 when nothing is
    /// left; absent where the hour has too few events, or burns at 1 or less and so never uses it up.
    pub exhausted_in_s: Option<f64>,
}

/// How fast the budget burns over one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurnStatus {
    /// The window.
    pub window: BurnWindow,
    /// How much of it lies after the first observation.
    pub covered_s: f64,
    /// Whether that is not all of it.
    pub partial: bool,
    /// Good events.
    pub good: u64,
    /// Bad events.
    pub bad: u64,
    /// Good events among all; absent without events.
    pub good_share: Option<f64>,
    /// Share of bad events / (1 − target): at 1 the budget lasts just its 30 days. Absent without events.
    pub burn: Option<f64>,
}

impl BurnStatus {
    /// Events, good and bad.
    pub const fn events(&self) -> u64 {
        self.good.saturating_add(self.bad)
    }
}

/// An alert over a pair of windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurnAlert {
    /// How soon someone has to look.
    pub severity: Severity,
    /// The long window.
    pub long: BurnWindow,
    /// The short window.
    pub short: BurnWindow,
    /// Both have to burn faster than this.
    pub factor: f64,
    /// Whether both do, with enough events in each.
    pub firing: bool,
}
