//! The SSE scanner finds the events that the standard says, however the stream is cut, and holds no more
//! than it may.
//!
//! Input: which limit (one digit), the seed of the cuts (two bytes), the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_core::sse::{Event, Scanner};
use weir_fuzz::{Cuts, option};

/// Names longer than this are cut.
const NAME_LIMIT: usize = 64;

fuzz_target!(|input: &[u8]| {
    let Some((&limit, input)) = input.split_first() else { return };
    let Some((cuts, stream)) = Cuts::take(input) else { return };

    let expected = plain(stream);
    let ample = stream.len() + 1;
    for scanned in
        [scan(ample, std::iter::once(stream)), scan(ample, cuts.cut(stream)), scan(ample, stream.chunks(1))]
    {
        assert_eq!(scanned, expected);
    }

    let limit = 1 << (option(limit) % 9);
    let tight = scan(limit, cuts.cut(stream));
    let most = limit + cuts.longest();
    assert!(tight.events.iter().all(|event| event.data.len() <= most));
    assert!(tight.oversized > 0 || tight == expected, "an event is missing and was not counted");
});

#[derive(Debug, Default, PartialEq)]
struct Scanned {
    events: Vec<Owned>,
    comments: u64,
    oversized: u64,
}

#[derive(Debug, PartialEq)]
struct Owned {
    name: Vec<u8>,
    data: Vec<u8>,
    terminated: bool,
}

impl From<Event<'_>> for Owned {
    fn from(event: Event<'_>) -> Self {
        Self { name: event.name.to_vec(), data: event.data.to_vec(), terminated: event.terminated }
    }
}

fn scan<'a>(limit: usize, parts: impl Iterator<Item = &'a [u8]>) -> Scanned {
    let mut scanner = Scanner::new(limit);
    let mut events = Vec::new();
    for part in parts {
        scanner.feed(part, &mut |event| events.push(event.into()));
    }
    scanner.finish(&mut |event| events.push(event.into()));
    Scanned { events, comments: scanner.comments(), oversized: scanner.oversized() }
}

/// The same, the slow and plain way: all of it at once, line by line.
fn plain(stream: &[u8]) -> Scanned {
    let stream = stream.strip_prefix("\u{feff}".as_bytes()).unwrap_or(stream);
    let mut scanned = Scanned::default();
    let (mut name, mut data) = (Vec::new(), Vec::<&[u8]>::new());
    let lines = lines(stream);
    let last = lines.len();
    for (nth, line) in lines.into_iter().chain([&b""[..]]).enumerate() {
        if line.is_empty() {
            if !data.is_empty() {
                let (name, data) = (std::mem::take(&mut name), data.join(&b'\n'));
                scanned.events.push(Owned { name, data, terminated: nth < last });
            }
            name.clear();
            data.clear();
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => scanned.comments += 1,
            b"data" => data.push(value),
            b"event" => name = value[..value.len().min(NAME_LIMIT)].to_vec(),
            _ => {}
        }
    }
    scanned
}

/// Lines that end in CRLF, LF or CR, and the rest behind the last of them unless that is empty.
fn lines(mut text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while !text.is_empty() {
        let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(text.len());
        let (line, rest) = text.split_at(end);
        lines.push(line);
        text = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
    }
    lines
}
