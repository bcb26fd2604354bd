//! Finds the lines of a stream that has one JSON document a line.

use crate::sse::Event;

/// Buffers larger than this are given back after the line that needed them.
const KEPT_CAPACITY: usize = 16 * 1024;

/// Splits a stream into lines. Like the scanner of events, it borrows where a line lies whole in what
/// it is fed, holds a bounded rest where not, and cannot fail.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    /// The beginning of a line that is not yet whole.
    held: Vec<u8>,
    /// A line too long to hold is being passed over.
    skipping: bool,
    oversized: u64,
}

impl Lines {
    /// A scanner that holds at most `limit` bytes between feeds.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, held: Vec::new(), skipping: false, oversized: 0 }
    }

    /// Reads on, and delivers each line that these bytes complete, as an event without a name.
    pub(super) fn feed(&mut self, chunk: &[u8], on_line: &mut impl FnMut(Event<'_>)) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let tail = &rest[..end];
            rest = &rest[end + 1..];
            if self.skipping {
                self.skipping = false;
            } else if self.held.is_empty() {
                deliver(tail, true, on_line);
            } else {
                self.held.extend_from_slice(tail);
                deliver(&self.held, true, on_line);
                self.clear();
            }
        }
        if self.skipping || rest.is_empty() {
            return;
        }
        if self.held.len() + rest.len() > self.limit {
            self.skipping = true;
            self.oversized += 1;
            self.clear();
        } else {
            self.held.extend_from_slice(rest);
        }
    }

    /// The stream is over: delivers a line that nothing ended.
    pub(super) fn finish(&mut self, on_line: &mut impl FnMut(Event<'_>)) {
        deliver(&self.held, false, on_line);
        self.clear();
        self.skipping = false;
    }

    /// Whether what came so far ends where a line does.
    pub(super) fn is_between_lines(&self) -> bool {
        self.held.is_empty() && !self.skipping
    }

    /// Lines so far that were too long to be held, and were passed over.
    pub(super) fn oversized(&self) -> u64 {
        self.oversized
    }

    fn clear(&mut self) {
        self.held.clear();
        if self.held.capacity() > KEPT_CAPACITY {
            self.held = Vec::new();
        }
    }
}

/// Blank lines part nothing. A CR before the LF belongs to it.
fn deliver(line: &[u8], terminated: bool, on_line: &mut impl FnMut(Event<'_>)) {
    let data = line.strip_suffix(b"\r").unwrap_or(line);
    if !data.trim_ascii().is_empty() {
        on_line(Event { name: b"", data, terminated });
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    fn lines(limit: usize, text: &str, size: usize) -> (Vec<(String, bool)>, u64) {
        let mut scanner = Lines::new(limit);
        let mut found = Vec::new();
        let mut on = |event: crate::sse::Event<'_>| {
            found.push((String::from_utf8(event.data.to_vec()).unwrap(), event.terminated));
        };
        text.as_bytes().chunks(size).for_each(|part| scanner.feed(part, &mut on));
        scanner.finish(&mut on);
        (found, scanner.oversized())
    }

    #[test]
    fn a_line_ends_in_lf_or_crlf_and_the_last_may_lack_it() {
        let line = |text: &str, terminated| (text.to_owned(), terminated);
        for size in [1, 2, 3, 100] {
            for text in ["{1}\n{2}\n{3}", "{1}\r\n{2}\r\n\r\n{3}", "\n{1}\n\n \n{2}\n{3}\r"] {
                let expected = [line("{1}", true), line("{2}", true), line("{3}", false)];
                assert_eq!(lines(100, text, size), (expected.to_vec(), 0), "{text:?} by {size}");
            }
            let expected = [line("{1}", true)];
            assert_eq!(lines(100, "{1}\n", size), (expected.to_vec(), 0));
        }
    }

    #[test]
    fn a_lone_cr_ends_nothing() {
        let expected = [("{1}\r{2}".to_owned(), true)];
        assert_eq!(lines(100, "{1}\r{2}\n", 1), (expected.to_vec(), 0));
    }

    #[test]
    fn a_line_too_long_to_hold_is_counted_and_the_next_is_read() {
        let text = format!("a\n{}\nb\n{}", "x".repeat(300), "y".repeat(300));
        for size in [1, 7, 50] {
            let (found, oversized) = lines(100, &text, size);
            let found: Vec<_> = found.iter().map(|(line, _)| line.as_str()).collect();
            assert_eq!((found, oversized), (vec!["a", "b"], 2), "by {size}");
        }
    }
}
