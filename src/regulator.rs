//! The one writer of the policy: what is configured, with what alerts have changed for a time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use weir_core::policy::{Fallback, LaneLimits, Policy, Throttle};

/// Writes the policy.
#[derive(Debug)]
pub(crate) struct Regulator {
    policy: watch::Sender<Policy>,
    // Taken when somebody reloads and when an alert begins or ends; not by the data path.
    wanted: Mutex<Wanted>,
}

#[derive(Debug)]
struct Wanted {
    configured: Policy,
    /// By who asked for it.
    throttles: BTreeMap<String, Throttle>,
    fallbacks: BTreeMap<String, Fallback>,
}

impl Regulator {
    /// Begins with the configured policy, which is written to `policy`.
    pub(crate) fn new(policy: watch::Sender<Policy>) -> Self {
        let configured = policy.borrow().clone();
        let wanted = Wanted { configured, throttles: BTreeMap::new(), fallbacks: BTreeMap::new() };
        Self { policy, wanted: Mutex::new(wanted) }
    }

    /// Another policy is configured. What alerts have changed stays in force. Says which limits changed.
    pub(crate) fn configure(&self, policy: Policy) -> Vec<String> {
        let mut wanted = self.wanted();
        wanted.configured = policy;
        self.write(&wanted)
    }

    /// Lowers a limit until `who` releases it. Says which limits changed.
    pub(crate) fn throttle(&self, who: &str, throttle: Throttle) -> Vec<String> {
        let mut wanted = self.wanted();
        wanted.throttles.insert(who.to_owned(), throttle);
        self.write(&wanted)
    }

    /// Has a model served by another until `who` releases it.
    pub(crate) fn fall_back(&self, who: &str, fallback: Fallback) {
        let mut wanted = self.wanted();
        wanted.fallbacks.insert(who.to_owned(), fallback);
        self.write(&wanted);
    }

    /// Takes back what `who` asked for. Says which limits changed.
    pub(crate) fn release(&self, who: &str) -> Vec<String> {
        let mut wanted = self.wanted();
        wanted.throttles.remove(who);
        wanted.fallbacks.remove(who);
        self.write(&wanted)
    }

    fn write(&self, wanted: &Wanted) -> Vec<String> {
        let mut next = wanted.configured.throttled(wanted.throttles.values());
        next.fallbacks.extend(wanted.fallbacks.values().cloned());
        let before = self.policy.borrow().clone();
        let changes = changes(&before, &next);
        if before != next {
            self.policy.send_replace(next);
        }
        changes
    }

    /// Nothing panics under the lock, and if it did, what is wanted would still be right.
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limits that differ, for people.
fn changes(before: &Policy, after: &Policy) -> Vec<String> {
    let mut changes = Vec::new();
    changes.extend(change("global", Some(&before.global), Some(&after.global)));
    let gone = before.models.keys().filter(|model| !after.models.contains_key(*model));
    for model in after.models.keys().chain(gone) {
        changes.extend(change(model, before.models.get(model), after.models.get(model)));
    }
    changes
}

fn change(lane: &str, before: Option<&LaneLimits>, after: Option<&LaneLimits>) -> Option<String> {
    let limit = |limits: Option<&LaneLimits>| {
        let limit = limits.and_then(|limits| limits.max_concurrent);
        limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string())
    };
    if before == after {
        return None;
    }
    let (from, to) = (limit(before), limit(after));
    Some(if from == to { format!("{lane}: queue") } else { format!("{lane}: {from} to {to}") })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::watch;
    use weir_core::policy::{Fallback, LaneLimits, Policy, Throttle, ThrottleTo};

    use super::Regulator;

    fn policy(global: usize) -> Policy {
        let lane = |max| LaneLimits {
            max_concurrent: Some(max),
            max_queued: 8,
            queue_timeout: Duration::from_secs(1),
        };
        Policy { global: lane(global), models: [("m".into(), lane(10))].into(), fallbacks: Vec::new() }
    }

    fn half(model: Option<&str>) -> Throttle {
        Throttle { model: model.map(Into::into), to: ThrottleTo::Share(0.5) }
    }

    #[test]
    fn a_limit_is_lowered_and_given_back() {
        let (sender, seen) = watch::channel(policy(64));
        let regulator = Regulator::new(sender);
        assert_eq!(regulator.throttle("a", half(None)), ["global: 64 to 32"]);
        assert_eq!(regulator.throttle("b", half(Some("m"))), ["m: 10 to 5"]);
        assert_eq!(regulator.throttle("c", half(None)), [] as [&str; 0]);
        assert_eq!(seen.borrow().global.max_concurrent, Some(32));
        // Two asked for it; the last that lets go gives it back.
        assert_eq!(regulator.release("a"), [] as [&str; 0]);
        assert_eq!(regulator.release("c"), ["global: 32 to 64"]);
        assert_eq!(regulator.release("b"), ["m: 5 to 10"]);
        assert_eq!(*seen.borrow(), policy(64));
    }

    #[test]
    fn a_reload_changes_what_a_throttle_is_a_share_of() {
        let (sender, seen) = watch::channel(policy(64));
        let regulator = Regulator::new(sender);
        regulator.throttle("a", half(None));
        assert_eq!(regulator.configure(policy(20)), ["global: 32 to 10"]);
        regulator.release("a");
        assert_eq!(*seen.borrow(), policy(20));
        let mut other = policy(20);
        other.models.clear();
        other.global.max_queued = 9;
        assert_eq!(regulator.configure(other), ["global: queue", "m: 10 to no limit"]);
    }

    #[test]
    fn a_fallback_stands_in_the_policy_until_it_is_released() {
        let (sender, seen) = watch::channel(policy(64));
        let regulator = Regulator::new(sender);
        let fallback = Fallback { model: None, to: "small".into() };
        regulator.fall_back("a", fallback.clone());
        assert_eq!(seen.borrow().fallbacks, [fallback]);
        regulator.release("a");
        assert!(seen.borrow().fallbacks.is_empty());
    }
}
