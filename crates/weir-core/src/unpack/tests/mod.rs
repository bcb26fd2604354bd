//! Bodies packed by encoders of other authors, taken apart again.

mod bounds;
mod corrupt;
mod flush;
mod framing;
mod names;
mod noise;
mod split;

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use super::{Limits, Packing, State, Unpacker};

/// A body is read on whatever thread polls it.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Unpacker>();
};

/// The ways of packing: the codings, and both forms of `deflate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Gzip,
    Zlib,
    Bare,
    Brotli,
    Zstd,
}

const FORMS: [Form; 5] = [Form::Gzip, Form::Zlib, Form::Bare, Form::Brotli, Form::Zstd];

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zlib | Self::Bare => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// An encoder that ends what it packs when it is dropped.
    fn packer(self, into: Shared) -> Box<dyn Write> {
        let level = flate2::Compression::default();
        match self {
            Self::Gzip => Box::new(flate2::write::GzEncoder::new(into, level)),
            Self::Zlib => Box::new(flate2::write::ZlibEncoder::new(into, level)),
            Self::Bare => Box::new(flate2::write::DeflateEncoder::new(into, level)),
            Self::Brotli => Box::new(brotli::CompressorWriter::new(into, 4096, 5, 22)),
            Self::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(into, 3).unwrap();
                encoder.include_checksum(true).unwrap();
                Box::new(encoder.auto_finish())
            }
        }
    }

    /// Packs `parts`, flushed after each. What each of them added comes back, then what the end did.
    fn flushed(self, parts: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
        let packed = Shared::default();
        let mut packer = self.packer(packed.clone());
        let mut added = Vec::new();
        for part in parts {
            packer.write_all(part.as_ref()).unwrap();
            packer.flush().unwrap();
            added.push(packed.take());
        }
        drop(packer);
        added.push(packed.take());
        added
    }

    /// Packs `plain` without a flush.
    fn packed(self, plain: &[u8]) -> Vec<u8> {
        let packed = Shared::default();
        let mut packer = self.packer(packed.clone());
        packer.write_all(plain).unwrap();
        drop(packer);
        packed.take()
    }
}

/// Where an encoder writes to, and a test reads from.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Shared {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut())
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Events of a chat, each unlike the others.
fn events(count: usize) -> Vec<String> {
    let event = |n: usize| {
        format!(
            "data: {{\"id\":\"chatcmpl-7\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
             \"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" w{:x}\"}},\
             \"logprobs\":null,\"finish_reason\":null}}]}}\n\n",
            n.wrapping_mul(2_654_435_761) % 1_000_003
        )
    };
    (0..count).map(event).collect()
}

fn unpacker(encoding: &str, limits: Limits) -> Unpacker {
    match Packing::of(encoding.as_bytes(), limits) {
        Packing::Packed(unpacker) => unpacker,
        other => panic!("{encoding}: {other:?}"),
    }
}

/// What the pieces unpack to, and how that ended.
fn unpack<'p>(encoding: &str, pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<u8>, State) {
    let mut unpacker = unpacker(encoding, Limits::default());
    let mut plain = Vec::new();
    for piece in pieces {
        unpacker.feed(piece, &mut |slice| {
            assert!(!slice.is_empty() && slice.len() <= Unpacker::SLICE);
            plain.extend_from_slice(slice);
        });
    }
    unpacker.finish();
    assert_eq!(unpacker.unpacked(), plain.len() as u64);
    (plain, unpacker.state())
}
