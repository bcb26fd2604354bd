//! Work and memory.

use std::io::Write;

use allocation_counter::measure;

use super::*;

const MIB: usize = 1 << 20;

/// Feeds a body in reads of 64 KiB. Returns the most that was held while it was read, in bytes.
fn read(unpacker: &mut Unpacker, packed: &[u8]) -> u64 {
    let info = measure(|| {
        for piece in packed.chunks(64 * 1024) {
            unpacker.feed(piece, &mut |_| {});
        }
    });
    info.bytes_max
}

#[test]
fn bombs_are_left_alone() {
    let zeros = vec![0; 8 * MIB];
    let limits = Limits::default();
    for form in FORMS {
        // What is held grows with what was unpacked, up to some windows.
        let most = match form {
            Form::Gzip | Form::Zlib | Form::Bare => 52 * 1024,
            Form::Brotli | Form::Zstd => 6 * MIB as u64,
        };
        let packed = form.packed(&zeros);
        let mut unpacker = unpacker(form.name(), limits);
        let held = read(&mut unpacker, &packed);
        assert_eq!(unpacker.state(), State::OverBound, "{form:?} of {}", packed.len());
        assert_eq!(unpacker.unpacked(), limits.allowed(packed.len() as u64), "{form:?}");
        assert!(held <= most, "{form:?} held {held}");
    }
}

#[test]
fn a_bomb_in_a_wrapper_is_left_alone() {
    // The inner one is itself most monotonous.
    let inner = Form::Gzip.packed(&vec![0; 32 * MIB]);
    let outer = Form::Gzip.packed(&inner);
    assert!(outer.len() < 2000, "{}", outer.len());
    let mut unpacker = unpacker("gzip, gzip", Limits::default());
    read(&mut unpacker, &outer);
    assert_eq!(unpacker.state(), State::OverBound);
    assert!(unpacker.unpacked() <= 2 * MIB as u64);
}

#[test]
fn what_an_outer_layer_hands_on_is_bounded_too() {
    // Empty stored blocks: much for the middle, nothing in the end.
    let hollow = [0, 0, 0, 0xff, 0xff].repeat(2 * MIB / 5);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&hollow).unwrap();
    let packed = packer.finish().unwrap();
    assert!(packed.len() * 200 < hollow.len(), "{}", packed.len());
    let mut unpacker = unpacker("deflate, gzip", Limits::default());
    read(&mut unpacker, &packed);
    assert_eq!((unpacker.state(), unpacker.unpacked()), (State::OverBound, 0));
}

#[test]
fn the_total_is_met_to_the_byte_however_it_is_cut() {
    let plain = events(100).concat().into_bytes();
    let limits = Limits { total: 12_345, ..Limits::default() };
    for form in FORMS {
        let packed = form.packed(&plain);
        for size in [1, 100, usize::MAX] {
            let mut unpacker = unpacker(form.name(), limits);
            let mut unpacked = Vec::new();
            for piece in packed.chunks(size) {
                unpacker.feed(piece, &mut |slice| unpacked.extend_from_slice(slice));
            }
            assert_eq!((&unpacked[..], unpacker.state()), (&plain[..12_345], State::OverBound), "{form:?}");
        }
        let exact = Limits { total: plain.len() as u64, ..limits };
        let mut unpacker = unpacker(form.name(), exact);
        unpacker.feed(&packed, &mut |_| {});
        assert_eq!(unpacker.state(), State::Done, "{form:?}");
    }
}

#[test]
fn windows_beyond_the_coding_are_refused_unallocated() {
    // A window descriptor of 8 MiB, then of nine eighths of it; the magic number before, a block behind.
    for (descriptor, state) in [(13 << 3, State::Flowing), ((13 << 3) | 1, State::OverBound)] {
        let mut unpacker = unpacker("zstd", Limits::default());
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, descriptor, 0, 0, 0];
        assert!(read(&mut unpacker, &frame) < 400_000);
        assert_eq!(unpacker.state(), state);
    }
    let params =
        brotli::enc::BrotliEncoderParams { quality: 5, lgwin: 28, large_window: true, ..Default::default() };
    let packed = Shared::default();
    let mut packer = brotli::CompressorWriter::with_params(packed.clone(), 4096, &params);
    packer.write_all(b"data: 1\n\n").unwrap();
    drop(packer);
    assert_eq!(unpack("br", [&packed.take()[..]]), (Vec::new(), State::Corrupt));
}

/// The most that a stream of events may hold while it is open, in bytes.
fn cost(form: Form) -> i64 {
    match form {
        Form::Gzip | Form::Zlib | Form::Bare => 52 * 1024,
        Form::Brotli => 160 * 1024,
        Form::Zstd => 290 * 1024,
    }
}

#[test]
fn an_open_stream_costs_no_more_than_this_and_a_closed_one_nothing() {
    let events = events(500);
    for form in FORMS {
        let parts = form.flushed(&events);
        let mut open = None;
        let info = measure(|| {
            let mut unpacker = unpacker(form.name(), Limits::default());
            for part in &parts[..events.len()] {
                unpacker.feed(part, &mut |_| {});
            }
            open = Some(unpacker);
        });
        assert!(info.bytes_current <= cost(form), "{form:?} holds {}", info.bytes_current);
        let freed = measure(|| open.as_mut().unwrap().finish());
        assert_eq!(info.bytes_current + freed.bytes_current, 0, "{form:?}");
    }
}

#[test]
fn memory_goes_with_the_fault() {
    for form in FORMS {
        let packed = form.packed(&vec![0; 2 * MIB]);
        let limits = Limits { free: MIB as u64, ratio: 1, ..Limits::default() };
        let mut kept = None;
        let info = measure(|| {
            let mut unpacker = unpacker(form.name(), limits);
            unpacker.feed(&packed, &mut |_| {});
            kept = Some(unpacker);
        });
        assert_eq!(kept.map(|unpacker| unpacker.state()), Some(State::OverBound), "{form:?}");
        assert_eq!(info.bytes_current, 0, "{form:?}");
    }
}

#[test]
fn steady_inflating_allocates_nothing() {
    let events = events(200);
    for form in [Form::Gzip, Form::Zlib, Form::Bare] {
        let parts = form.flushed(&events);
        let mut unpacker = unpacker(form.name(), Limits::default());
        unpacker.feed(&parts[0], &mut |_| {});
        let info = measure(|| {
            for part in &parts[1..] {
                unpacker.feed(part, &mut |_| {});
            }
        });
        assert_eq!((info.count_total, unpacker.state()), (0, State::Done), "{form:?}");
    }
}
