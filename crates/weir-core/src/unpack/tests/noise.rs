//! Bytes that nobody packed: whatever they are, they are read to an end within bounds.

use proptest::prelude::*;

use super::*;

/// Beginnings that lead past the first check.
const BEGINNINGS: [&[u8]; 8] = [
    b"",
    b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
    b"\x1f\x8b\x08\x1e",
    b"\x78\x9c",
    b"\x28\xb5\x2f\xfd\x04\x58",
    b"\x28\xb5\x2f\xfd\xa0",
    b"\x28\xb5\x2f\xfd\0\x68\x04\0\0",
    b"\x50\x2a\x4d\x18",
];

const LIMITS: Limits = Limits { total: 100_000, free: 50_000, ratio: 10 };

fn bounded(encoding: &str, packed: &[u8], size: usize) -> Vec<u8> {
    let mut unpacker = unpacker(encoding, LIMITS);
    let mut plain = Vec::new();
    for piece in packed.chunks(size) {
        unpacker.feed(piece, &mut |slice| plain.extend_from_slice(slice));
    }
    unpacker.finish();
    assert!(plain.len() as u64 <= LIMITS.allowed(packed.len() as u64));
    plain
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_are_read(
        beginning in 0..BEGINNINGS.len(),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        size in 1_usize..400,
    ) {
        let packed = [BEGINNINGS[beginning], &bytes].concat();
        for encoding in ["gzip", "deflate", "br", "zstd", "zstd, br, gzip"] {
            bounded(encoding, &packed, size);
        }
    }

    #[test]
    fn damaged_bodies_are_read(
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        size in 1_usize..400,
    ) {
        let events = events(40);
        for form in FORMS {
            let mut packed = form.flushed(&events).concat();
            for (at, byte) in &wrong {
                let at = at.index(packed.len());
                packed[at] = *byte;
            }
            let (pieces, bytewise) = (bounded(form.name(), &packed, size), bounded(form.name(), &packed, 1));
            prop_assert!(bytewise.starts_with(&pieces), "{:?}", form);
            prop_assert!(form == Form::Brotli || bytewise == pieces, "{:?}", form);
        }
    }
}
