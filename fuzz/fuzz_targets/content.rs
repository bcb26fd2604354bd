//! What is kept of what both sides say is bounded, does not depend on how their bodies are cut, and changes
//! nothing of what is read.
//!
//! Input: two digits (request path, whether the body is a document), the seed of the cuts (two bytes), the
//! body, which is taken for a request's and for an answer's.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_core::content::{CaptureLimit, Input, Output};
use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::reader::{Reader, ResponseHead};
use weir_fuzz::{Cuts, PATHS, option};

/// Small, so that it is met often.
const LIMIT: CaptureLimit = CaptureLimit(256);

fuzz_target!(|input: &[u8]| {
    let Some((&[path, document], input)) = input.split_first_chunk() else { return };
    let Some((cuts, body)) = Cuts::take(input) else { return };
    let dialect = Dialect::of("POST", PATHS[option(path) % PATHS.len()]);

    let asked = Input::read(dialect, std::iter::once(body), LIMIT);
    if let Some(asked) = &asked {
        assert!(asked.body.len() <= LIMIT.0 + 64, "{}", asked.body.len());
    }
    assert_eq!(Input::read(dialect, cuts.cut(body), LIMIT), asked);

    let media: &[u8] = if document == b'1' { b"application/json" } else { b"text/event-stream" };
    let head = ResponseHead { status: 200, content_type: Some(media), content_encoding: None };
    let reader = || Reader::new(dialect, &RequestPeek::default(), &head);
    let (plain, _) = read(reader(), std::iter::once(body));
    let (facts, said) = read(reader().capturing(LIMIT), std::iter::once(body));
    assert_eq!(facts, plain);
    let (_, again) = read(reader().capturing(LIMIT), cuts.cut(body));
    assert_eq!(again, said);
});

fn read<'a>(mut reader: Reader, parts: impl Iterator<Item = &'a [u8]>) -> (String, Output) {
    parts.for_each(|part| reader.feed(part, &mut |_| {}));
    reader.finish(&mut |_| {});
    (format!("{:?}", reader.facts()), reader.take_said())
}
