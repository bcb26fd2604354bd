//! Splits an event stream into the data of its events.
//!
//! By the rules of the HTML standard for `text/event-stream`, and independent of the proxy's own scanner: each
//! is a check of the other. Only `data` is wanted here. It is handed on where it lies, unless it has several
//! lines or came in several reads.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use memchr::memchr2;

/// The most bytes of one event, or of one line.
const MAX_EVENT: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The state between two reads.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The lines of data of an event whose end has not come, with a line feed between them.
    data: Option<Vec<u8>>,
    /// Whether a line feed that comes first belongs to the line before it.
    is_after_return: bool,
    /// Whether the first line was seen.
    has_begun: bool,
}

/// What is no event stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unsplit {
    /// An event is longer than any that is read.
    TooLong,
    /// Data is no UTF-8.
    NotText,
}

impl fmt::Display for Unsplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsplit::TooLong => write!(f, "an event of more than {} MiB", MAX_EVENT >> 20),
            Unsplit::NotText => f.write_str("an event that is no UTF-8"),
        }
    }
}

/// Data of the event under way: one line where it was read, else all of them.
type Data<'a> = Option<Cow<'a, [u8]>>;

impl Events {
    /// Hands the data of every event that `read` completes to `each`, which may break it off. What the last
    /// read leaves incomplete is no event.
    pub(super) fn split<B>(
        &mut self,
        read: &[u8],
        mut each: impl FnMut(&str) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Unsplit> {
        let mut begun = std::mem::take(&mut self.line);
        let mut data: Data<'_> = self.data.take().map(Cow::Owned);
        let mut rest = read;
        if self.is_after_return && !rest.is_empty() {
            self.is_after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let line = &rest[..end];
            rest = self.after(rest, end);
            if !begun.is_empty() {
                begun.extend_from_slice(line);
                let line = std::mem::take(&mut begun);
                if let Some(value) = self.value(&line) {
                    add(&mut data, Cow::Owned(value.to_vec()));
                }
            } else if !line.is_empty() {
                if let Some(value) = self.value(line) {
                    add(&mut data, Cow::Borrowed(value));
                }
            } else {
                self.has_begun = true;
                let Some(whole) = data.take() else { continue };
                let text = str::from_utf8(&whole).map_err(|_| Unsplit::NotText)?;
                if let ControlFlow::Break(out) = each(text) {
                    return Ok(ControlFlow::Break(out));
                }
            }
        }
        begun.extend_from_slice(rest);
        if begun.len().saturating_add(data.as_ref().map_or(0, |data| data.len())) > MAX_EVENT {
            return Err(Unsplit::TooLong);
        }
        self.line = begun;
        self.data = data.map(Cow::into_owned);
        Ok(ControlFlow::Continue(()))
    }

    /// What comes after the line that ends at `end`.
    fn after<'a>(&mut self, read: &'a [u8], end: usize) -> &'a [u8] {
        let rest = &read[end + 1..];
        if read[end] == b'\n' {
            return rest;
        }
        self.is_after_return = rest.is_empty();
        rest.strip_prefix(b"\n").unwrap_or(rest)
    }

    /// The value of a line of data.
    fn value<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let line = if self.has_begun { line } else { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) };
        self.has_begun = true;
        let value = line.strip_prefix(b"data")?;
        match value.split_first() {
            None => Some(value),
            Some((b':', value)) => Some(value.strip_prefix(b" ").unwrap_or(value)),
            Some(_) => None,
        }
    }
}

fn add<'a>(data: &mut Data<'a>, line: Cow<'a, [u8]>) {
    match data {
        None => *data = Some(line),
        Some(lines) => {
            let lines = lines.to_mut();
            lines.push(b'\n');
            lines.extend_from_slice(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use eventsource_stream::Eventsource;
    use futures_util::{FutureExt, StreamExt, stream};
    use proptest::prelude::*;

    use super::*;

    /// The data of the events in reads that come one after the other.
    fn split(reads: &[&[u8]]) -> Result<Vec<String>, Unsplit> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for read in reads {
            let flow = events.split(read, |data| {
                found.push(data.to_owned());
                ControlFlow::<Infallible>::Continue(())
            })?;
            assert!(flow.is_continue());
        }
        Ok(found)
    }

    #[test]
    fn every_kind_of_line_is_told_apart_wherever_it_is_cut() {
        let stream = b"\xef\xbb\xbf: hello\r\ndata: one\r\n\r\ndata:two\nid: 7\ndata\ndata:  three\n\n\n\
            event: x\n\ndatum: no\rdata: four\r\rdata: \xc3\xa4\n\ndata:\n\ndata: never\n";
        let expected = ["one", "two\n\n three", "four", "\u{e4}", ""];
        assert_eq!(split(&[stream]).unwrap(), expected);
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let reads = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(split(&reads).unwrap(), expected, "cut at {first} and {second}");
            }
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(split(&bytes).unwrap(), expected);
    }

    #[test]
    fn a_byte_order_mark_is_one_only_at_the_beginning() {
        let mark = "\u{feff}";
        let later = format!("\n{mark}data: a\n\ndata: b\n\n");
        assert_eq!(split(&[later.as_bytes()]).unwrap(), ["b"]);
    }

    #[test]
    fn a_large_event_is_read_and_an_endless_one_refused() {
        let large = "x".repeat(1 << 20);
        let stream = format!("data: {large}\n\n");
        let reads: Vec<&[u8]> = stream.as_bytes().chunks(5000).collect();
        assert_eq!(split(&reads).unwrap(), [large]);
        let (endless, lines) = (vec![b'x'; MAX_EVENT / 4], "data: y\n".repeat(MAX_EVENT / 8));
        assert_eq!(split(&[endless.as_slice(); 5]), Err(Unsplit::TooLong));
        assert_eq!(split(&[lines.as_bytes(); 5]), Err(Unsplit::TooLong));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert_eq!(split(&[b"data: \xff\n\n"]), Err(Unsplit::NotText));
        // In a comment it does not matter.
        assert_eq!(split(&[b": \xff\ndata: a\n\n"]).unwrap(), ["a"]);
    }

    #[test]
    fn it_can_be_broken_off() {
        let flow =
            Events::default().split(b"data: a\n\ndata: b\n\n", |data| ControlFlow::Break(data.to_owned()));
        assert_eq!(flow.unwrap(), ControlFlow::Break("a".to_owned()));
    }

    /// What another parser makes of the same reads.
    fn peer(reads: &[&[u8]]) -> Vec<String> {
        let reads: Vec<_> = reads.iter().map(|read| Ok::<_, Infallible>(read.to_vec())).collect();
        let events = stream::iter(reads).eventsource().map(|event| event.unwrap().data);
        events.collect::<Vec<_>>().now_or_never().unwrap()
    }

    proptest! {
        #[test]
        fn another_parser_agrees(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data: ", "data:", "data", ": c", "event: e", "id: 1", "x", "{\"a\":1}", "\u{e4}", " ",
                    "\n", "\n\n", "\r\n", "\r\n\r\n",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(0usize..400, 0..6),
        ) {
            let stream = parts.concat();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let reads: Vec<_> = cuts.windows(2).map(|cut| &stream.as_bytes()[cut[0]..cut[1]]).collect();
            prop_assert_eq!(split(&reads).unwrap(), peer(&reads));
        }
    }
}
