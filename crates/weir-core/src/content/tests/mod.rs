mod documents;
mod input;
mod streams;

use super::{CaptureLimit, Output, Part};
use crate::dialect::{Dialect, RequestPeek};
use crate::reader::{Reader, ResponseHead};

const EVENTS: &str = "text/event-stream";
const LINES: &str = "application/x-ndjson";
const JSON: &str = "application/json";

/// What an answer says, however it comes.
fn said(dialect: Dialect, content_type: &str, body: &str, limit: usize) -> Output {
    let read = |size: usize| {
        let head =
            ResponseHead { status: 200, content_type: Some(content_type.as_bytes()), content_encoding: None };
        let reader = Reader::new(dialect, &RequestPeek::default(), &head);
        let mut reader = reader.capturing(CaptureLimit(limit));
        body.as_bytes().chunks(size).for_each(|part| reader.feed(part, &mut |_| {}));
        reader.finish(&mut |_| {});
        reader.take_said()
    };
    let whole = read(body.len().max(1));
    for size in [1, 3, 50] {
        assert_eq!(read(size), whole, "by {size}");
    }
    whole
}

/// The parts of the only choice, with why it ended.
fn only(output: Output) -> (Vec<Part>, Option<String>) {
    assert!(!output.cut);
    let [choice] = &output.choices[..] else { panic!("{output:?}") };
    (choice.parts.clone(), choice.finish_reason.as_deref().map(str::to_owned))
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

fn reasoning(text: &str) -> Part {
    Part::Reasoning(text.into())
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::Call { id: id.into(), name: name.into(), arguments: arguments.into() }
}

const ROOM: usize = 16 * 1024;
