//! What a step does: who gets which share of it, and who has to make room.

use std::time::Duration;

use super::config::Preemption;
use super::cost::Load;
use super::model::Model;
use super::sequence::{Sequence, Share};

/// A step that is being put together.
#[derive(Debug)]
pub(crate) struct Step {
    /// Tokens it still has room for.
    budget: u32,
    /// Sequences that have a share in it.
    pub(crate) scheduled: u32,
    pub(crate) load: Load,
    /// Whether anybody had to make room. Then nobody is let in.
    preempted: bool,
}

impl Step {
    /// Gives a sequence its share.
    fn give(&mut self, sequence: &mut Sequence, share: Share) {
        self.budget -= share.tokens();
        self.scheduled += 1;
        if sequence.decodes() {
            self.load.decoding += 1;
            self.load.context += u64::from(sequence.computed + share.tokens());
        } else {
            self.load.prefill += u64::from(share.compute);
        }
        sequence.share = Some(share);
    }
}

impl Model {
    /// Puts a step together.
    pub(super) fn schedule(&mut self, now: Duration) -> Step {
        let mut step = Step {
            budget: self.config.max_num_batched_tokens,
            scheduled: 0,
            load: Load::default(),
            preempted: false,
        };
        if self.config.chunked_prefill {
            // Those that run come first, so no prompt can hold them up for longer than one budget.
            self.run(&mut step);
            self.swap_in(&mut step);
            self.let_in(&mut step, now);
        } else {
            self.let_in(&mut step, now);
            if step.scheduled == 0 {
                self.run(&mut step);
                self.swap_in(&mut step);
            }
        }
        step
    }

    /// Gives those that run their shares.
    fn run(&mut self, step: &mut Step) {
        let mut index = 0;
        while let Some(sequence) = self.running.get(index) {
            if let Some(share) = self.share(sequence, step) {
                if !self.make_room(index, share, step) {
                    return;
                }
                let sequence = &mut self.running[index];
                step.give(sequence, share);
                self.remember(index);
            }
            index += 1;
        }
    }

    /// Takes the blocks that a running sequence needs for its share. Where too few are free, those
    /// that were let in last have to make room: `false` if in the end it was this one itself.
    fn make_room(&mut self, index: usize, share: Share, step: &mut Step) -> bool {
        loop {
            let sequence = &mut self.running[index];
            let needed = sequence.blocks_with(share, self.config.kv.block_size);
            let missing = needed.saturating_sub(sequence.blocks.len());
            if let Some(blocks) = self.pool.take(missing) {
                sequence.blocks.extend(blocks);
                return true;
            }
            let itself = self.running.len() == index + 1;
            if let Some(youngest) = self.running.pop() {
                self.preempt(youngest, step);
            }
            if itself {
                return false;
            }
        }
    }

    /// A sequence makes room.
    fn preempt(&mut self, mut sequence: Sequence, step: &mut Step) {
        step.preempted = true;
        self.books.preemptions += 1;
        sequence.preemptions += 1;
        let blocks = std::mem::take(&mut sequence.blocks);
        self.pool.release(&blocks);
        let count = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        if self.config.kv.preemption == Preemption::Swap && self.host_free >= count {
            self.host_free -= count;
            sequence.hosted = count;
            step.load.swapped += u64::from(count);
            self.swapped.push_front(sequence);
        } else {
            sequence.computed = 0;
            self.waiting.push_front(sequence);
        }
    }

    /// Lets those that were swapped out go on.
    fn swap_in(&mut self, step: &mut Step) {
        while !step.preempted && self.has_place() {
            let Some(sequence) = self.swapped.front() else { return };
            let Some(share) = self.share(sequence, step) else { return };
            let needed = sequence.blocks_with(share, self.config.kv.block_size);
            let Some(blocks) = self.pool.take(needed.max(sequence.hosted as usize)) else { return };
            let Some(mut sequence) = self.swapped.pop_front() else { return };
            step.load.swapped += u64::from(sequence.hosted);
            self.host_free += std::mem::take(&mut sequence.hosted);
            sequence.blocks = blocks;
            step.give(&mut sequence, share);
            self.running.push(sequence);
        }
    }

    /// Lets in those that wait, in their order, until one finds no room.
    fn let_in(&mut self, step: &mut Step, now: Duration) {
        while !step.preempted && self.swapped.is_empty() && self.has_place() {
            if self.waiting.front().is_none_or(|sequence| sequence.job.arrived > now) {
                return;
            }
            let Some(sequence) = self.waiting.pop_front() else { return };
            if let Some(sequence) = self.enter(sequence, step, now) {
                self.waiting.push_front(sequence);
                return;
            }
        }
    }

    /// Lets a sequence in, or gives it back as it was because there is no room.
    fn enter(&mut self, mut sequence: Sequence, step: &mut Step, now: Duration) -> Option<Sequence> {
        let block_size = self.config.kv.block_size;
        // The last token is computed in any case, for the next one comes of it.
        let reusable = ((sequence.tokens() - 1) / block_size) as usize;
        let prefixes = &sequence.job.prefixes;
        let known = self.pool.remembered(&prefixes[..reusable.min(prefixes.len())]);
        // As many as its prompt has blocks at most.
        let cached = u32::try_from(known.len()).unwrap_or(u32::MAX) * block_size;
        sequence.computed = cached;
        let share = self.share(&sequence, step);
        let room = share.and_then(|share| {
            let missing = sequence.blocks_with(share, block_size) - known.len();
            (missing + self.pool.unheld(&known) <= self.pool.free()).then_some((share, missing))
        });
        let Some((share, missing)) = room else {
            sequence.computed = 0;
            return Some(sequence);
        };
        self.pool.share(&known);
        let new = self.pool.take(missing).unwrap_or_default();
        sequence.blocks = known;
        sequence.blocks.extend(new);
        if sequence.life.scheduled.is_none() {
            sequence.life.scheduled = Some(now);
            sequence.cached = cached;
            if self.config.kv.prefix_caching {
                self.books.looked_up(sequence.job.prompt, cached);
            }
        }
        step.give(&mut sequence, share);
        self.running.push(sequence);
        self.remember(self.running.len() - 1);
        None
    }

    /// The blocks of a prompt that a sequence's share completes can be found by others from now on.
    fn remember(&mut self, index: usize) {
        let sequence = &self.running[index];
        let computed = sequence.computed + sequence.share.map_or(0, |share| share.compute);
        let block_size = self.config.kv.block_size;
        let from = (sequence.computed / block_size) as usize;
        let to = (computed / block_size) as usize;
        for block in from..to.min(sequence.job.prefixes.len()) {
            self.pool.remember(sequence.blocks[block], sequence.job.prefixes[block]);
        }
    }

    fn share(&self, sequence: &Sequence, step: &Step) -> Option<Share> {
        sequence.share_of(step.budget, self.config.chunked_prefill, self.config.speculation)
    }

    fn has_place(&self) -> bool {
        self.running.len() < self.config.max_num_seqs as usize
    }
}
