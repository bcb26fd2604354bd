//! What was begun for which alert, and when.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use weir_analysis::alert::Rules;
use weir_analysis::alert::action::Action;
use weir_analysis::time::Moment;
use weir_telemetry::notify::Notification;

/// An action of an alert.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) alert: Box<str>,
    pub(super) action: Box<str>,
}

/// Something that was begun and is not over.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) action: Action,
    /// What was told of the alert when it was begun, or would have been.
    pub(super) told: Notification,
}

/// The book of it. It has at most one line for each action that a rule names.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    begun: BTreeMap<Key, Begun>,
    /// When each was last begun, whether it is over or not.
    last: BTreeMap<Key, Moment>,
}

impl Key {
    pub(super) fn new(alert: &str, action: &str) -> Self {
        Self { alert: alert.into(), action: action.into() }
    }
}

impl fmt::Display for Key {
    /// No name holds a slash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.alert, self.action)
    }
}

impl Ledger {
    /// Whether it was last begun so long ago that it may be begun again.
    pub(super) fn allows(&self, key: &Key, at: Moment, min_interval: Duration) -> bool {
        self.last.get(key).is_none_or(|last| at.since(*last) >= min_interval)
    }

    /// It was begun at a moment.
    pub(super) fn note(&mut self, key: &Key, at: Moment) {
        self.last.insert(key.clone(), at);
    }

    /// It is in force until it is taken out again.
    pub(super) fn enter(&mut self, key: Key, begun: Begun) {
        self.begun.insert(key, begun);
    }

    pub(super) fn begun(&self, key: &Key) -> Option<&Begun> {
        self.begun.get(key)
    }

    /// Takes out what meets a condition.
    pub(super) fn take(&mut self, over: impl Fn(&Key, &Begun) -> bool) -> Vec<(Key, Begun)> {
        self.begun.extract_if(.., |key, begun| over(key, begun)).collect()
    }

    /// Forgets when actions were begun that no rule names any more.
    pub(super) fn keep(&mut self, rules: &Rules) {
        let rules = rules.rules();
        self.last.retain(|key, _| {
            rules.iter().any(|rule| rule.name == key.alert && rule.actions.contains(&key.action))
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_analysis::alert::Rules;
    use weir_analysis::time::Moment;

    use super::{Key, Ledger};

    #[test]
    fn an_action_is_begun_again_only_after_its_time() {
        let (key, five) = (Key::new("a", "x"), Duration::from_secs(5));
        let mut ledger = Ledger::default();
        let at = |seconds| Moment(0).plus(Duration::from_secs(seconds));
        assert!(ledger.allows(&key, at(100), five));
        ledger.note(&key, at(100));
        assert!(!ledger.allows(&key, at(104), five));
        assert!(ledger.allows(&key, at(105), five));
        assert!(ledger.allows(&key, at(100), Duration::ZERO));
        assert!(ledger.allows(&Key::new("b", "x"), at(101), five));
        ledger.keep(&Rules::default());
        assert!(ledger.allows(&key, at(101), five));
    }
}
