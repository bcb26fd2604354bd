//! The coding `deflate`, which by its definition is wrapped in zlib's format, and by some servers is
//! not.

use super::inflate::{Inflate, Wrapping};
use super::layer::{Fault, Sink};

#[derive(Debug)]
pub(super) enum Deflate {
    /// Before the byte that tells the two forms apart; the first one may have been seen.
    Beginning(Option<u8>),
    Stream(Inflate),
    /// Behind the end.
    End,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self::Beginning(None)
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::End)
    }

    pub(super) fn feed(&mut self, packed: &[u8], on: &mut Sink<'_>) -> Result<(), Fault> {
        match self {
            Self::Beginning(first) => match (*first, packed) {
                (_, []) => Ok(()),
                (None, &[only]) if may_be_zlib(only) => {
                    *first = Some(only);
                    Ok(())
                }
                (None, &[first, ..]) => self.begin(first, packed.get(1).copied(), &[], packed, on),
                (Some(first), &[second, ..]) => self.begin(first, Some(second), &[first], packed, on),
            },
            Self::Stream(inflate) => {
                if inflate.feed(packed, on)?.is_some() {
                    *self = Self::End;
                }
                Ok(())
            }
            Self::End => Ok(()),
        }
    }

    fn begin(
        &mut self,
        first: u8,
        second: Option<u8>,
        held: &[u8],
        packed: &[u8],
        on: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let zlib = second.is_some_and(|second| is_zlib(first, second));
        let wrapping = if zlib { Wrapping::Zlib } else { Wrapping::None };
        *self = Self::Stream(Inflate::new(wrapping));
        self.feed(held, on)?;
        self.feed(packed, on)
    }
}

/// Whether a zlib stream can begin so: its method is 8, its window is not above 32 KiB. To a bare
/// deflate stream this would be a stored block whose padding is not zero, which no packer writes.
fn may_be_zlib(first: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7
}

/// Whether these two bytes are a zlib header, one that needs no preset dictionary.
fn is_zlib(first: u8, second: u8) -> bool {
    may_be_zlib(first) && u16::from_be_bytes([first, second]).is_multiple_of(31) && second & 0x20 == 0
}
