//! The coding `zstd` (RFC 8878, RFC 9659): frames, one behind another.

use mzstd::{
    DecodeError, DecodeLimits, DecodeOperation, DecoderConfig, DecoderSessionOwned, DecoderStatus,
    Decompressor, FrameMode, InvalidDataKind,
};

use super::layer::{Fault, SLICE, Sink};

/// The largest window that the coding allows, as a power of two: 8 MiB (RFC 9659, 3).
const WINDOW_LOG: u8 = 23;

/// A frame's first bytes, which tell whether it is one.
const MAGIC: u64 = 4;

/// A block is unpacked as soon as it is whole, and a flush ends a block.
#[derive(Debug)]
pub(super) struct Zstd {
    /// One frame at a time, or it could not be told whether the body may end here.
    frame: DecoderSessionOwned,
    scratch: Box<[u8]>,
    /// A frame has ended.
    any: bool,
    /// Behind the last frame, in what is none.
    end: bool,
}

impl Zstd {
    pub(super) fn new() -> Self {
        // The log is one of those that are allowed.
        let limits = DecodeLimits::DEFAULT.with_max_window_log(WINDOW_LOG).unwrap_or_default();
        let config = DecoderConfig::DEFAULT.with_limits(limits).with_frame_mode(FrameMode::Single);
        Self {
            frame: Decompressor::new(config).into_session(),
            scratch: vec![0; SLICE].into_boxed_slice(),
            any: false,
            end: false,
        }
    }

    /// Behind a frame, bytes that are too few to be another are not taken for one.
    pub(super) fn is_done(&self) -> bool {
        self.any && (self.end || self.frame.is_finished() || self.frame.total_in() < MAGIC)
    }

    pub(super) fn feed(&mut self, mut packed: &[u8], on: &mut Sink<'_>) -> Result<(), Fault> {
        while !self.end {
            if self.frame.is_finished() {
                if packed.is_empty() {
                    return Ok(());
                }
                self.frame.reinit();
            }
            match self.frame.process(packed, &mut self.scratch, DecodeOperation::Process) {
                Ok(progress) => {
                    packed = &packed[progress.consumed..];
                    if progress.produced > 0 {
                        on(&self.scratch[..progress.produced])?;
                    }
                    match progress.status {
                        DecoderStatus::NeedsInput => return Ok(()),
                        DecoderStatus::Finished => self.any = true,
                        _ => {}
                    }
                }
                Err(failure) => {
                    if failure.produced > 0 {
                        on(&self.scratch[..failure.produced])?;
                    }
                    self.failed(&failure.error)?;
                }
            }
        }
        Ok(())
    }

    fn failed(&mut self, error: &DecodeError) -> Result<(), Fault> {
        match error {
            DecodeError::InvalidData { kind: InvalidDataKind::Magic } if self.any => {
                self.end = true;
                Ok(())
            }
            DecodeError::WindowLimitExceeded { .. } | DecodeError::AllocationFailed => Err(Fault::OverBound),
            _ => Err(Fault::Corrupt),
        }
    }
}
