//! Little's law over a window: L = λW, and how far off it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::stage::StageReading;

use super::Reading;
use crate::scope::Window;

/// Little's law for each stage of a lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Law {
    /// Over which window.
    pub window: Window,
    /// How much of the window has elapsed, in seconds.
    pub elapsed_s: f64,
    /// Waiting for admission.
    pub queue: StageLaw,
    /// From admission to the first token, or to the end of an answer without one.
    pub prefill: StageLaw,
    /// From the first token to the end.
    pub decode: StageLaw,
}

/// Little's law for one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageLaw {
    /// L: the number inside, averaged over time.
    pub mean_inside: f64,
    /// λ: how many came in, per second.
    pub arrivals_per_s: f64,
    /// W: how long those who went out had been inside on average, in seconds. Absent when none went out.
    pub mean_time_s: Option<f64>,
    /// L − λW. Near zero while a stage is steady; above zero while it fills up, or when something was let
    /// in and never let out.
    pub residual: Option<f64>,
    /// The residual over L.
    pub residual_share: Option<f64>,
}

impl Law {
    pub(super) fn between(window: Window, from: &Reading, to: &Reading) -> Option<Self> {
        let elapsed_s = from.until(to)?;
        let (before, after) = (&from.lane.stages, &to.lane.stages);
        Some(Self {
            window,
            elapsed_s,
            queue: StageLaw::between(&before.queue, &after.queue, elapsed_s),
            prefill: StageLaw::between(&before.prefill, &after.prefill, elapsed_s),
            decode: StageLaw::between(&before.decode, &after.decode, elapsed_s),
        })
    }
}

impl StageLaw {
    fn between(before: &StageReading, after: &StageReading, elapsed_s: f64) -> Self {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let mean_inside = seconds(after.inside_ns.saturating_sub(before.inside_ns)) / elapsed_s;
        let arrivals_per_s = after.entered.saturating_sub(before.entered) as f64 / elapsed_s;
        let left = after.left.saturating_sub(before.left);
        let time = seconds(after.time_ns.saturating_sub(before.time_ns));
        let mean_time_s = (left > 0).then(|| time / left as f64);
        let residual = mean_time_s.map(|time| mean_inside - arrivals_per_s * time);
        let residual_share = residual.filter(|_| mean_inside > 0.0).map(|residual| residual / mean_inside);
        Self { mean_inside, arrivals_per_s, mean_time_s, residual, residual_share }
    }
}
