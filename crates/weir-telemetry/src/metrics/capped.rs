//! The series of one metric: bounded in number, whatever clients and upstreams say.

use std::collections::BTreeMap;

/// How many series a metric may have, as OpenTelemetry's SDKs have it. The last is that of all that find
/// the others taken.
pub(super) const MAX_SERIES: usize = 2_000;

/// Series by their key.
#[derive(Debug)]
pub(super) struct Capped<K, V> {
    series: BTreeMap<K, V>,
    overflow: Option<V>,
}

impl<K: Ord, V> Capped<K, V> {
    /// No series.
    pub(super) const fn new() -> Self {
        Self { series: BTreeMap::new(), overflow: None }
    }

    /// The series of a key, made by `new` if it is not there; that of the overflow if there is no room.
    pub(super) fn of(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        if self.series.len() + 1 < MAX_SERIES || self.series.contains_key(&key) {
            return self.series.entry(key).or_insert_with(new);
        }
        self.overflow.get_or_insert_with(new)
    }

    /// Every series with its key, and that of the overflow without.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Option<&K>, &V)> {
        let own = self.series.iter().map(|(key, series)| (Some(key), series));
        own.chain(self.overflow.iter().map(|series| (None, series)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Capped, MAX_SERIES};

    #[test]
    fn what_finds_no_room_is_counted_together() {
        let mut counts = Capped::new();
        for key in 0..3_000_u16 {
            *counts.of(key, || 0) += 1;
            *counts.of(7, || 0) += 1;
        }
        let all: Vec<_> = counts.iter().collect();
        assert_eq!(all.len(), MAX_SERIES);
        assert_eq!(all.iter().map(|(_, n)| **n).sum::<u64>(), 6_000);
        let overflow = all.iter().find(|(key, _)| key.is_none());
        assert_eq!(overflow.map(|(_, n)| **n), Some(3_000 - 1_999));
    }
}
