//! Picks a few values out of a JSON document that comes in pieces, at bounded memory.
//!
//! It looks for keys and does not judge the document: of one that is malformed or cut, it has what
//! it met. A string followed by a colon is a key; that alone tells where keys are.

use super::elements::Elements;

/// Longer keys are none of ours.
const WORD_LIMIT: usize = 32;
/// Longer values are taken for absent.
const VALUE_LIMIT: usize = 8 * 1024;
/// As many values of the key that is looked for everywhere are kept, each up to [`FOUND_LIMIT`].
const FOUND_COUNT: usize = 128;
const FOUND_LIMIT: usize = 128;

/// A search for the values of some keys of the outermost object, for those of one key wherever it
/// stands, and for the number of elements of an array, which may itself be larger than we hold.
#[derive(Debug)]
pub struct Skim {
    keys: &'static [&'static str],
    anywhere: Option<&'static str>,
    counted: &'static [&'static str],
    elements: Option<Elements>,
    values: Vec<Option<Box<[u8]>>>,
    found: Vec<Box<[u8]>>,
    depth: usize,
    complete: bool,
    place: Place,
    word: Word,
    wanted: Option<Target>,
    capture: Option<Capture>,
}

/// Where in the grammar the next byte stands, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    /// Behind a string: if a colon follows, it was a key.
    AfterString,
    InString,
    AfterBackslash,
}

/// The string at hand, as long as it may be a key of ours.
#[derive(Debug)]
struct Word {
    bytes: [u8; WORD_LIMIT],
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Key(usize),
    Anywhere,
    Elements,
}

/// A value being copied.
#[derive(Debug)]
struct Capture {
    target: Target,
    /// The depth at which its key stands: the value ends where this depth is met again.
    depth: usize,
    bytes: Vec<u8>,
    too_long: bool,
}

