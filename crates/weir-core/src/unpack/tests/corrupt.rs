//! Bodies that are damaged or cut short.

use super::*;

/// What came out before each byte of `packed` was fed, as lengths of a prefix of `plain`.
fn progress(form: Form, packed: &[u8], plain: &[u8]) -> Vec<usize> {
    let mut unpacker = unpacker(form.name(), Limits::default());
    let mut unpacked = Vec::new();
    let mut before = Vec::new();
    for byte in packed.chunks(1) {
        before.push(unpacked.len());
        unpacker.feed(byte, &mut |slice| unpacked.extend_from_slice(slice));
    }
    assert_eq!(unpacked, plain);
    before
}

#[test]
fn a_wrong_byte_spoils_nothing_before_it() {
    let events = events(12);
    let plain = events.concat().into_bytes();
    for form in FORMS {
        let packed = form.flushed(&events).concat();
        let before = progress(form, &packed, &plain);
        let mut corrupt = 0;
        for at in 0..packed.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = packed.clone();
                damaged[at] ^= flip;
                let (unpacked, state) = unpack(form.name(), damaged.chunks(1));
                assert!(unpacked.starts_with(&plain[..before[at]]), "{form:?} at {at}");
                corrupt += usize::from(state == State::Corrupt);
                // A checksum tells: done means that nothing is missing and nothing wrong.
                let checked = matches!(form, Form::Gzip | Form::Zlib | Form::Zstd);
                if checked && state == State::Done && unpacked != plain {
                    // What follows a bad beginning of a second member or frame is none.
                    panic!("{form:?} at {at} of {}: {flip:x}", packed.len());
                }
            }
        }
        assert!(corrupt > packed.len() / 2, "{form:?}: {corrupt} of {}", packed.len());
    }
}

#[test]
fn what_a_damaged_read_holds_of_good_events_is_handed_out() {
    let events = events(12);
    let plain = events.concat().into_bytes();
    for form in [Form::Gzip, Form::Zlib, Form::Bare, Form::Zstd] {
        let parts = form.flushed(&events);
        let damaged = [&parts[..7].concat()[..], &[0xff; 40]].concat();
        let (whole, state) = unpack(form.name(), [&damaged[..]]);
        let (bytewise, _) = unpack(form.name(), damaged.chunks(1));
        assert_eq!((&whole, state), (&bytewise, State::Corrupt), "{form:?}");
        assert!(whole.starts_with(events[..7].concat().as_bytes()), "{form:?}");
    }
    // The decoder of this one drops what it has not handed out when it fails: what was in earlier
    // reads is all there is.
    let packed = Form::Brotli.flushed(&events);
    let mut unpacker = unpacker("br", Limits::default());
    let mut unpacked = Vec::new();
    for part in [&packed[..6].concat()[..], &[0xff; 40]] {
        unpacker.feed(part, &mut |slice| unpacked.extend_from_slice(slice));
    }
    assert_eq!(unpacker.state(), State::Corrupt);
    assert!(unpacked.starts_with(&plain[..events[..6].concat().len()]));
}

#[test]
fn nothing_comes_after_corruption() {
    for form in FORMS {
        let mut unpacker = unpacker(form.name(), Limits::default());
        unpacker.feed(b"\xff\xff data: this is not packed at all \n\n", &mut |_| {});
        let unpacked = unpacker.unpacked();
        assert_eq!(unpacker.state(), State::Corrupt, "{form:?}");
        unpacker.feed(&form.packed(b"sound"), &mut |slice| panic!("{slice:?}"));
        unpacker.finish();
        assert_eq!((unpacker.state(), unpacker.unpacked()), (State::Corrupt, unpacked));
    }
}

#[test]
fn a_body_that_is_cut_short_gives_all_that_it_has() {
    let events = events(12);
    let plain = events.concat().into_bytes();
    for form in FORMS {
        let packed = form.flushed(&events).concat();
        let before = progress(form, &packed, &plain);
        for len in 1..packed.len() {
            let (unpacked, state) = unpack(form.name(), [&packed[..len]]);
            assert_eq!((&unpacked[..], state), (&plain[..before[len]], State::Flowing), "{form:?} {len}");
        }
    }
}

#[test]
fn a_missing_trailer_is_an_end_cut_short() {
    let packed = Form::Gzip.packed(b"data: 1\n\n");
    let (plain, state) = unpack("gzip", [&packed[..packed.len() - 8]]);
    assert_eq!((&plain[..], state), (&b"data: 1\n\n"[..], State::Flowing));
    let packed = Form::Zlib.packed(b"data: 1\n\n");
    let (plain, state) = unpack("deflate", [&packed[..packed.len() - 4]]);
    assert_eq!((&plain[..], state), (&b"data: 1\n\n"[..], State::Flowing));
}

#[test]
fn a_wrong_trailer_is_told() {
    for (form, from_end) in [(Form::Gzip, 8), (Form::Gzip, 1), (Form::Zlib, 1), (Form::Zstd, 1)] {
        let mut packed = form.packed(b"data: 1\n\n");
        let at = packed.len() - from_end;
        packed[at] ^= 1;
        let (plain, state) = unpack(form.name(), [&packed[..]]);
        assert_eq!((&plain[..], state), (&b"data: 1\n\n"[..], State::Corrupt), "{form:?}");
    }
}
