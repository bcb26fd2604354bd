//! One coding that a body is packed in, and the way of the bytes through several.

use super::brotli::Brotli;
use super::deflate::Deflate;
use super::gzip::Gzip;
use super::zstd::Zstd;

/// The longest slice that is handed on, in bytes. A flushed event has a few hundred; what is not
/// flushed comes in blocks of many slices.
pub(super) const SLICE: usize = 4 * 1024;

/// Takes unpacked bytes.
pub(super) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), Fault> + 'a;

/// Why unpacking ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Corrupt,
    OverBound,
}

/// The content codings that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The coding of this name, if it is one of those in the registry that are in use.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match () {
            () if is("gzip") || is("x-gzip") => Some(Self::Gzip),
            () if is("deflate") => Some(Self::Deflate),
            () if is("br") => Some(Self::Brotli),
            () if is("zstd") => Some(Self::Zstd),
            () => None,
        }
    }
}

/// Takes one coding off.
#[derive(Debug)]
pub(super) struct Layer {
    decoder: Decoder,
    /// Bytes handed on.
    unpacked: u64,
}

#[derive(Debug)]
enum Decoder {
    Gzip(Gzip),
    Deflate(Deflate),
    Brotli(Brotli),
    Zstd(Box<Zstd>),
}

impl Layer {
    pub(super) fn new(coding: Coding) -> Self {
        let decoder = match coding {
            Coding::Gzip => Decoder::Gzip(Gzip::new()),
            Coding::Deflate => Decoder::Deflate(Deflate::new()),
            Coding::Brotli => Decoder::Brotli(Brotli::new()),
            Coding::Zstd => Decoder::Zstd(Box::new(Zstd::new())),
        };
        Self { decoder, unpacked: 0 }
    }

    /// Whether the bytes so far end where a packed body may.
    pub(super) fn is_done(&self) -> bool {
        match &self.decoder {
            Decoder::Gzip(gzip) => gzip.is_done(),
            Decoder::Deflate(deflate) => deflate.is_done(),
            Decoder::Brotli(brotli) => brotli.is_done(),
            Decoder::Zstd(zstd) => zstd.is_done(),
        }
    }

    /// Unpacks `packed`, and hands on all of it that is within `allowed`.
    fn feed(&mut self, packed: &[u8], allowed: u64, on: &mut Sink<'_>) -> Result<(), Fault> {
        let unpacked = &mut self.unpacked;
        let within = &mut |slice: &[u8]| {
            let room = usize::try_from(allowed.saturating_sub(*unpacked)).unwrap_or(usize::MAX);
            let fits = &slice[..slice.len().min(room)];
            *unpacked += fits.len() as u64;
            if !fits.is_empty() {
                on(fits)?;
            }
            if fits.len() < slice.len() { Err(Fault::OverBound) } else { Ok(()) }
        };
        match &mut self.decoder {
            Decoder::Gzip(gzip) => gzip.feed(packed, within),
            Decoder::Deflate(deflate) => deflate.feed(packed, within),
            Decoder::Brotli(brotli) => brotli.feed(packed, within),
            Decoder::Zstd(zstd) => zstd.feed(packed, within),
        }
    }
}

/// Takes off every layer, the first one first. What each of them hands on is held to the same bound,
/// or a small body could make a middle one work without end.
pub(super) fn through(
    layers: &mut [Layer],
    packed: &[u8],
    allowed: u64,
    on: &mut Sink<'_>,
) -> Result<(), Fault> {
    match layers {
        [] => on(packed),
        [layer, rest @ ..] => layer.feed(packed, allowed, &mut |slice| through(rest, slice, allowed, on)),
    }
}