impl Skim {
    /// A search for `keys` of the outermost object, and for `anywhere` at every depth outside their
    /// values.
    pub fn new(keys: &'static [&'static str], anywhere: Option<&'static str>) -> Self {
        Self {
            keys,
            anywhere,
            counted: &[],
            elements: None,
            values: vec![None; keys.len()],
            found: Vec::new(),
            depth: 0,
            complete: false,
            place: Place::Outside,
            word: Word { bytes: [0; WORD_LIMIT], len: 0 },
            wanted: None,
            capture: None,
        }
    }

    /// Counts the elements of the outermost object's arrays under these keys as well.
    pub fn counting(mut self, keys: &'static [&'static str]) -> Self {
        self.counted = keys;
        self
    }

    /// The elements of the last array under a key of [`Skim::counting`]; `None` if there is none, or
    /// if what came last is no array.
    pub fn elements(&self) -> Option<Elements> {
        self.elements
    }

    /// The raw value of a key, if it came whole and was not too long. Of a repeated key the last.
    pub fn value(&self, key: &str) -> Option<&[u8]> {
        let at = self.keys.iter().position(|known| *known == key)?;
        self.values[at].as_deref()
    }

    /// The raw values of the key that was looked for everywhere, in their order.
    pub fn found(&self) -> impl Iterator<Item = &[u8]> {
        self.found.iter().map(|value| &**value)
    }

    /// Whether the outermost object or array was closed.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Reads on.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut at = 0;
        // Where in these bytes the part of the captured value begins that was not copied yet.
        let mut from = 0;
        while at < bytes.len() && !self.complete {
            match self.place {
                Place::InString => at = self.string(bytes, at, &mut from),
                Place::AfterBackslash => {
                    self.word.push(&bytes[at..=at]);
                    self.place = Place::InString;
                    at += 1;
                }
                Place::Outside | Place::AfterString => {
                    self.outside(bytes, at, &mut from);
                    at += 1;
                }
            }
        }
        if let Some(capture) = &mut self.capture {
            capture.push(&bytes[from..at]);
        }
    }

    /// Reads on inside a string. Returns where it got to.
    fn string(&mut self, bytes: &[u8], at: usize, from: &mut usize) -> usize {
        let rest = &bytes[at..];
        let Some(length) = memchr::memchr2(b'"', b'\\', rest) else {
            self.word.push(rest);
            return bytes.len();
        };
        self.word.push(&rest[..length]);
        let end = at + length + 1;
        if rest[length] == b'\\' {
            self.word.push(b"\\");
            self.place = Place::AfterBackslash;
        } else {
            self.place = Place::AfterString;
            // A captured string ends with its quote; one inside a captured object does not end it.
            if self.at_captured_depth() {
                self.end_capture(&bytes[*from..end]);
            }
        }
        end
    }

    /// Reads one byte outside of strings.
    fn outside(&mut self, bytes: &[u8], at: usize, from: &mut usize) {
        let byte = bytes[at];
        let after_string = self.place == Place::AfterString;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => return,
            b':' => {
                if after_string && self.capture.is_none() {
                    self.wanted = self.target();
                }
            }
            b'"' => {
                self.begin(bytes, at, from);
                self.word.len = 0;
                self.place = Place::InString;
                return;
            }
            b'{' | b'[' => {
                let is_counted = self.wanted == Some(Target::Elements) && byte == b'[';
                self.begin(bytes, at, from);
                self.depth += 1;
                if is_counted {
                    self.elements = Some(Elements::at(self.depth));
                }
            }
            b'}' | b']' => {
                if self.at_captured_depth() {
                    self.end_capture(&bytes[*from..at]);
                }
                self.depth = self.depth.saturating_sub(1);
                if self.at_captured_depth() {
                    self.end_capture(&bytes[*from..=at]);
                }
                self.complete = self.depth == 0;
                if let Some(elements) = &mut self.elements {
                    elements.close(self.depth);
                }
            }
            b',' => {
                if self.at_captured_depth() {
                    self.end_capture(&bytes[*from..at]);
                }
                self.wanted = None;
                if let Some(elements) = &mut self.elements {
                    elements.comma(self.depth);
                }
            }
            _ => self.begin(bytes, at, from),
        }
        self.place = Place::Outside;
    }

    fn target(&self) -> Option<Target> {
        let word = self.word.get()?;
        if self.depth == 1 {
            let key = self.keys.iter().position(|key| key.as_bytes() == word);
            if let Some(key) = key {
                return Some(Target::Key(key));
            }
            if self.counted.iter().any(|key| key.as_bytes() == word) {
                return Some(Target::Elements);
            }
        }
        self.anywhere.filter(|key| key.as_bytes() == word).map(|_| Target::Anywhere)
    }

    fn at_captured_depth(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.depth == self.depth)
    }

    /// A value begins, or goes on, or a key begins.
    fn begin(&mut self, bytes: &[u8], at: usize, from: &mut usize) {
        if let Some(elements) = &mut self.elements {
            elements.value(bytes[at], self.depth);
        }
        match self.wanted.take() {
            None => {}
            // Of a repeated key the last counts.
            Some(Target::Elements) => self.elements = None,
            Some(target) => {
                let bytes = Vec::new();
                self.capture = Some(Capture { target, depth: self.depth, bytes, too_long: false });
                *from = at;
            }
        }
    }

    fn end_capture(&mut self, tail: &[u8]) {
        let Some(mut capture) = self.capture.take() else {
            return;
        };
        capture.push(tail);
        let value = (!capture.too_long).then(|| capture.bytes.trim_ascii_end().into());
        match capture.target {
            Target::Key(key) => self.values[key] = value,
            Target::Anywhere if self.found.len() < FOUND_COUNT => self.found.extend(value),
            Target::Anywhere | Target::Elements => {}
        }
    }
}

impl Capture {
    fn push(&mut self, bytes: &[u8]) {
        let limit = if self.target == Target::Anywhere { FOUND_LIMIT } else { VALUE_LIMIT };
        if self.too_long || self.bytes.len() + bytes.len() > limit {
            self.too_long = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

impl Word {
    fn push(&mut self, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..).and_then(|rest| rest.get_mut(..bytes.len())) {
            room.copy_from_slice(bytes);
        }
        self.len = self.len.saturating_add(bytes.len());
    }

    /// The string, unless it was too long to be kept.
    fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }
}
