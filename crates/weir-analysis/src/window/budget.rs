//! How much the windows may hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one new bin can come to until its slot has left every window: an entry in the open minute and one
/// in the sum of each window, each with the slack of its list.
const PLEDGE: usize = 48;

/// The bytes in use, and those that open bins may come to.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: usize,
    pledged: usize,
    overflowed: u64,
}

impl Budget {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, used: 0, pledged: 0, overflowed: 0 }
    }

    /// Whether there is room for a bin that the open slot does not have yet. This is the only gate: what
    /// comes in here has room in every list it will be added to.
    pub(super) const fn admit(&mut self) -> bool {
        let room = self.used + self.pledged + PLEDGE <= self.limit;
        if room {
            self.pledged += PLEDGE;
        }
        room
    }

    /// Whether there is room for a series of this size.
    pub(super) const fn has_room(&self, bytes: usize) -> bool {
        self.used + self.pledged + bytes <= self.limit
    }

    /// Something grew, shrank, came or went.
    pub(super) const fn resize(&mut self, before: usize, after: usize) {
        self.used = (self.used + after).saturating_sub(before);
    }

    /// Values that no bin could be had for.
    pub(super) const fn overflow(&mut self, values: u64) {
        self.overflowed = self.overflowed.saturating_add(values);
    }

    /// All open slots were closed: what had been pledged is now in use.
    pub(super) const fn settle(&mut self) {
        self.pledged = 0;
    }

    /// What to tell.
    pub(super) const fn reading(&self, turned_away: u64, dropped: u64) -> Memory {
        Memory {
            used_bytes: self.used as u64,
            limit_bytes: self.limit as u64,
            overflowed: self.overflowed,
            turned_away,
            dropped,
        }
    }
}

/// What the windows hold, and what found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Bytes that the series hold.
    pub used_bytes: u64,
    /// Bytes that they may hold.
    pub limit_bytes: u64,
    /// Values that are in counts and means and not in quantiles, as there was no room for their bin.
    pub overflowed: u64,
    /// Exchanges and pulses that were counted under `other`, as there was no room for a series.
    pub turned_away: u64,
    /// Series dropped after an idle hour, to make room.
    pub dropped: u64,
}
