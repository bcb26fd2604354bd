//! Label values that come from outside: bounded in number and in length.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use weir_core::lanes::{OTHER, UNKNOWN};

/// A longer value is cut: what two values have in common then joins them.
const MAX_BYTES: usize = 128;

/// A label value of one [`Labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LabelId(usize);

/// A bounded set of label values.
#[derive(Debug)]
pub(super) struct Labels {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, LabelId>,
    /// How many names there may be, with [`OTHER`] and [`UNKNOWN`].
    capacity: usize,
    overflow: u64,
}

impl Labels {
    /// A set that holds `known` from the start and takes in others up to `max` of both.
    pub(super) fn new<'a>(known: impl IntoIterator<Item = &'a str>, max: usize) -> Self {
        let mut labels = Self { names: Vec::new(), ids: HashMap::new(), capacity: usize::MAX, overflow: 0 };
        for name in [OTHER, UNKNOWN].into_iter().chain(known) {
            labels.id(Some(name), true);
        }
        labels.capacity = labels.names.len().max(max.saturating_add(2));
        labels
    }

    /// The label of a value. One that is not in the set joins it if it `may_join` and there is
    /// room; else it is [`OTHER`].
    pub(super) fn id(&mut self, value: Option<&str>, may_join: bool) -> LabelId {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return self.ids[UNKNOWN];
        };
        let value = clean(cut(value));
        if let Some(&id) = self.ids.get(&*value) {
            return id;
        }
        if may_join && self.names.len() < self.capacity {
            let id = LabelId(self.names.len());
            let name = Arc::<str>::from(&*value);
            self.names.push(Arc::clone(&name));
            self.ids.insert(name, id);
            return id;
        }
        self.overflow += u64::from(may_join);
        self.ids[OTHER]
    }

    /// The text of a label.
    pub(super) fn name(&self, id: LabelId) -> &Arc<str> {
        &self.names[id.0]
    }

    /// How often a value found the set full.
    pub(super) fn overflow(&self) -> u64 {
        self.overflow
    }
}

fn cut(value: &str) -> &str {
    &value[..value.floor_char_boundary(MAX_BYTES)]
}

/// Replaces control characters, which the format could carry and screens and scripts cannot.
fn clean(value: &str) -> Cow<'_, str> {
    match value.contains(char::is_control) {
        true => value.replace(char::is_control, "\u{fffd}").into(),
        false => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::Labels;

    #[test]
    fn only_known_and_answered_values_have_their_own_label() {
        let mut labels = Labels::new(["configured"], 2);
        let mut name = |value, may_join| {
            let id = labels.id(value, may_join);
            labels.name(id).to_string()
        };
        assert_eq!(name(Some("configured"), false), "configured");
        assert_eq!(name(Some("asked"), false), "other");
        assert_eq!(name(Some("answered"), true), "answered");
        assert_eq!(name(Some("answered"), false), "answered");
        assert_eq!(name(Some("late"), true), "other");
        assert_eq!(name(None, true), "unknown");
        assert_eq!(name(Some(""), true), "unknown");
        assert_eq!(labels.overflow(), 1);
    }

    #[test]
    fn configuration_overrules_the_bound() {
        let mut labels = Labels::new(["a", "b", "c"], 1);
        let id = labels.id(Some("c"), false);
        assert_eq!(**labels.name(id), *"c");
    }

    #[test]
    fn values_that_look_the_same_are_the_same() {
        let mut labels = Labels::new([], 8);
        let id = labels.id(Some("a\rb"), true);
        assert_eq!(**labels.name(id), *"a\u{fffd}b");
        assert_eq!(labels.id(Some("a\u{fffd}b"), true), id);
        assert_eq!(labels.id(Some("a\nb"), true), id);
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let mut labels = Labels::new([], 2);
        let id = labels.id(Some(&"ü".repeat(1 << 20)), true);
        assert_eq!(**labels.name(id), *"ü".repeat(64));
        let id = labels.id(Some(&format!("x{}", "ü".repeat(100))), true);
        assert_eq!(labels.name(id).len(), 127);
    }
}
