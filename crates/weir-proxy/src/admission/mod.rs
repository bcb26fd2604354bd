//! Who may go to the upstream, and who waits: a lane for each model with limits of its own, and the
//! global lane that all pass.

mod lane;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use dashmap::DashMap;
use weir_core::lanes::{GLOBAL, LaneGauge, Lanes, UNKNOWN};
use weir_core::policy::Policy;

use lane::{Lane, LanePermit};

pub use lane::Rejection;

/// The lanes in force.
#[derive(Debug)]
pub struct Admission {
    global: Arc<Lane>,
    models: DashMap<Box<str>, Arc<Lane>>,
    gauges: Arc<Lanes>,
}

/// Leave to be at the upstream. It lives until the stream ends, not until its headers.
#[derive(Debug)]
pub struct Permit {
    model: Option<LanePermit>,
    global: LanePermit,
}

impl Permit {
    /// The gauges of the lanes that it leads through.
    pub fn lanes(&self) -> Box<[Arc<LaneGauge>]> {
        let permits = self.model.iter().chain([&self.global]);
        permits.map(LanePermit::gauge).collect()
    }
}

impl Admission {
    /// Lanes by this policy, with their gauges.
    pub fn new(policy: &Policy, gauges: Arc<Lanes>) -> Self {
        let global = Lane::new(&policy.global, gauges.gauge(GLOBAL));
        let admission = Self { global, models: DashMap::new(), gauges };
        admission.apply(policy);
        admission
    }

    /// Goes by another policy from now on. Those who run or wait stay.
    pub fn apply(&self, policy: &Policy) {
        self.global.set_limits(&policy.global);
        for (model, limits) in &policy.models {
            match self.models.get(model).map(|lane| Arc::clone(&lane)) {
                Some(lane) => lane.set_limits(limits),
                None => {
                    let lane = Lane::new(limits, self.gauges.gauge(model));
                    self.models.insert(model.clone(), lane);
                }
            }
        }
        // A lane without limits any more goes once the last of its permits has.
        self.models.retain(|model, _| policy.models.contains_key(model));
    }

    /// Waits for leave: first in the model's own line, then in that of all. So a model that is full
    /// does not stand in the way of others.
    pub async fn admit(&self, model: Option<&str>) -> Result<Permit, Rejection> {
        let lane = self.models.get(model.unwrap_or(UNKNOWN)).map(|lane| Arc::clone(&lane));
        let model = match lane {
            Some(lane) => Some(lane.enter().await?),
            None => None,
        };
        let global = self.global.enter().await?;
        Ok(Permit { model, global })
    }
}
