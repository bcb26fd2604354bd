//! How many replicas alerts ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_analysis::alert::action::ScaleUpConfig;
use weir_telemetry::ActionCounts;

use super::ledger::Key;

/// How many upstreams there are.
const PRESENT: u64 = 1;

/// The wishes of the alerts that fire. The largest is shown; nobody's is added to another's, for many
/// alerts may be about one and the same load.
#[derive(Debug)]
pub(super) struct Replicas {
    wishes: BTreeMap<Key, u64>,
    counts: Arc<ActionCounts>,
}

impl Replicas {
    pub(super) const fn new(counts: Arc<ActionCounts>) -> Self {
        Self { wishes: BTreeMap::new(), counts }
    }

    /// An alert asks for as many more as its action says.
    pub(super) fn ask(&mut self, key: &Key, config: &ScaleUpConfig) {
        let wish = PRESENT + u64::from(config.step);
        let wish = config.max_replicas.map_or(wish, |most| wish.min(most.into()));
        self.wishes.insert(key.clone(), wish);
        self.show();
    }

    /// It does not any more.
    pub(super) fn withdraw(&mut self, key: &Key) {
        self.wishes.remove(key);
        self.show();
    }

    /// The largest wish; `None`: nobody has one.
    pub(super) fn desired(&self) -> Option<u64> {
        self.wishes.values().max().copied()
    }

    fn show(&self) {
        self.counts.ask_for_replicas(self.desired());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_analysis::alert::action::{Format, ScaleUpConfig};
    use weir_telemetry::ActionCounts;

    use super::{Key, Replicas};

    fn more(step: u32, max_replicas: Option<u32>) -> ScaleUpConfig {
        ScaleUpConfig { call: None, format: Format::Alertmanager, step, max_replicas }
    }

    #[test]
    fn the_largest_wish_is_shown_and_none_where_nobody_has_one() {
        let counts = Arc::<ActionCounts>::default();
        let mut replicas = Replicas::new(Arc::clone(&counts));
        let (a, b) = (Key::new("a", "x"), Key::new("b", "y"));
        assert_eq!(counts.desired_replicas(), None);
        replicas.ask(&a, &more(1, None));
        assert_eq!(counts.desired_replicas(), Some(2));
        replicas.ask(&b, &more(7, Some(4)));
        assert_eq!(counts.desired_replicas(), Some(4));
        replicas.withdraw(&b);
        assert_eq!(counts.desired_replicas(), Some(2));
        replicas.withdraw(&a);
        assert_eq!(counts.desired_replicas(), None);
    }
}
