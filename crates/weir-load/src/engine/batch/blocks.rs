//! The blocks of the accelerators' memory: who holds which, and what the free ones still remember.

use std::collections::{BTreeMap, HashMap};

/// A block's number.
pub(crate) type BlockId = u32;

/// What tells the beginning of a prompt up to and with one block from every other one.
pub(crate) type PrefixHash = u64;

#[derive(Clone, Debug, Default)]
struct Block {
    /// Sequences that hold it. A free block may still remember a prefix.
    holders: u32,
    prefix: Option<PrefixHash>,
    /// Its place among the free ones: the smallest is taken first.
    freed: u64,
}

/// All blocks. The one that has been free for the longest is taken first, and forgets its prefix
/// only then.
#[derive(Debug)]
pub(crate) struct BlockPool {
    blocks: Vec<Block>,
    free: BTreeMap<u64, BlockId>,
    prefixes: HashMap<PrefixHash, BlockId>,
    /// How often a block was freed.
    clock: u64,
}

impl BlockPool {
    pub(crate) fn new(count: u32) -> Self {
        let free = (0..count).map(|id| (u64::from(id), id)).collect();
        let blocks = (0..count).map(|id| Block { freed: u64::from(id), ..Block::default() }).collect();
        BlockPool { blocks, free, prefixes: HashMap::new(), clock: u64::from(count) }
    }

    /// How many blocks there are.
    pub(crate) fn total(&self) -> usize {
        self.blocks.len()
    }

    /// How many of them nobody holds.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// The blocks that remember these prefixes, up to the first one that none remembers.
    pub(crate) fn remembered(&self, prefixes: &[PrefixHash]) -> Vec<BlockId> {
        prefixes.iter().map_while(|prefix| self.prefixes.get(prefix).copied()).collect()
    }

    /// How many of `blocks` nobody holds.
    pub(crate) fn unheld(&self, blocks: &[BlockId]) -> usize {
        blocks.iter().filter(|&&id| self.blocks[id as usize].holders == 0).count()
    }

    /// One more sequence holds these blocks.
    pub(crate) fn share(&mut self, blocks: &[BlockId]) {
        for &id in blocks {
            let block = &mut self.blocks[id as usize];
            if block.holders == 0 {
                self.free.remove(&block.freed);
            }
            block.holders += 1;
        }
    }

    /// Takes `count` blocks, or none where there are fewer.
    pub(crate) fn take(&mut self, count: usize) -> Option<Vec<BlockId>> {
        if self.free.len() < count {
            return None;
        }
        let taken: Vec<BlockId> =
            std::iter::from_fn(|| self.free.pop_first()).take(count).map(|(_, id)| id).collect();
        for &id in &taken {
            let block = &mut self.blocks[id as usize];
            block.holders = 1;
            if let Some(prefix) = block.prefix.take() {
                self.prefixes.remove(&prefix);
            }
        }
        Some(taken)
    }

    /// A block now holds the keys and values of that prefix. The first block to do so is the one
    /// that is remembered.
    pub(crate) fn remember(&mut self, id: BlockId, prefix: PrefixHash) {
        if let std::collections::hash_map::Entry::Vacant(entry) = self.prefixes.entry(prefix) {
            entry.insert(id);
            self.blocks[id as usize].prefix = Some(prefix);
        }
    }

    /// A sequence no longer holds its blocks. The last ones are taken again first, because a
    /// beginning is more likely to be asked for than what followed it.
    pub(crate) fn release(&mut self, blocks: &[BlockId]) {
        for &id in blocks.iter().rev() {
            let block = &mut self.blocks[id as usize];
            block.holders -= 1;
            if block.holders == 0 {
                self.clock += 1;
                block.freed = self.clock;
                self.free.insert(self.clock, id);
            }
        }
    }

    /// How many sequences hold a block.
    #[cfg(test)]
    pub(crate) fn holders(&self, id: BlockId) -> u32 {
        self.blocks[id as usize].holders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_taken_all_or_none() {
        let mut pool = BlockPool::new(3);
        assert_eq!(pool.take(4), None);
        assert_eq!(pool.free(), 3);
        assert_eq!(pool.take(2), Some(vec![0, 1]));
        assert_eq!(pool.take(2), None);
        pool.release(&[0, 1]);
        assert_eq!(pool.free(), 3);
    }

    #[test]
    fn the_longest_free_goes_first_and_tails_before_heads() {
        let mut pool = BlockPool::new(4);
        let blocks = pool.take(3).unwrap();
        pool.release(&blocks);
        assert_eq!(pool.take(4), Some(vec![3, 2, 1, 0]));
    }

    #[test]
    fn a_free_block_remembers_until_it_is_taken() {
        let mut pool = BlockPool::new(2);
        let blocks = pool.take(1).unwrap();
        pool.remember(blocks[0], 77);
        pool.release(&blocks);
        assert_eq!(pool.remembered(&[77, 78]), blocks);
        assert_eq!(pool.unheld(&blocks), 1);

        pool.share(&blocks);
        pool.share(&blocks);
        assert_eq!((pool.free(), pool.unheld(&blocks), pool.holders(blocks[0])), (1, 0, 2));
        pool.release(&blocks);
        assert_eq!(pool.free(), 1);
        pool.release(&blocks);
        assert_eq!(pool.free(), 2);

        pool.take(2).unwrap();
        assert!(pool.remembered(&[77]).is_empty());
    }

    #[test]
    fn of_two_blocks_alike_the_first_is_remembered() {
        let mut pool = BlockPool::new(2);
        let blocks = pool.take(2).unwrap();
        pool.remember(blocks[0], 5);
        pool.remember(blocks[1], 5);
        pool.release(&blocks[1..]);
        pool.take(1).unwrap();
        assert_eq!(pool.remembered(&[5]), blocks[..1]);
    }
}
