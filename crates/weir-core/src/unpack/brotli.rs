//! The coding `br` (RFC 7932).

use std::fmt;

use brotli_decompressor::{
    BrotliDecoderTakeOutput, BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc,
};

use super::layer::{Fault, SLICE, Sink};

/// Its ring buffer grows with what has been unpacked, up to the window that the body asks for, and
/// is what the output is handed on from. When it fails, what it had not handed on of the feed at hand
/// is lost.
pub(super) struct Brotli {
    inner: Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>,
    done: bool,
}

impl Brotli {
    /// Strict: windows above 16 MiB are no part of the coding.
    pub(super) fn new() -> Self {
        let alloc = StandardAlloc::default;
        Self { inner: Box::new(BrotliState::new_strict(alloc(), alloc(), alloc())), done: false }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn feed(&mut self, packed: &[u8], on: &mut Sink<'_>) -> Result<(), Fault> {
        let mut left = packed.len();
        let mut at = 0;
        while !self.done {
            // No room for output is given here: it stays in the ring buffer, to be taken from there.
            let result = BrotliDecompressStream(
                &mut left,
                &mut at,
                packed,
                &mut 0,
                &mut 0,
                &mut [],
                &mut 0,
                &mut self.inner,
            );
            self.take(on)?;
            match result {
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => return Ok(()),
                BrotliResult::ResultSuccess => self.done = true,
                BrotliResult::ResultFailure => return Err(Fault::Corrupt),
            }
        }
        Ok(())
    }

    fn take(&mut self, on: &mut Sink<'_>) -> Result<(), Fault> {
        loop {
            let mut size = SLICE;
            let slice = BrotliDecoderTakeOutput(&mut self.inner, &mut size);
            if size == 0 {
                return Ok(());
            }
            on(&slice[..size])?;
        }
    }
}

impl fmt::Debug for Brotli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brotli").field("done", &self.done).finish_non_exhaustive()
    }
}
