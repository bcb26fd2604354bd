//! The observer's own unpacking of packed response bodies.
//!
//! Packed bytes are relayed as they are; a copy is unpacked as it flows, so that the events in it
//! can be read. All that the bytes so far say comes out at once: a packer that flushes after each
//! event makes each event readable as soon as its last byte is fed, and nothing is held for the end.

mod brotli;
mod deflate;
mod gzip;
mod inflate;
mod layer;
mod limits;
#[cfg(test)]
mod tests;
mod zstd;

use layer::{Coding, Fault, Layer};
pub use limits::Limits;

/// Codings that one body may be packed in, one over another. Real servers use one.
const MAX_LAYERS: usize = 3;

/// What a `content-encoding` says of a body.
#[derive(Debug)]
pub enum Packing {
    /// It is not packed.
    Plain,
    /// It is packed in a way that is understood.
    Packed(Unpacker),
    /// It is packed in a way that is not understood, or too many times.
    Unknown,
}

impl Packing {
    /// Reads the value of a `content-encoding` field: names of codings, separated by commas, in the
    /// order in which they were applied (RFC 9110, 8.4).
    pub fn of(content_encoding: &[u8], limits: Limits) -> Self {
        let names = content_encoding.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let names = names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"));
        let mut codings = Vec::new();
        for name in names {
            match Coding::of(name) {
                Some(coding) if codings.len() < MAX_LAYERS => codings.push(coding),
                _ => return Self::Unknown,
            }
        }
        if codings.is_empty() {
            return Self::Plain;
        }
        Self::Packed(Unpacker::new(&codings, limits))
    }
}

/// How far the unpacking of a body has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is not at an end of what was packed. After [`Unpacker::finish`]: it was cut short.
    Flowing,
    /// It is at such an end. More may follow, another gzip member for one, and is read then; what
    /// else follows is passed over.
    Done,
    /// It is not what it claims to be. What was handed out before stands, unless a checksum at the
    /// end was what failed; nothing more will come.
    Corrupt,
    /// It asked for more than its [`Limits`] allow. Nothing more will come.
    OverBound,
}

/// Unpacks one body. It cannot fail: where it can go no further, [`Unpacker::state`] says why.
///
/// Its memory is given back as soon as it can go no further, or at [`Unpacker::finish`].
#[derive(Debug)]
pub struct Unpacker {
    /// The last coding applied is the first to be taken off. Empty once nothing more will come.
    layers: Vec<Layer>,
    limits: Limits,
    state: State,
    /// Bytes fed.
    packed: u64,
    /// Bytes handed out.
    unpacked: u64,
}

impl Unpacker {
    /// No slice that is handed out is longer, in bytes.
    pub const SLICE: usize = layer::SLICE;

    fn new(applied: &[Coding], limits: Limits) -> Self {
        let layers = applied.iter().rev().map(|&coding| Layer::new(coding)).collect();
        Self { layers, limits, state: State::Flowing, packed: 0, unpacked: 0 }
    }

    /// Reads on, and hands out all that these bytes make readable, in slices of at most
    /// [`Unpacker::SLICE`] bytes.
    pub fn feed(&mut self, packed: &[u8], on: &mut impl FnMut(&[u8])) {
        if self.layers.is_empty() || packed.is_empty() {
            return;
        }
        self.packed += packed.len() as u64;
        let allowed = self.limits.allowed(self.packed);
        let unpacked = &mut self.unpacked;
        let went = layer::through(&mut self.layers, packed, allowed, &mut |slice| {
            *unpacked += slice.len() as u64;
            on(slice);
            Ok(())
        });
        match went {
            Ok(()) if self.layers.iter().all(Layer::is_done) => self.state = State::Done,
            Ok(()) => self.state = State::Flowing,
            Err(Fault::Corrupt) => self.stop(State::Corrupt),
            Err(Fault::OverBound) => self.stop(State::OverBound),
        }
    }

    /// The body is over, in whatever way. There is nothing left to hand out: only memory is given
    /// back. A body without a byte was not cut short.
    pub fn finish(&mut self) {
        let state = if self.packed == 0 { State::Done } else { self.state };
        self.stop(state);
    }

    /// How far it has come.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes handed out so far.
    pub fn unpacked(&self) -> u64 {
        self.unpacked
    }

    fn stop(&mut self, state: State) {
        self.state = state;
        self.layers = Vec::new();
    }
}
