//! The result is the same, however the bytes are cut.

use proptest::prelude::*;

use super::*;

#[test]
fn every_split_gives_the_same() {
    let events = events(400);
    let plain = events.concat().into_bytes();
    for form in FORMS {
        for packed in [form.flushed(&events).concat(), form.packed(&plain)] {
            for size in [1, 2, 3, 7, 97, 1448, usize::MAX] {
                let (unpacked, state) = unpack(form.name(), packed.chunks(size));
                assert_eq!((unpacked == plain, state), (true, State::Done), "{form:?} by {size}");
            }
        }
    }
}

#[test]
fn what_packs_badly_is_unpacked_too() {
    // Stored blocks, long literals, and runs longer than a window.
    let mut plain = noise(150_000);
    plain.extend(vec![b'x'; 100_000]);
    plain.extend(noise(70_000));
    for form in FORMS {
        let (unpacked, state) = unpack(form.name(), form.packed(&plain).chunks(1448));
        assert_eq!((unpacked == plain, state), (true, State::Done), "{form:?}");
    }
}

/// Bytes without a pattern.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bytes_in_any_pieces_come_back(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..12),
        cuts in prop::collection::vec(1_usize..64, 1..8),
    ) {
        let plain = parts.concat();
        for form in FORMS {
            let packed = form.flushed(&parts).concat();
            let mut rest = &packed[..];
            let mut pieces = Vec::new();
            for &cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            let (unpacked, state) = unpack(form.name(), pieces);
            prop_assert_eq!(&unpacked, &plain);
            prop_assert_eq!(state, State::Done);
        }
    }
}
