//! Finds the events in a byte stream, whatever its line ends and however it is cut.

/// How many bytes of an event may be held from one feed to the next, if nothing else is said.
pub const DEFAULT_LIMIT: usize = 256 * 1024;

/// Event names longer than this are cut. Those that mean anything have a dozen bytes.
const NAME_LIMIT: usize = 64;

/// Buffers larger than this are given back after the event that needed them.
const KEPT_CAPACITY: usize = 16 * 1024;

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// One event that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The value of its `event` field; empty if it has none.
    pub name: &'a [u8],
    /// The values of its `data` fields, joined by LF.
    pub data: &'a [u8],
    /// Whether a blank line ended it. The last event of a stream may lack it.
    pub terminated: bool,
}

/// Splits a stream into events. It borrows from the bytes that it is fed where an event lies whole
/// in them, holds a bounded rest where not, and cannot fail.
///
/// Events without data are not delivered, as the standard has it. `id` and `retry` are of no use to
/// an observer and are passed over.
#[derive(Debug)]
pub struct Scanner {
    limit: usize,
    /// The data so far of the event at hand, then the raw bytes of a line that is not yet whole.
    held: Vec<u8>,
    /// Where in `held` the data ends and the partial line begins.
    data_len: usize,
    name: Vec<u8>,
    has_data: bool,
    /// The last line ended in CR: an LF that comes next belongs to it.
    after_cr: bool,
    /// Bytes of a byte order mark matched so far; `None` once the stream has begun.
    bom: Option<usize>,
    skipping: Skipping,
    comments: u64,
    oversized: u64,
}

/// Whether an event too long to hold is being passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipping {
    No,
    /// At the beginning of one of its lines.
    AtLine,
    /// Inside one of its lines.
    InLine,
}

