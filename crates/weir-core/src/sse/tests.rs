use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream};
use proptest::prelude::*;

use super::{DEFAULT_LIMIT, Event, Scanner};

type Owned = (Vec<u8>, Vec<u8>, bool);

fn owned(event: Event<'_>) -> Owned {
    (event.name.to_vec(), event.data.to_vec(), event.terminated)
}

/// Scans `parts` as they are cut, and gives the events with the scanner.
fn scan_with<'a>(limit: usize, parts: impl Iterator<Item = &'a [u8]>) -> (Vec<Owned>, Scanner) {
    let mut scanner = Scanner::new(limit);
    let mut events = Vec::new();
    for part in parts {
        scanner.feed(part, &mut |event| events.push(owned(event)));
    }
    scanner.finish(&mut |event| events.push(owned(event)));
    (events, scanner)
}

fn scan(text: &str) -> Vec<Owned> {
    let (whole, _) = scan_with(DEFAULT_LIMIT, std::iter::once(text.as_bytes()));
    for size in [1, 2, 3, 5] {
        let (cut, _) = scan_with(DEFAULT_LIMIT, text.as_bytes().chunks(size));
        assert_eq!(cut, whole, "cut at every {size}: {text:?}");
    }
    whole
}

fn event(name: &str, data: &str) -> Owned {
    (name.into(), data.into(), true)
}

fn unterminated(name: &str, data: &str) -> Owned {
    (name.into(), data.into(), false)
}

#[test]
fn every_line_end_ends_lines_and_events() {
    let expected = [event("", "a"), event("", "b\nc")];
    for end in ["\n", "\r\n", "\r"] {
        let text = ["data: a", "", "data: b", "data: c", "", ""].join(end);
        assert_eq!(scan(&text), expected, "{end:?}");
    }
    assert_eq!(scan("data: a\r\ndata: b\n\rdata: c\r\r\n"), [event("", "a\nb"), event("", "c")]);
}

#[test]
fn at_most_one_blank_belongs_to_the_syntax() {
    assert_eq!(scan("data:x\n\ndata: x\n\ndata:  x\n\n"), ["x", "x", " x"].map(|d| event("", d)));
    assert_eq!(scan("data\n\ndata:\n\n"), [event("", ""), event("", "")]);
    assert_eq!(scan("data: a\ndata\ndata: b\n\n"), [event("", "a\n\nb")]);
}

#[test]
fn fields_may_come_in_any_order_and_names_do_not_stick() {
    let text = "id: 7\ndata: a\nevent: error\nretry: 9\nother: x\n\ndata: b\n\nevent: x\n\ndata: c\n\n";
    assert_eq!(scan(text), [event("error", "a"), event("", "b"), event("", "c")]);
}

#[test]
fn comments_are_counted_and_part_nothing() {
    let text = ": PROCESSING\n\n:\n\ndata: a\n:x\ndata: b\n\n:\n";
    assert_eq!(scan(text), [event("", "a\nb")]);
    let (_, scanner) = scan_with(DEFAULT_LIMIT, text.as_bytes().chunks(1));
    assert_eq!(scanner.comments(), 4);
}

#[test]
fn a_byte_order_mark_is_skipped_once_and_only_whole() {
    assert_eq!(scan("\u{feff}data: a\n\n"), [event("", "a")]);
    assert_eq!(scan("\u{feff}\u{feff}data: a\n\ndata: b\n\n"), [event("", "b")]);
    let (events, _) = scan_with(DEFAULT_LIMIT, b"\xef\xbbdata: a\n\ndata: b\n\n".chunks(1));
    assert_eq!(events, [event("", "b")]);
}

#[test]
fn the_last_event_may_lack_its_end() {
    for end in ["", "\n", "\r"] {
        assert_eq!(scan(&format!("data: a\n\ndata: b{end}")), [event("", "a"), unterminated("", "b")]);
    }
    assert_eq!(scan("data: a\n\nevent: x\n"), [event("", "a")]);
}

#[test]
fn other_separators_are_data() {
    let text = "data: a\u{2028}b\u{2029}c\u{85}d\u{b}\n\n";
    assert_eq!(scan(text), [event("", "a\u{2028}b\u{2029}c\u{85}d\u{b}")]);
    let (events, _) = scan_with(DEFAULT_LIMIT, b"data: \xe5\x8c\xff\n\n".chunks(1));
    assert_eq!(events, [(Vec::new(), b"\xe5\x8c\xff".to_vec(), true)]);
}

