//! When an event can be read.

use super::*;

#[test]
fn a_flushed_event_is_readable_once_its_last_byte_is_fed() {
    let events = events(300);
    for form in FORMS {
        let parts = form.flushed(&events);
        for piece in [1, 7, usize::MAX] {
            let mut unpacker = unpacker(form.name(), Limits::default());
            let mut plain = Vec::new();
            let mut expected = Vec::new();
            for (event, part) in events.iter().zip(&parts) {
                assert!(!part.is_empty(), "{form:?}");
                for bytes in part.chunks(piece) {
                    unpacker.feed(bytes, &mut |slice| plain.extend_from_slice(slice));
                }
                expected.extend_from_slice(event.as_bytes());
                assert_eq!(plain, expected, "{form:?} by {piece}");
                assert_eq!(unpacker.state(), State::Flowing);
            }
            unpacker.feed(&parts[events.len()], &mut |slice| panic!("{slice:?}"));
            assert_eq!(unpacker.state(), State::Done, "{form:?} by {piece}");
        }
    }
}

#[test]
fn two_layers_flushed_after_each_event_keep_the_events_apart() {
    let events = events(50);
    let inner = Form::Gzip.flushed(&events);
    let outer = Form::Brotli.flushed(&inner);
    let mut unpacker = unpacker("gzip, br", Limits::default());
    for (event, part) in events.iter().zip(&outer) {
        let mut plain = Vec::new();
        unpacker.feed(part, &mut |slice| plain.extend_from_slice(slice));
        assert_eq!(plain, event.as_bytes());
    }
}

/// Reads of `size` bytes: how many gave output that ended with an event, and how many gave output
/// that ended inside of one.
fn boundaries(form: Form, packed: &[u8], size: usize) -> (usize, usize) {
    let mut unpacker = unpacker(form.name(), Limits::default());
    let (mut at, mut inside) = (0, 0);
    for read in packed.chunks(size) {
        let mut plain = Vec::new();
        unpacker.feed(read, &mut |slice| plain.extend_from_slice(slice));
        match plain.is_empty() {
            true => {}
            false if plain.ends_with(b"\n\n") => at += 1,
            false => inside += 1,
        }
    }
    assert_eq!(unpacker.state(), State::Done);
    (at, inside)
}

#[test]
fn events_that_were_not_flushed_are_left_in_pieces() {
    let plain = events(4000).concat();
    for form in FORMS {
        // The last read ends with the last event.
        let (at, inside) = boundaries(form, &form.packed(plain.as_bytes()), 1448);
        assert!(at <= 2 && inside >= 4, "{form:?}: {at} at the end of an event, {inside} inside");
    }
}

#[test]
fn an_event_that_was_not_flushed_is_not_there() {
    let events = events(10);
    for form in FORMS {
        let packed = Shared::default();
        let mut packer = form.packer(packed.clone());
        for event in &events {
            packer.write_all(event.as_bytes()).unwrap();
        }
        let (plain, _) = unpack(form.name(), [&packed.take()[..]]);
        assert_eq!(plain, b"", "{form:?} has written nothing yet that could be read");
    }
}
