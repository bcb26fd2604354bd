//! Reads a packed body through a copy that is unpacked as it flows.
//!
//! When an event could be read is when the packer flushed it, which is the time that counts. One that does not flush
//! holds events back for as long as it likes, and says nothing of when they came. The two are told apart by where
//! reads end: a flush ends with an event. A read that brings an event and leaves a part of the next one behind was
//! no flush, and then no time in the whole stream is worth anything.

use super::Seen;
use super::facts::Facts;
use super::mode::Mode;
use crate::exchange::Unpacked;
use crate::unpack::{Limits, Packing, State, Unpacker};

/// A packed body under way.
#[derive(Debug)]
pub(super) struct Packed {
    /// Absent for a coding that is not understood.
    unpacker: Option<Unpacker>,
    /// A read brought an event, and left a part of another.
    unflushed: bool,
}

impl Packed {
    /// `None` where the value of `content-encoding` names no coding.
    pub(super) fn of(content_encoding: &[u8]) -> Option<Self> {
        let unpacker = match Packing::of(content_encoding, Limits::default()) {
            Packing::Plain => return None,
            Packing::Packed(unpacker) => Some(unpacker),
            Packing::Unknown => None,
        };
        Some(Self { unpacker, unflushed: false })
    }

    /// Unpacks what was read, and reads that.
    pub(super) fn feed(
        &mut self,
        chunk: &[u8],
        mode: &mut Mode,
        facts: &mut Facts,
        on: &mut impl FnMut(Seen),
    ) {
        let Some(unpacker) = &mut self.unpacker else { return };
        let before = facts.counts.events;
        unpacker.feed(chunk, &mut |plain| mode.feed(plain, facts, on));
        self.unflushed |= facts.counts.events > before && !mode.is_between_events();
    }

    pub(super) fn finish(&mut self) {
        if let Some(unpacker) = &mut self.unpacker {
            unpacker.finish();
        }
    }

    /// Whether all that came so far could be read.
    pub(super) fn is_readable(&self) -> bool {
        self.told().is_whole()
    }

    pub(super) fn told(&self) -> Unpacked {
        match self.unpacker.as_ref().map(Unpacker::state) {
            None => Unpacked::Unknown,
            Some(State::Corrupt) => Unpacked::Corrupt,
            Some(State::OverBound) => Unpacked::OverBound,
            Some(State::Flowing | State::Done) if self.unflushed => Unpacked::Untimed,
            Some(State::Flowing | State::Done) => Unpacked::Timed,
        }
    }
}