impl Scanner {
    /// A scanner that holds at most `limit` bytes between feeds.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            held: Vec::new(),
            data_len: 0,
            name: Vec::new(),
            has_data: false,
            after_cr: false,
            bom: Some(0),
            skipping: Skipping::No,
            comments: 0,
            oversized: 0,
        }
    }

    /// Reads on, and delivers each event that these bytes complete.
    pub fn feed(&mut self, chunk: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        let mut rest = self.after_bom(chunk);
        // A data line that lies in this chunk, as long as it is the only one of its event.
        let mut whole: Option<&[u8]> = None;
        loop {
            if self.after_cr && !rest.is_empty() {
                self.after_cr = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            // The blank line is what most often comes here: a search would be a waste.
            let end = match rest.first() {
                None => break,
                Some(b'\n' | b'\r') => 0,
                Some(_) => match memchr::memchr2(b'\n', b'\r', rest) {
                    Some(end) => end,
                    None => break,
                },
            };
            self.after_cr = rest[end] == b'\r';
            let tail = &rest[..end];
            rest = &rest[end + 1..];
            if self.skipping != Skipping::No {
                let blank = end == 0 && self.skipping == Skipping::AtLine;
                self.skipping = if blank { Skipping::No } else { Skipping::AtLine };
            } else if self.held.len() > self.data_len {
                self.held.extend_from_slice(tail);
                self.held_line();
            } else if end == 0 {
                self.dispatch(whole.take(), true, on_event);
            } else {
                self.line(tail, &mut whole);
            }
        }
        self.hold(whole, rest);
    }

    /// The stream is over: delivers an event that no blank line ended.
    pub fn finish(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        if self.held.len() > self.data_len {
            self.held_line();
        }
        self.dispatch(None, false, on_event);
        self.skipping = Skipping::No;
    }

    /// Whether what came so far ends where an event does, or before the first one.
    pub fn is_between_events(&self) -> bool {
        self.held.is_empty() && self.name.is_empty() && !self.has_data && self.skipping == Skipping::No
    }

    /// Comment lines so far.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// Events so far that were too long to be held, and were passed over.
    pub fn oversized(&self) -> u64 {
        self.oversized
    }

    /// A whole line that lies in the chunk.
    fn line<'c>(&mut self, line: &'c [u8], whole: &mut Option<&'c [u8]>) {
        match field(line) {
            Field::Data(value) if !self.has_data => {
                self.has_data = true;
                *whole = Some(value);
            }
            Field::Data(value) => {
                if let Some(first) = whole.take() {
                    self.held.extend_from_slice(first);
                }
                self.held.push(b'\n');
                self.held.extend_from_slice(value);
                self.data_len = self.held.len();
            }
            Field::Name(value) => set_name(&mut self.name, value),
            Field::Comment => self.comments += 1,
            Field::Other => {}
        }
    }

    /// A line that is now whole at the end of `held`.
    fn held_line(&mut self) {
        let line = &self.held[self.data_len..];
        match field(line) {
            Field::Data(value) => {
                let from = self.held.len() - value.len();
                let mut to = self.data_len;
                if self.has_data {
                    // There is room: the field name alone is longer.
                    self.held[to] = b'\n';
                    to += 1;
                }
                self.has_data = true;
                self.held.copy_within(from.., to);
                self.data_len = to + (self.held.len() - from);
            }
            Field::Name(value) => set_name(&mut self.name, value),
            Field::Comment => self.comments += 1,
            Field::Other => {}
        }
        self.held.truncate(self.data_len);
    }

    #[inline]
    fn dispatch(&mut self, whole: Option<&[u8]>, terminated: bool, on_event: &mut impl FnMut(Event<'_>)) {
        if self.has_data {
            let data = whole.unwrap_or(&self.held);
            on_event(Event { name: &self.name, data, terminated });
            self.has_data = false;
        }
        self.clear();
    }

    #[inline]
    fn clear(&mut self) {
        self.name.clear();
        self.held.clear();
        self.data_len = 0;
        if self.held.capacity() > KEPT_CAPACITY {
            self.held = Vec::new();
        }
    }

    /// Keeps what the next feed needs, or gives the event up if that is too much.
    fn hold(&mut self, whole: Option<&[u8]>, rest: &[u8]) {
        if self.skipping != Skipping::No {
            if !rest.is_empty() {
                self.skipping = Skipping::InLine;
            }
            return;
        }
        let needed = self.held.len() + whole.map_or(0, <[u8]>::len) + rest.len();
        if needed > self.limit {
            let in_line = !rest.is_empty() || self.held.len() > self.data_len;
            self.skipping = if in_line { Skipping::InLine } else { Skipping::AtLine };
            self.oversized += 1;
            self.has_data = false;
            self.clear();
            return;
        }
        if let Some(value) = whole {
            self.held.extend_from_slice(value);
            self.data_len = self.held.len();
        }
        self.held.extend_from_slice(rest);
    }

    /// Takes a byte order mark off the beginning of the stream.
    fn after_bom<'c>(&mut self, chunk: &'c [u8]) -> &'c [u8] {
        let Some(matched) = self.bom else {
            return chunk;
        };
        let more = chunk.iter().zip(&BOM[matched..]).take_while(|(byte, mark)| byte == mark).count();
        let now = matched + more;
        if now == BOM.len() {
            self.bom = None;
            return &chunk[more..];
        }
        if more == chunk.len() {
            self.bom = Some(now);
            return &[];
        }
        // It was none: what an earlier feed took for one belongs to the first line.
        self.bom = None;
        self.held.extend_from_slice(&BOM[..matched]);
        chunk
    }
}

fn set_name(name: &mut Vec<u8>, value: &[u8]) {
    name.clear();
    name.extend_from_slice(&value[..value.len().min(NAME_LIMIT)]);
}

enum Field<'a> {
    Data(&'a [u8]),
    Name(&'a [u8]),
    Comment,
    Other,
}

#[inline]
fn field(line: &[u8]) -> Field<'_> {
    if let Some(value) = line.strip_prefix(b"data:") {
        return Field::Data(value.strip_prefix(b" ").unwrap_or(value));
    }
    if line.first() == Some(&b':') {
        return Field::Comment;
    }
    if let Some(value) = line.strip_prefix(b"event:") {
        return Field::Name(value.strip_prefix(b" ").unwrap_or(value));
    }
    // A field without a colon has an empty value.
    match line {
        b"data" => Field::Data(b""),
        b"event" => Field::Name(b""),
        _ => Field::Other,
    }
}
