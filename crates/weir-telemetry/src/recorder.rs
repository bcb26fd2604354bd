//! What a recorder is.

use weir_core::observation::Observation;

/// Takes in one observation after the other. It is owned by the pipeline's task and called by
/// nobody else, so it holds plain data. It must not block, and what goes wrong it counts and logs
/// itself: there is nobody above it who could do better.
pub(crate) trait Recorder {
    /// Takes in an observation.
    fn record(&mut self, observation: &Observation);
}
