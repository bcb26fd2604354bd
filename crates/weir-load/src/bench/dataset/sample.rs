//! Which entries of a file are asked, and in which order: a choice by seed with no more in memory than is asked.

use std::collections::BinaryHeap;

use rand::Rng;

use crate::bench::ask::Ask;
use crate::draw;

/// Keys that keep a choice's draws apart.
const OVERSAMPLING: u64 = u64::MAX - 1;
const ORDER: u64 = 0x5a3b;

/// How entries of a file are chosen, as `vllm bench serve` does: any number of them without repetition in random
/// order, and where the file has fewer than are asked for, more of them drawn with repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Whether the order is random; else it is the file's.
    pub shuffle: bool,
    /// Whether entries are asked again where the file has too few.
    pub oversample: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { shuffle: true, oversample: true }
    }
}

/// Takes entries as they are read and keeps those that are asked: the ones with the smallest keys. Random keys
/// make that the beginning of a shuffled file.
pub(super) struct Choice {
    sampling: Sampling,
    seed: u64,
    /// How many are asked for; `None`: each entry once.
    count: Option<u64>,
    seen: u64,
    kept: BinaryHeap<Keyed>,
}

struct Keyed {
    key: (u64, u64),
    ask: Ask,
}

impl Choice {
    pub(super) fn new(sampling: Sampling, seed: u64, count: Option<u64>) -> Self {
        Self { sampling, seed, count, seen: 0, kept: BinaryHeap::new() }
    }

    /// No later entry will be kept.
    pub(super) fn is_complete(&self) -> bool {
        !self.sampling.shuffle && self.count.is_some_and(|count| self.kept.len() as u64 >= count)
    }

    pub(super) fn offer(&mut self, ask: Ask) {
        let random =
            if self.sampling.shuffle { draw::mix(draw::mix(self.seed ^ ORDER) ^ self.seen) } else { 0 };
        let key = (random, self.seen);
        self.seen += 1;
        let full = self.count.is_some_and(|count| self.kept.len() as u64 >= count);
        if full && self.kept.peek().is_none_or(|worst| worst.key <= key) {
            return;
        }
        if full {
            self.kept.pop();
        }
        self.kept.push(Keyed { key, ask });
    }

    /// The asks in their order.
    pub(super) fn finish(self) -> Chosen {
        let asks: Vec<Ask> = self.kept.into_sorted_vec().into_iter().map(|keyed| keyed.ask).collect();
        let count = match self.count {
            Some(count) if self.sampling.oversample && !asks.is_empty() => count,
            _ => asks.len() as u64,
        };
        Chosen { asks, seed: self.seed, next: 0, count }
    }
}

/// The chosen asks, each once, and then any of them again.
pub(super) struct Chosen {
    asks: Vec<Ask>,
    seed: u64,
    next: u64,
    count: u64,
}

impl Chosen {
    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }
}

impl Iterator for Chosen {
    type Item = Ask;

    fn next(&mut self) -> Option<Ask> {
        if self.next >= self.count {
            return None;
        }
        let nth = usize::try_from(self.next).unwrap_or(usize::MAX);
        self.next += 1;
        if nth < self.asks.len() {
            return self.asks.get(nth).cloned();
        }
        let key = OVERSAMPLING.wrapping_sub(self.next);
        self.asks.get(draw::generator(self.seed, key).random_range(0..self.asks.len())).cloned()
    }
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Keyed {}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Keyed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::ask::Prompt;

    fn chosen(sampling: Sampling, seed: u64, count: Option<u64>, from: u64) -> Vec<u64> {
        let mut choice = Choice::new(sampling, seed, count);
        for nth in 0..from {
            choice.offer(Ask::new(nth.to_string()));
        }
        let number = |ask: Ask| match ask.prompt {
            Prompt::Text(text) => text.parse().unwrap(),
            Prompt::Messages(_) => panic!("a text was offered"),
        };
        choice.finish().map(number).collect()
    }

    const IN_ORDER: Sampling = Sampling { shuffle: false, oversample: false };

    #[test]
    fn order_and_number_are_as_asked() {
        assert_eq!(chosen(IN_ORDER, 1, Some(3), 10), [0, 1, 2]);
        assert_eq!(chosen(IN_ORDER, 1, Some(3), 2), [0, 1]);
        assert_eq!(chosen(IN_ORDER, 1, None, 2), [0, 1]);
        assert_eq!(chosen(Sampling::default(), 1, Some(3), 0), [0_u64; 0]);
        let shuffled = chosen(Sampling::default(), 1, None, 100);
        let mut sorted = shuffled.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_ne!(shuffled, sorted);
        assert_eq!(chosen(Sampling::default(), 1, Some(7), 100), shuffled[..7]);
        assert_ne!(chosen(Sampling::default(), 2, None, 100), shuffled);
    }

    #[test]
    fn too_few_are_asked_again() {
        let all = chosen(Sampling::default(), 1, Some(4000), 4);
        let mut first = all[..4].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2, 3]);
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        all.iter().for_each(|nth| *seen.entry(*nth).or_default() += 1);
        assert!(seen.values().all(|times| (900..1100).contains(times)), "{seen:?}");
    }
}
