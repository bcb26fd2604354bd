//! What a recorder is.

use weir_analysis::cost::Valuation;
use weir_core::observation::Observation;

/// Takes in one observation after the other. It is owned by the pipeline's task and called by
/// nobody else, so it holds plain data. It must not block, and what goes wrong it counts and logs
/// itself: there is nobody above it who could do better.
pub(crate) trait Recorder {
    /// Takes in an observation, with what is known of it besides.
    fn record(&mut self, observation: &Observation, beside: &Beside);
}

/// What is known of an exchange beside its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// What it costs.
    pub(crate) valuation: Valuation,
    /// Whether its trace is kept.
    pub(crate) kept: bool,
}

impl Beside {
    /// Nothing: what is there beside other observations.
    pub(crate) const NOTHING: Self = Self { valuation: Valuation::UNKNOWN, kept: false };
}
