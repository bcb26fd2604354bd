//! The one wire up to the data path: plain data that says what may pass and how much of it.

use std::collections::BTreeMap;
use std::time::Duration;

/// Limits of one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneLimits {
    /// How many requests may be at the upstream at once; `None`: any number.
    pub max_concurrent: Option<usize>,
    /// How many may wait. The next one is turned away.
    pub max_queued: usize,
    /// How long one may wait.
    pub queue_timeout: Duration,
}

/// What admission goes by. Replaced as a whole while requests run; nobody is dropped by a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Limits over all models.
    pub global: LaneLimits,
    /// Limits of single models, by the name that requests use.
    pub models: BTreeMap<Box<str>, LaneLimits>,
    /// Which models are to be served by another for a time.
    pub fallbacks: Vec<Fallback>,
}

/// A model that another is to serve for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The model that requests name; `None`: all of them.
    pub model: Option<Box<str>>,
    /// The model that is to serve them.
    pub to: Box<str>,
}

/// A limit that is lowered for a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttle {
    /// The model whose lane is lowered; `None`: the global one.
    pub model: Option<Box<str>>,
    /// To how much.
    pub to: ThrottleTo,
}

/// To how much a limit is lowered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThrottleTo {
    /// To a share of the configured limit, above 0 and at most 1. Nothing to lower without a limit.
    Share(f64),
    /// To so many.
    Count(usize),
}

impl Policy {
    /// The policy with throttles in force. A lane is never raised by one, and never falls below 1; of
    /// several on one lane the lowest holds. A model without a lane of its own gets none from a
    /// share, and one like the global lane from a number.
    #[must_use]
    pub fn throttled<'a>(&self, throttles: impl IntoIterator<Item = &'a Throttle>) -> Policy {
        let mut policy = self.clone();
        for throttle in throttles {
            let configured = match &throttle.model {
                None => self.global.max_concurrent,
                Some(model) => self.models.get(model).and_then(|lane| lane.max_concurrent),
            };
            let to = match throttle.to {
                ThrottleTo::Count(count) => Some(count),
                ThrottleTo::Share(share) => configured.map(|limit| (limit as f64 * share) as usize),
            };
            let Some(to) = to.map(|to| to.max(1)) else { continue };
            let lane = match &throttle.model {
                None => &mut policy.global,
                Some(model) => policy.models.entry(model.clone()).or_insert_with(|| self.global.clone()),
            };
            lane.max_concurrent = Some(lane.max_concurrent.map_or(to, |now| now.min(to)));
        }
        policy
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LaneLimits, Policy, Throttle, ThrottleTo};

    fn limits(max_concurrent: Option<usize>) -> LaneLimits {
        LaneLimits { max_concurrent, max_queued: 8, queue_timeout: Duration::from_secs(1) }
    }

    fn policy(global: Option<usize>) -> Policy {
        Policy {
            global: limits(global),
            models: [("m".into(), limits(Some(10)))].into(),
            fallbacks: Vec::new(),
        }
    }

    fn throttle(model: Option<&str>, to: ThrottleTo) -> Throttle {
        Throttle { model: model.map(Into::into), to }
    }

    #[test]
    fn a_lane_is_lowered_and_never_raised() {
        for (configured, to, expected) in [
            (Some(64), ThrottleTo::Share(0.5), Some(32)),
            (Some(64), ThrottleTo::Count(80), Some(64)),
            (Some(64), ThrottleTo::Count(0), Some(1)),
            (Some(1), ThrottleTo::Share(0.1), Some(1)),
            (None, ThrottleTo::Share(0.5), None),
            (None, ThrottleTo::Count(8), Some(8)),
        ] {
            let lowered = policy(configured).throttled(&[throttle(None, to)]);
            assert_eq!(lowered.global.max_concurrent, expected, "{configured:?} {to:?}");
            assert_eq!(lowered.global.max_queued, 8);
            assert_eq!(lowered.models, policy(None).models);
        }
    }

    #[test]
    fn the_lowest_of_several_holds() {
        let halves = [throttle(None, ThrottleTo::Share(0.5)), throttle(None, ThrottleTo::Share(0.25))];
        assert_eq!(policy(Some(64)).throttled(&halves).global.max_concurrent, Some(16));
        assert_eq!(policy(Some(64)).throttled([]), policy(Some(64)));
    }

    #[test]
    fn a_model_without_a_lane_gets_one_from_a_number() {
        let counted = policy(None).throttled(&[throttle(Some("other"), ThrottleTo::Count(3))]);
        assert_eq!(counted.models[&Box::<str>::from("other")], limits(Some(3)));
        let shared = policy(None).throttled(&[throttle(Some("other"), ThrottleTo::Share(0.5))]);
        assert_eq!(shared, policy(None));
        let known = policy(None).throttled(&[throttle(Some("m"), ThrottleTo::Share(0.5))]);
        assert_eq!(known.models[&Box::<str>::from("m")].max_concurrent, Some(5));
    }
}
