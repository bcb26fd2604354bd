//! The deflate format (RFC 1951), bare and in its two wrappings.

use std::fmt;

use zlib_rs::{InflateFlush, Status};

use super::layer::{Fault, SLICE, Sink};

/// What is around the deflate blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    None,
    /// A header of two bytes, and a checksum behind (RFC 1950).
    Zlib,
    /// A header of ten bytes and more; a checksum and the length behind (RFC 1952).
    Gzip,
}

/// Inflates one stream.
pub(super) struct Inflate {
    inner: zlib_rs::Inflate,
    scratch: Box<[u8]>,
}

impl Inflate {
    pub(super) fn new(wrapping: Wrapping) -> Self {
        /// A window of 32 KiB, as a power of two: there is none larger.
        const WINDOW: u8 = 15;
        /// Asks for a gzip header, by this library's convention.
        const GZIP: u8 = 16;
        let inner = match wrapping {
            Wrapping::None => zlib_rs::Inflate::new(false, WINDOW),
            Wrapping::Zlib => zlib_rs::Inflate::new(true, WINDOW),
            Wrapping::Gzip => zlib_rs::Inflate::new(true, GZIP + WINDOW),
        };
        Self { inner, scratch: vec![0; SLICE].into_boxed_slice() }
    }

    /// Reads on. Returns what was left over once the stream has ended and its checksum was right;
    /// `None` before.
    pub(super) fn feed<'p>(
        &mut self,
        mut packed: &'p [u8],
        on: &mut Sink<'_>,
    ) -> Result<Option<&'p [u8]>, Fault> {
        loop {
            let before = (self.inner.total_in(), self.inner.total_out());
            let status = self.inner.decompress(packed, &mut self.scratch, InflateFlush::NoFlush);
            // Both are at most the length of a slice.
            let read = (self.inner.total_in() - before.0) as usize;
            let written = (self.inner.total_out() - before.1) as usize;
            packed = &packed[read..];
            if written > 0 {
                on(&self.scratch[..written])?;
            }
            match status {
                Ok(Status::StreamEnd) => return Ok(Some(packed)),
                Ok(_) if written < self.scratch.len() => return Ok(None),
                Ok(_) => {}
                Err(_) => return Err(Fault::Corrupt),
            }
        }
    }
}

impl fmt::Debug for Inflate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflate").field("unpacked", &self.inner.total_out()).finish_non_exhaustive()
    }
}
