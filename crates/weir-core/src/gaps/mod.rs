//! The gaps of one stream: how long it took from one chunk to the next, and per token.
//!
//! [`GapCell`] is what the data path writes while the stream runs: at most 6 KiB of atomics with one
//! writer, and 3 where every chunk carries one token. [`GapRecord`] is what is read out of it: sparse plain data that can be subtracted,
//! merged and asked for quantiles.

mod bins;
mod cell;
pub mod grid;

pub use bins::{Bins, SCALE, Scale};
pub use cell::GapCell;

use serde::{Deserialize, Serialize};

/// The gaps of a stream, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapRecord {
    /// Time per token: the gap divided by the number of tokens its chunk carried, once per token.
    /// Where the number is not known the chunk counts as one token.
    pub itl: Bins,
    /// Time from one chunk to the next, as it came.
    pub inter_chunk: Bins,
}

impl GapRecord {
    /// What has been added since `earlier`, a reading of the same cell.
    pub fn since(&self, earlier: &GapRecord) -> GapRecord {
        GapRecord {
            itl: self.itl.since(&earlier.itl),
            inter_chunk: self.inter_chunk.since(&earlier.inter_chunk),
        }
    }

    /// True when there is no gap in it.
    pub fn is_empty(&self) -> bool {
        self.inter_chunk.count == 0
    }
}
