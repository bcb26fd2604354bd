//! What a reader says of a response does not depend on how its body is cut, unless that is packed and corrupt, and
//! is bounded.
//!
//! Input: six digits (request path, content type, status, choices asked for, coding, whether the prompt comes
//! back), the seed of the cuts (two bytes), the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::reader::{Facts, Reader, ResponseHead, Seen};
use weir_core::unpack::{Limits, Packing, State};
use weir_fuzz::{Cuts, PATHS, option};

const CONTENT_TYPES: [Option<&[u8]>; 6] = [
    Some(b"text/event-stream; charset=utf-8"),
    Some(b"application/json"),
    Some(b"application/x-ndjson"),
    Some(b"application/problem+json"),
    Some(b"text/html"),
    None,
];

const CODINGS: [Option<&[u8]>; 6] =
    [None, Some(b"identity"), Some(b"gzip"), Some(b"deflate"), Some(b"br"), Some(b"zstd")];

const STATUSES: [u16; 6] = [200, 400, 429, 500, 204, 302];

/// More than any label, name or message may be long.
const LONGEST_TEXT: usize = 1024;

/// More than the choices that are told apart.
const MOST_CHOICES: usize = 128;

fuzz_target!(|input: &[u8]| {
    let Some((&[path, content_type, status, choices, coding, echo], input)) = input.split_first_chunk()
    else {
        return;
    };
    let Some((cuts, body)) = Cuts::take(input) else { return };

    let dialect = Dialect::of("POST", PATHS[option(path) % PATHS.len()]);
    let head = ResponseHead {
        status: STATUSES[option(status) % STATUSES.len()],
        content_type: CONTENT_TYPES[option(content_type) % CONTENT_TYPES.len()],
        content_encoding: CODINGS[option(coding) % CODINGS.len()],
    };
    let choices = u32::try_from(option(choices)).unwrap_or(u32::MAX);
    let request = RequestPeek { choices, echo: echo == b'1', ..RequestPeek::default() };

    let (seen, reader) = read(Reader::new(dialect, &request, &head), std::iter::once(body));
    let facts = reader.facts();
    check(facts, &seen);
    // How much of what stands before a fault comes out depends on how far apart the two are fed.
    if head.content_encoding.is_some_and(|coding| unpacks_badly(coding, body)) {
        return;
    }
    let said = format!("{facts:?}");
    for (again, reader) in [
        read(Reader::new(dialect, &request, &head), cuts.cut(body)),
        read(Reader::new(dialect, &request, &head), body.chunks(1)),
    ] {
        assert_eq!(again, seen);
        assert_eq!(format!("{:?}", reader.facts()), said);
    }
});

fn read<'a>(mut reader: Reader, parts: impl Iterator<Item = &'a [u8]>) -> (Vec<Seen>, Reader) {
    let mut seen = Vec::new();
    for part in parts {
        reader.feed(part, &mut |one| seen.push(one));
    }
    reader.finish(&mut |one| seen.push(one));
    (seen, reader)
}

/// Whether a packed body is corrupt, or stopped at a bound.
fn unpacks_badly(coding: &[u8], body: &[u8]) -> bool {
    let Packing::Packed(mut unpacker) = Packing::of(coding, Limits::default()) else { return false };
    unpacker.feed(body, &mut |_| ());
    matches!(unpacker.state(), State::Corrupt | State::OverBound)
}

/// The facts agree with the events, and nothing in them is longer than it may be.
fn check(facts: &Facts, seen: &[Seen]) {
    let outputs = seen.iter().filter(|one| matches!(one, Seen::Output { .. })).count();
    let broken = seen.iter().filter(|one| **one == Seen::Broken).count();
    assert_eq!(facts.counts.chunks, outputs as u64);
    assert_eq!(facts.counts.parse_errors, broken as u64);
    assert!(facts.counts.events >= facts.counts.chunks + facts.counts.parse_errors);
    assert!(!seen.contains(&Seen::Error) || facts.error.is_some());
    assert!(!seen.contains(&Seen::Terminal) || facts.terminal);

    let error = facts.error.iter().flat_map(|error| [&error.code, &error.kind]).flatten();
    let texts = error.chain(&facts.model).map(|text| &**text).chain(facts.choices.finish_reasons());
    assert!(texts.map(str::len).all(|length| length <= LONGEST_TEXT));
    assert!(facts.choices.seen().len() <= MOST_CHOICES);
    let _ = facts.usage();
}
