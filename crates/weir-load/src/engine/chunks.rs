//! How the tokens of an answer are parted into chunks.

use std::sync::Arc;

/// The chunks of an answer, the same for each of its choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chunks {
    /// So many tokens, so many in each chunk, and what is left in the last one.
    Even { tokens: u32, per_chunk: u32 },
    /// How many tokens there are after each chunk, ascending: a step of speculative decoding yields
    /// as many as were accepted.
    Drawn(Arc<[u32]>),
}

impl Chunks {
    /// `tokens` tokens with `per_chunk` in each chunk; neither is less than one.
    pub(crate) fn even(tokens: u32, per_chunk: u32) -> Self {
        Chunks::Even { tokens: tokens.max(1), per_chunk: per_chunk.max(1) }
    }

    /// How many chunks there are.
    pub(crate) fn count(&self) -> u32 {
        match self {
            Chunks::Even { tokens, per_chunk } => tokens.div_ceil(*per_chunk),
            // No longer than the tokens, which are counted in 32 bits.
            Chunks::Drawn(ends) => u32::try_from(ends.len()).unwrap_or(u32::MAX),
        }
    }

    /// Tokens that the first `chunks` chunks carry.
    pub(crate) fn tokens_after(&self, chunks: u32) -> u32 {
        match self {
            Chunks::Even { tokens, per_chunk } => chunks.saturating_mul(*per_chunk).min(*tokens),
            Chunks::Drawn(ends) => {
                let last = (chunks as usize).min(ends.len());
                last.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0)
            }
        }
    }

    /// Tokens there must be before the chunk that begins with token number `first` is complete.
    pub(crate) fn complete_with(&self, first: u32) -> u32 {
        match self {
            Chunks::Even { tokens, per_chunk } => {
                (first / per_chunk).saturating_add(1).saturating_mul(*per_chunk).min(*tokens)
            }
            Chunks::Drawn(ends) => {
                let chunk = ends.partition_point(|&end| end <= first);
                ends.get(chunk).or(ends.last()).copied().unwrap_or(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_chunks_leave_the_rest_to_the_last() {
        let chunks = Chunks::even(10, 4);
        assert_eq!(chunks.count(), 3);
        assert_eq!([0, 1, 2, 3, 4].map(|n| chunks.tokens_after(n)), [0, 4, 8, 10, 10]);
        assert_eq!([0, 3, 4, 8, 9].map(|n| chunks.complete_with(n)), [4, 4, 8, 10, 10]);
        assert_eq!(Chunks::even(0, 0), Chunks::Even { tokens: 1, per_chunk: 1 });
    }

    #[test]
    fn drawn_chunks_end_where_they_were_drawn() {
        let chunks = Chunks::Drawn([1, 4, 5].into());
        assert_eq!(chunks.count(), 3);
        assert_eq!([0, 1, 2, 3, 9].map(|n| chunks.tokens_after(n)), [0, 1, 4, 5, 5]);
        assert_eq!([0, 1, 3, 4].map(|n| chunks.complete_with(n)), [1, 4, 4, 5]);
    }
}
