//! Counts by bin, kept as lists without empty bins: one that grows, and one that is packed for good.

use super::budget::Budget;

/// What an entry takes.
const ENTRY: usize = size_of::<(u16, u32)>();

/// Counts by bin, in rising order of bins.
#[derive(Debug, Default)]
pub(super) struct Sparse(Vec<(u16, u32)>);

impl Sparse {
    /// Adds to a bin. Where there is no room for a new one this says so, and nothing is added.
    pub(super) fn add(&mut self, bin: u16, n: u32, budget: &mut Budget) -> bool {
        match self.0.binary_search_by_key(&bin, |entry| entry.0) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(n),
            Err(at) => {
                if !budget.admit() {
                    return false;
                }
                self.insert(at, (bin, n), budget);
            }
        }
        true
    }

    /// Adds entries that come in rising order and were let in before.
    pub(super) fn merge(&mut self, entries: impl Iterator<Item = (u16, u32)>, budget: &mut Budget) {
        let mut at = 0;
        for (bin, n) in entries {
            while self.0.get(at).is_some_and(|entry| entry.0 < bin) {
                at += 1;
            }
            match self.0.get_mut(at) {
                Some(entry) if entry.0 == bin => entry.1 = entry.1.saturating_add(n),
                _ => self.insert(at, (bin, n), budget),
            }
        }
    }

    /// Takes off entries that were merged before.
    pub(super) fn subtract(&mut self, entries: impl Iterator<Item = (u16, u32)>) {
        let mut at = 0;
        let mut emptied = false;
        for (bin, n) in entries {
            while self.0.get(at).is_some_and(|entry| entry.0 < bin) {
                at += 1;
            }
            if let Some(entry) = self.0.get_mut(at).filter(|entry| entry.0 == bin) {
                entry.1 = entry.1.saturating_sub(n);
                emptied |= entry.1 == 0;
            }
        }
        if emptied {
            self.0.retain(|entry| entry.1 > 0);
        }
    }

    /// The entries, in rising order of bins.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.0.iter().copied()
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.0.capacity() * ENTRY
    }

    fn insert(&mut self, at: usize, entry: (u16, u32), budget: &mut Budget) {
        if self.0.len() == self.0.capacity() {
            let before = self.bytes();
            // A list is many and long-lived: it grows by an eighth, not twofold.
            self.0.reserve_exact(1 + self.0.len() / 8);
            budget.resize(before, self.bytes());
        }
        self.0.insert(at, entry);
    }
}

/// Counts by bin that do not change any more: the step to the next bin and its count, each in as few
/// bytes as it needs. An entry is 2 or 3 bytes as a rule, and never more than in a [`Sparse`].
#[derive(Debug, Default)]
pub(super) struct Packed(Box<[u8]>);

impl Packed {
    pub(super) fn new(entries: &Sparse) -> Self {
        let mut bytes = Vec::with_capacity(entries.0.len() * 3);
        let mut last = 0;
        for (bin, n) in entries.iter() {
            write(&mut bytes, u32::from(bin - last));
            write(&mut bytes, n);
            last = bin;
        }
        Self(bytes.into_boxed_slice())
    }

    /// The entries, in rising order of bins.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        let mut bytes = self.0.iter();
        let mut bin = 0_u16;
        std::iter::from_fn(move || {
            let step = read(&mut bytes)?;
            bin = bin.wrapping_add(step as u16);
            Some((bin, read(&mut bytes)?))
        })
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.0.len()
    }
}

/// Seven bits a byte, the lowest first; the eighth says that more follow.
fn write(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u32> {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let byte = *bytes.next()?;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::budget::Budget;
    use super::{Packed, Sparse};

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(entries in prop::collection::btree_map(0_u16..3776, 1_u32.., 0..200)) {
            let mut budget = Budget::new(usize::MAX / 2);
            let mut sparse = Sparse::default();
            for (&bin, &n) in entries.iter().rev() {
                prop_assert!(sparse.add(bin, n, &mut budget));
            }
            let packed = Packed::new(&sparse);
            prop_assert!(packed.bytes() <= sparse.bytes());
            let expected: Vec<_> = entries.into_iter().collect();
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), expected);
            let mut sum = Sparse::default();
            sum.merge(packed.iter(), &mut budget);
            sum.subtract(packed.iter());
            prop_assert_eq!(sum.iter().count(), 0);
        }
    }
}
