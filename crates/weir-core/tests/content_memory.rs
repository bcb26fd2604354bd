//! How much memory content takes, at the limit and on the way there.

#![allow(clippy::unwrap_used)]

use allocation_counter::{AllocationInfo, measure};
use weir_core::content::{CaptureLimit, Input};
use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::reader::{Reader, ResponseHead};

const LIMIT: usize = 16 * 1024;

/// What is held once a body of this many bytes and more was read, and at the most while it was.
fn reading(body: &str) -> (u64, u64) {
    let mut kept = None;
    let info = measure(|| {
        let parts = body.as_bytes().chunks(64 * 1024);
        kept = Input::read(Dialect::Completions, parts, CaptureLimit(LIMIT));
    });
    assert!(kept.is_some_and(|input| input.cut));
    (held(&info), info.bytes_max)
}

fn held(info: &AllocationInfo) -> u64 {
    u64::try_from(info.bytes_current).unwrap()
}

#[test]
fn a_long_prompt_takes_no_more_than_is_kept_and_what_parsing_it_takes() {
    // JSON without escapes is read where it lies; over several pieces, one text is put together first.
    let body = format!(r#"{{"prompt":["{}"]}}"#, "word ".repeat(250_000).replace("d w", "d\",\"w"));
    let (held, peak) = reading(&body);
    assert!(held <= LIMIT as u64 + 64, "{held}");
    assert!(peak < 16 * LIMIT as u64, "{peak}");
    let body = format!(r#"{{"prompt":"{}"}}"#, "x".repeat(1 << 20));
    let (held, peak) = reading(&body);
    assert!(held <= LIMIT as u64 + 64, "{held}");
    assert!(peak < 4 << 20, "{peak}");
}

#[test]
fn the_worst_body_is_held_within_the_limit() {
    for element in ["{\"\":0}", "[[]]", "[0]", "0", "\"\"", "{}", "{\"a\":{\"a\":{}}}"] {
        let body = format!(r#"{{"prompt":[{}{element}]}}"#, format!("{element},").repeat(100_000));
        let (held, peak) = reading(&body);
        assert!(held <= LIMIT as u64 + 64, "{element}: {held}");
        assert!(peak < 32 * LIMIT as u64, "{element}: {peak}");
    }
}

#[test]
fn a_stream_takes_no_more_than_its_text_and_an_event() {
    let head = ResponseHead { status: 200, content_type: Some(b"text/event-stream"), content_encoding: None };
    let event = |n: usize| {
        format!(
            "data: {{\"id\":\"a\",\"choices\":[{{\"index\":{},\"delta\":{{\"content\":\" word{n}\"}}}}]}}\n\n",
            n % 4
        )
    };
    let body: String = (0..20_000).map(event).collect();
    let grown = |limit: Option<CaptureLimit>| {
        let mut reader = Reader::new(Dialect::Chat, &RequestPeek::default(), &head);
        if let Some(limit) = limit {
            reader = reader.capturing(limit);
        }
        let info = measure(|| body.as_bytes().chunks(1448).for_each(|part| reader.feed(part, &mut |_| {})));
        (held(&info), info.bytes_max)
    };
    let (without, with) = (grown(None), grown(Some(CaptureLimit(LIMIT))));
    // A text that grows has up to as much room again.
    assert!(with.0 < without.0 + 2 * LIMIT as u64 + 1024, "{with:?}");
    assert!(with.1 < without.1 + 3 * LIMIT as u64 + 8192, "{with:?}");
}

#[test]
fn the_worst_answer_is_bounded() {
    let head = ResponseHead { status: 200, content_type: Some(b"text/event-stream"), content_encoding: None };
    let call =
        |n: usize| format!(r#"{{"index":0,"delta":{{"tool_calls":[{{"index":{n},"function":{{}}}}]}}}}"#);
    let thought = |n: usize| format!(r#"{{"index":{},"delta":{{"reasoning":"a","content":"b"}}}}"#, n % 128);
    let word = |_: usize| r#"{"index":0,"text":"word"}"#.to_owned();
    let held_after = |choice: &dyn Fn(usize) -> String| {
        let events = (0..20_000).map(|n| format!("data: {{\"choices\":[{}]}}\n\n", choice(n)));
        let body = events.collect::<String>();
        let mut kept = None;
        let info = measure(|| {
            let reader = Reader::new(Dialect::Chat, &RequestPeek::default(), &head);
            let mut reader = reader.capturing(CaptureLimit(LIMIT));
            body.as_bytes().chunks(1448).for_each(|part| reader.feed(part, &mut |_| {}));
            kept = Some(reader.take_said());
        });
        assert!(kept.is_some_and(|kept| kept.cut));
        held(&info)
    };
    assert!(held_after(&word) < LIMIT as u64 + 1024);
    for choice in [&call as &dyn Fn(usize) -> String, &thought] {
        let held = held_after(choice);
        assert!(held < 12 * LIMIT as u64, "{held}");
    }
}
