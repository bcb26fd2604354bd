//! Rows that wait to be written. A later row takes the place of an earlier one.

use std::collections::BTreeMap;

use weir_analysis::saved::Row;

/// How many rows may wait, those that are just being written included.
const MAX_ROWS: usize = 65_536;

/// How many bytes of keys and values may wait.
const MAX_BYTES: usize = 16 << 20;

/// A longer key is not kept.
const MAX_KEY: usize = 1 << 10;

/// A longer value is not kept.
const MAX_VALUE: usize = 64 << 10;

/// What makes a row the one it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowId {
    pub(super) table: &'static str,
    pub(super) key: String,
    pub(super) at: i64,
}

/// What is to be written together. `None`: the row is to go.
pub(super) type Batch = BTreeMap<RowId, Option<String>>;

/// The waiting rows, bounded.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: Batch,
    bytes: usize,
    /// Rows and bytes that were taken, and may come back.
    taken: (usize, usize),
}

impl Pending {
    /// Takes all rows or, where there is no room, none: rows that are offered together stand together.
    /// Says how many were dropped.
    pub(super) fn offer(&mut self, rows: Vec<Row>) -> usize {
        let offered = rows.len();
        let fitting: Vec<_> = rows.into_iter().filter_map(identified).collect();
        let bytes: usize = fitting.iter().map(|(id, value)| size(id, value)).sum();
        let fits = fitting.len() == offered
            && self.rows.len() + self.taken.0 + offered <= MAX_ROWS
            && self.bytes + self.taken.1 + bytes <= MAX_BYTES;
        if !fits {
            return offered;
        }
        for (id, value) in fitting {
            self.put(id, value);
        }
        0
    }

    /// Hands over all that waits, to be written.
    pub(super) fn take(&mut self) -> Batch {
        self.taken = (self.rows.len(), self.bytes);
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }

    /// What was taken is written.
    pub(super) fn settle(&mut self) {
        self.taken = (0, 0);
    }

    /// What was taken could not be written: it waits again, but where a later row has come.
    pub(super) fn put_back(&mut self, batch: Batch) {
        self.taken = (0, 0);
        for (id, value) in batch {
            if !self.rows.contains_key(&id) {
                self.put(id, value);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn put(&mut self, id: RowId, value: Option<String>) {
        self.bytes += size(&id, &value);
        let id_bytes = size(&id, &None);
        if let Some(earlier) = self.rows.insert(id, value) {
            self.bytes -= id_bytes + earlier.map_or(0, |value| value.len());
        }
    }
}

fn identified(row: Row) -> Option<(RowId, Option<String>)> {
    let Row { table, key, at, value } = row;
    let short = key.len() <= MAX_KEY && value.as_ref().is_none_or(|value| value.len() <= MAX_VALUE);
    let at = i64::try_from(at).ok()?;
    short.then_some((RowId { table, key, at }, value))
}

fn size(id: &RowId, value: &Option<String>) -> usize {
    id.table.len() + id.key.len() + size_of::<i64>() + value.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use weir_analysis::saved::Row;

    use super::{MAX_KEY, MAX_ROWS, MAX_VALUE, Pending};

    fn row(key: &str, at: u64, value: Option<&str>) -> Row {
        Row { table: "t", key: key.to_owned(), at, value: value.map(str::to_owned) }
    }

    #[test]
    fn a_later_row_takes_the_place_of_an_earlier_one_and_its_room() {
        let mut pending = Pending::default();
        assert_eq!(pending.offer(vec![row("a", 1, Some("1234")), row("b", 1, None)]), 0);
        assert_eq!(pending.bytes, 2 * (1 + 1 + 8) + 4);
        assert_eq!(pending.offer(vec![row("a", 1, Some("12"))]), 0);
        assert_eq!(pending.bytes, 2 * (1 + 1 + 8) + 2);
        let batch = pending.take();
        assert_eq!(batch.values().cloned().collect::<Vec<_>>(), [Some("12".to_owned()), None]);
        pending.offer(vec![row("a", 1, Some("5"))]);
        pending.put_back(batch);
        assert_eq!(pending.bytes, 2 * (1 + 1 + 8) + 1);
        assert_eq!(pending.take().values().cloned().collect::<Vec<_>>(), [Some("5".to_owned()), None]);
    }

    #[test]
    fn what_is_being_written_takes_room_until_it_is_settled() {
        let mut pending = Pending::default();
        let all = |n: usize| (0..n).map(|i| row("k", i as u64, Some(""))).collect::<Vec<_>>();
        assert_eq!(pending.offer(all(MAX_ROWS)), 0);
        let _ = pending.take();
        assert_eq!(pending.offer(all(2)), 2);
        pending.settle();
        assert_eq!(pending.offer(all(2)), 0);
    }

    #[test]
    fn rows_that_are_offered_together_are_kept_or_dropped_together() {
        let mut pending = Pending::default();
        let long = "x".repeat(MAX_VALUE + 1);
        assert_eq!(pending.offer(vec![row("a", 1, Some("")), row("b", 1, Some(&long))]), 2);
        assert_eq!(pending.offer(vec![row(&"k".repeat(MAX_KEY + 1), 1, None)]), 1);
        assert_eq!(pending.offer(vec![row("a", u64::MAX, None)]), 1);
        assert!(pending.is_empty());
        assert_eq!(pending.offer(vec![row("b", 1, Some(&long[1..]))]), 0);
    }
}
