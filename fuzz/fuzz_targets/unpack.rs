//! What a packed body unpacks to does not depend on how it is cut, unless it is corrupt, and is bounded.
//!
//! Input: one digit (the coding), the seed of the cuts (two bytes), the packed body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_core::unpack::{Limits, Packing, State, Unpacker};
use weir_fuzz::{Cuts, option};

const CODINGS: [&[u8]; 6] = [b"gzip", b"deflate", b"br", b"zstd", b"gzip, br", b"identity"];

/// Far above what is unpacked here; where it is met depends on how a body is cut.
const AMPLE: Limits = Limits { total: 1 << 20, free: 1 << 20, ratio: 1 };

/// Soon met.
const TIGHT: Limits = Limits { total: 4096, free: 64, ratio: 4 };

fuzz_target!(|input: &[u8]| {
    let Some((&coding, input)) = input.split_first() else { return };
    let Some((cuts, body)) = Cuts::take(input) else { return };
    let coding = CODINGS[option(coding) % CODINGS.len()];

    let whole = unpack(coding, AMPLE, std::iter::once(body));
    for cut in [unpack(coding, AMPLE, cuts.cut(body)), unpack(coding, AMPLE, body.chunks(1))] {
        let (Some(whole), Some(cut)) = (&whole, &cut) else { continue };
        match (whole.state, cut.state) {
            (State::OverBound, _) | (_, State::OverBound) => {}
            // How much of what stands before a fault comes out depends on how far apart the two are fed.
            (State::Corrupt, State::Corrupt) => {
                assert!(whole.bytes.starts_with(&cut.bytes) || cut.bytes.starts_with(&whole.bytes));
            }
            _ => assert_eq!(cut, whole),
        }
    }

    if let Some(tight) = unpack(coding, TIGHT, cuts.cut(body)) {
        let allowed = (TIGHT.free + TIGHT.ratio * body.len() as u64).min(TIGHT.total);
        assert!(tight.bytes.len() as u64 <= allowed);
    }
});

#[derive(Debug, PartialEq)]
struct Unpacked {
    bytes: Vec<u8>,
    state: State,
}

/// `None` if the coding says that nothing is packed.
fn unpack<'a>(coding: &[u8], limits: Limits, parts: impl Iterator<Item = &'a [u8]>) -> Option<Unpacked> {
    let Packing::Packed(mut unpacker) = Packing::of(coding, limits) else { return None };
    let mut bytes = Vec::new();
    for part in parts {
        unpacker.feed(part, &mut |slice| {
            assert!(!slice.is_empty() && slice.len() <= Unpacker::SLICE);
            bytes.extend_from_slice(slice);
        });
    }
    unpacker.finish();
    assert_eq!(unpacker.unpacked(), bytes.len() as u64);
    Some(Unpacked { bytes, state: unpacker.state() })
}
