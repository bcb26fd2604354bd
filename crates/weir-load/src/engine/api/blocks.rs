//! The blocks of an answer with one choice: APIs with typed events open and close each of them.

use crate::engine::ask::Content;
use crate::engine::generation::Generation;

/// What a block consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Reasoning,
    Text,
    Call,
}

/// The block that a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) block: Block,
    /// Its number among the blocks.
    pub(crate) index: u32,
    /// Whether the step is its first.
    pub(crate) opens: bool,
}

impl Place {
    /// Where a step stands.
    pub(crate) fn of(generation: &Generation, step: u32) -> Self {
        let reasoning = generation.reasoning_steps();
        if let Content::ToolCall(_) = generation.ask.content {
            return Place { block: Block::Call, index: 0, opens: step == 0 };
        }
        if step < reasoning {
            return Place { block: Block::Reasoning, index: 0, opens: step == 0 };
        }
        Place { block: Block::Text, index: u32::from(reasoning > 0), opens: step == reasoning }
    }

    /// The last block.
    pub(crate) fn last(generation: &Generation) -> Self {
        Place::of(generation, generation.steps().saturating_sub(1))
    }

    /// All blocks in order.
    pub(crate) fn all(generation: &Generation) -> Vec<Self> {
        let last = Place::last(generation);
        let first = Place::of(generation, 0);
        if first.index == last.index { vec![last] } else { vec![first, last] }
    }
}
