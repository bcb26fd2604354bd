//! What is around the packed data, and behind it.

use super::*;

fn done(encoding: &str, packed: &[u8], plain: &str) {
    for size in [1, 5, usize::MAX] {
        let (unpacked, state) = unpack(encoding, packed.chunks(size));
        assert_eq!((String::from_utf8(unpacked).unwrap(), state), (plain.to_owned(), State::Done));
    }
}

#[test]
fn a_body_without_a_byte_is_whole() {
    for form in FORMS {
        done(form.name(), b"", "");
    }
}

#[test]
fn a_body_that_holds_nothing_is_whole() {
    for form in FORMS {
        done(form.name(), &form.packed(b""), "");
    }
}

#[test]
fn a_header_alone_is_cut_short() {
    let headers: [(Form, usize); 4] = [(Form::Gzip, 10), (Form::Zlib, 2), (Form::Brotli, 1), (Form::Zstd, 6)];
    for (form, len) in headers {
        let packed = form.packed(events(3).concat().as_bytes());
        assert_eq!(unpack(form.name(), [&packed[..len]]), (Vec::new(), State::Flowing), "{form:?}");
    }
}

/// A member that says all that a header can say.
fn member(plain: &[u8]) -> Vec<u8> {
    let builder = flate2::GzBuilder::new().extra(&b"ab\x02\x00xy"[..]).filename("events").comment("a test");
    let mut encoder = builder.mtime(1_700_000_000).write(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn header_fields_are_passed_over() {
    done("gzip", &member(b"data: 1\n\n"), "data: 1\n\n");
    // A checksum of the header, which this encoder cannot write.
    let mut checked = member(b"data: 1\n\n");
    checked[3] |= 0x02;
    let header = 10 + 2 + 6 + "events\0".len() + "a test\0".len();
    let mut checksum = flate2::Crc::new();
    checksum.update(&checked[..header]);
    let [low, high, ..] = checksum.sum().to_le_bytes();
    checked.splice(header..header, [low, high]);
    done("gzip", &checked, "data: 1\n\n");
    checked[header] ^= 1;
    assert_eq!(unpack("gzip", [&checked[..]]), (Vec::new(), State::Corrupt));
    // An extra field of no bytes.
    let mut empty = Form::Gzip.packed(b"data: 1\n\n");
    empty[3] |= 0x04;
    empty.splice(10..10, [0, 0]);
    done("x-gzip", &empty, "data: 1\n\n");
}

#[test]
fn a_header_of_another_kind_is_corrupt() {
    let sound = Form::Gzip.packed(b"data: 1\n\n");
    for (at, byte) in [(0, 0x1e), (1, 0x8a), (2, 7), (3, 0x20)] {
        let mut packed = sound.clone();
        packed[at] = byte;
        assert_eq!(unpack("gzip", [&packed[..]]), (Vec::new(), State::Corrupt), "{at}");
    }
}

#[test]
fn members_follow_one_another() {
    let packed = [member(b"data: 1\n\n"), Form::Gzip.packed(b""), Form::Gzip.packed(b"data: 2\n\n")].concat();
    done("gzip", &packed, "data: 1\n\ndata: 2\n\n");
    let (plain, state) = unpack("gzip", [&packed[..packed.len() - 1]]);
    assert_eq!((&plain[..], state), (&b"data: 1\n\ndata: 2\n\n"[..], State::Flowing));
}

#[test]
fn frames_follow_one_another() {
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"never"].concat();
    let frame = |plain: &[u8]| Form::Zstd.packed(plain);
    let packed = [skipped.clone(), frame(b"data: 1\n\n"), skipped.clone(), frame(b"data: 2\n\n"), skipped];
    let packed = packed.concat();
    done("zstd", &packed, "data: 1\n\ndata: 2\n\n");
    let (plain, state) = unpack("zstd", [&packed[..packed.len() - 1]]);
    assert_eq!((&plain[..], state), (&b"data: 1\n\ndata: 2\n\n"[..], State::Flowing));
}

#[test]
fn each_event_in_a_frame_of_its_own_is_read() {
    for form in [Form::Gzip, Form::Zstd] {
        let mut unpacker = unpacker(form.name(), Limits::default());
        for event in events(5) {
            let mut plain = Vec::new();
            unpacker.feed(&form.packed(event.as_bytes()), &mut |slice| plain.extend_from_slice(slice));
            assert_eq!((plain, unpacker.state()), (event.into_bytes(), State::Done));
        }
    }
}

#[test]
fn what_is_behind_the_end_is_passed_over() {
    for form in FORMS {
        for behind in [&b"\0"[..], b"\0\0\0\0\0\0\0\0", b"\x1f", b"\x1f\0", b"(\xb5/", b"garbage\r\n"] {
            let packed = [&form.packed(b"data: 1\n\n")[..], behind].concat();
            done(form.name(), &packed, "data: 1\n\n");
        }
    }
}

#[test]
fn a_bare_stream_is_not_taken_for_a_wrapped_one() {
    // A stored block: five bits of padding, which here look like the first byte of a zlib header, and
    // a length that fails its check.
    let block = [&[0x78, 9, 0, !9, 0xff][..], b"data: 1\n\n", &[1, 0, 0, 0xff, 0xff]].concat();
    done("deflate", &block, "data: 1\n\n");
    // What asks for a preset dictionary is no zlib stream that could be read.
    let dictionary = [0x78, 0xbb, 0, 0, 0, 1];
    assert_eq!(unpack("deflate", [&dictionary[..]]).1, State::Corrupt);
}
