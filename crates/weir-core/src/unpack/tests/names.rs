//! The values of `content-encoding`.

use super::*;

fn of(value: &str) -> Packing {
    Packing::of(value.as_bytes(), Limits::default())
}

#[test]
fn names_are_known_in_any_case() {
    for name in ["gzip", "x-gzip", "GZip", " deflate ", "br", "BR", "zstd\t", ",gzip,", "identity, gzip"] {
        assert!(matches!(of(name), Packing::Packed(_)), "{name}");
    }
}

#[test]
fn what_is_not_packed_is_plain() {
    for name in ["", "identity", " Identity ", "identity,identity", ", ,"] {
        assert!(matches!(of(name), Packing::Plain), "{name}");
    }
}

#[test]
fn what_is_not_known_is_unknown() {
    for name in ["compress", "x-compress", "dcz", "gzi", "gzip2", "gzip, aes128gcm", "gzip;q=1", "\u{fe}"] {
        assert!(matches!(of(name), Packing::Unknown), "{name}");
    }
}

#[test]
fn layers_are_taken_off_last_first() {
    let plain = events(20).concat().into_bytes();
    let twice = Form::Brotli.packed(&Form::Gzip.packed(&plain));
    assert_eq!(unpack("gzip, br", twice.chunks(11)), (plain.clone(), State::Done));
    assert_eq!(unpack("br, gzip", twice.chunks(11)).1, State::Corrupt);
    let thrice = Form::Zstd.packed(&twice);
    assert_eq!(unpack("gzip,identity ,br , zstd", thrice.chunks(11)), (plain, State::Done));
    assert!(matches!(of("gzip, br, zstd, gzip"), Packing::Unknown));
}

#[test]
fn an_inner_layer_that_is_cut_short_is_told() {
    let inner = Form::Gzip.packed(b"data: 1\n\n");
    let outer = Form::Brotli.packed(&inner[..inner.len() - 3]);
    assert_eq!(unpack("gzip, br", [&outer[..]]), (b"data: 1\n\n".to_vec(), State::Flowing));
}
