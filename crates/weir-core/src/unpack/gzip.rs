//! The coding `gzip`: members, one behind another.

use super::inflate::{Inflate, Wrapping};
use super::layer::{Fault, Sink};

/// What a member begins with.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug)]
pub(super) enum Gzip {
    Member(Inflate),
    /// Behind a member; whether the first byte of another has been seen.
    Between(bool),
    /// Behind the last member, in what is none. Some servers leave padding there.
    End,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self::Member(Inflate::new(Wrapping::Gzip))
    }

    /// Behind a member, one byte that could begin another is not taken for one.
    pub(super) fn is_done(&self) -> bool {
        !matches!(self, Self::Member(_))
    }

    pub(super) fn feed(&mut self, mut packed: &[u8], on: &mut Sink<'_>) -> Result<(), Fault> {
        while let Some((&byte, rest)) = packed.split_first() {
            match self {
                Self::Member(inflate) => match inflate.feed(packed, on)? {
                    Some(behind) => {
                        packed = behind;
                        *self = Self::Between(false);
                    }
                    None => return Ok(()),
                },
                Self::Between(seen) => {
                    packed = rest;
                    *self = match (*seen, byte) {
                        (false, byte) if byte == MAGIC[0] => Self::Between(true),
                        (true, byte) if byte == MAGIC[1] => {
                            let mut inflate = Inflate::new(Wrapping::Gzip);
                            inflate.feed(&MAGIC, on)?;
                            Self::Member(inflate)
                        }
                        _ => Self::End,
                    };
                }
                Self::End => return Ok(()),
            }
        }
        Ok(())
    }
}