#[test]
fn a_second_cr_dispatches_at_once() {
    let mut scanner = Scanner::new(DEFAULT_LIMIT);
    let mut count = 0;
    scanner.feed(b"data: a\r\r", &mut |_| count += 1);
    assert_eq!(count, 1);
}

#[test]
fn an_event_too_long_to_hold_is_skipped_and_the_next_is_read() {
    let long = "x".repeat(300);
    for text in [
        format!("data: a\n\ndata: {long}\n\ndata: b\n\n"),
        format!("data: a\n\ndata: {long}\r\n\r\ndata: b\n\n"),
        format!("data: a\n\ndata: {long}\ndata: {long}\n:c\n\ndata: b\n\n"),
        format!("data: a\n\nevent: n\ndata: 1\n{long}: {long}\n\ndata: b\n\n"),
    ] {
        for size in [1, 7, 50] {
            let (events, scanner) = scan_with(100, text.as_bytes().chunks(size));
            assert_eq!(events, [event("", "a"), event("", "b")], "{text} by {size}");
            assert_eq!(scanner.oversized(), 1);
        }
        let (events, scanner) = scan_with(100, std::iter::once(text.as_bytes()));
        assert_eq!((events.len(), scanner.oversized()), (3, 0), "whole in one piece");
    }
}

#[test]
fn comments_alone_never_fill_the_buffer() {
    let text = ": keep-alive\n".repeat(100) + "data: a\n\n";
    let (events, scanner) = scan_with(100, text.as_bytes().chunks(5));
    assert_eq!(events, [event("", "a")]);
    assert_eq!((scanner.comments(), scanner.oversized()), (100, 0));
}

/// What the reference decoder makes of valid text: names and data of the terminated events.
fn reference(text: &str) -> Vec<Owned> {
    let events = stream::iter([Ok::<_, ()>(text.as_bytes().to_vec())]).eventsource();
    let events = events.map(|event| event.unwrap()).collect::<Vec<_>>().now_or_never().unwrap();
    events
        .into_iter()
        .map(|event| {
            // It calls an unnamed event by the standard's default name.
            let name = if event.event == "message" { String::new() } else { event.event };
            (name.into_bytes(), event.data.into_bytes(), true)
        })
        .collect()
}

fn line() -> impl Strategy<Value = String> {
    let value = "[ -~\u{e9}\u{2028}\u{5317}\u{1f600}]{0,12}";
    prop_oneof![
        4 => value.prop_map(|v| format!("data: {v}")),
        2 => value.prop_map(|v| format!("data:{v}")),
        1 => Just("data".to_owned()),
        1 => "[a-z]{1,8}".prop_map(|v| format!("event: {v}")),
        1 => value.prop_map(|v| format!(":{v}")),
        1 => "[0-9]{1,3}".prop_map(|v| format!("id: {v}")),
        1 => Just("retry: 10".to_owned()),
        1 => "[a-z]{1,5}".prop_map(|v| format!("{v}: x")),
        4 => Just(String::new()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let lines = proptest::collection::vec((line(), end), 0..40);
    // It ends as streams should: the reference holds a CR back to see what follows it.
    lines.prop_map(|lines| {
        let lines: String = lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect();
        lines + "\n\n"
    })
}

proptest! {
    #[test]
    fn agrees_with_the_reference_however_it_is_cut(
        text in text(),
        bom in any::<bool>(),
        cuts in proptest::collection::vec(1_usize..20, 1..20),
    ) {
        // The reference falls over a byte order mark, so that is ours alone.
        let expected = reference(&text);
        let text = if bom { format!("\u{feff}{text}") } else { text };
        let (whole, _) = scan_with(DEFAULT_LIMIT, std::iter::once(text.as_bytes()));
        prop_assert_eq!(&whole, &expected);
        let mut rest = text.as_bytes();
        let mut parts = Vec::new();
        for cut in cuts.iter().cycle() {
            let (part, behind) = rest.split_at((*cut).min(rest.len()));
            parts.push(part);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        let (cut, _) = scan_with(DEFAULT_LIMIT, parts.into_iter());
        prop_assert_eq!(&cut, &expected);
    }
}
