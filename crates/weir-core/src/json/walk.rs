//! A walk over one JSON document at hand: no tree, no allocation, one pass.
//!
//! It accepts what the grammar accepts, with two liberties, since it only looks: bytes inside
//! strings need not be UTF-8, and may be control characters. Strings and keys are given as they
//! stand, escapes and all; a key spelled with escapes is therefore an unknown key.

use super::string_end;

/// Nesting deeper than this is refused, as `serde_json` does.
const MAX_DEPTH: u8 = 128;

/// What kind of value stands next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`.
    Null,
    /// Not the beginning of a value, or the end of the bytes.
    Nothing,
}

impl Kind {
    /// The kind of a value that begins with this byte.
    #[inline]
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            b'{' => Self::Object,
            b'[' => Self::Array,
            b'"' => Self::String,
            b'-' | b'0'..=b'9' => Self::Number,
            b't' | b'f' => Self::Bool,
            b'n' => Self::Null,
            _ => Self::Nothing,
        }
    }
}

/// A place in a JSON document. Every reading method moves past exactly one value; after a mistake
/// in the document, all of them find nothing.
#[derive(Debug)]
pub struct Walker<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u8,
    failed: bool,
}

impl<'a> Walker<'a> {
    /// A walk over `bytes`, from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, failed: false }
    }

    /// Whether a mistake in the document was met.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// How many bytes lie behind.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether the document was well-formed and only blanks are left.
    pub fn finished(&mut self) -> bool {
        self.blanks();
        !self.failed && self.at == self.bytes.len()
    }

    /// The kind of the next value.
    pub fn peek(&mut self) -> Kind {
        self.blanks();
        self.bytes.get(self.at).map_or(Kind::Nothing, |byte| Kind::of(*byte))
    }

    /// Moves past the next value.
    pub fn skip(&mut self) {
        match self.peek() {
            Kind::Object => {
                self.object(|walker, _| walker.skip());
            }
            Kind::Array => {
                self.array(Self::skip);
            }
            Kind::String => {
                self.quoted();
            }
            Kind::Number => self.number(),
            Kind::Bool if self.bytes[self.at] == b't' => self.literal(b"true"),
            Kind::Bool => self.literal(b"false"),
            Kind::Null => self.literal(b"null"),
            Kind::Nothing => self.fail(),
        }
    }

    /// Moves past the next value and gives its bytes.
    pub fn raw(&mut self) -> &'a [u8] {
        self.blanks();
        let from = self.at;
        self.skip();
        if self.failed { &[] } else { &self.bytes[from..self.at] }
    }

    /// The next value if it is a string: what stands between its quotes.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        if self.peek() == Kind::String {
            return self.quoted();
        }
        self.skip();
        None
    }

    /// The next value if it is a whole number that is not negative and fits.
    pub fn unsigned(&mut self) -> Option<u64> {
        if self.peek() != Kind::Number {
            self.skip();
            return None;
        }
        self.raw().iter().try_fold(0_u64, |number, byte| {
            let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
            number.checked_mul(10)?.checked_add(u64::from(digit))
        })
    }

    /// The next value if it is `true` or `false`.
    pub fn boolean(&mut self) -> Option<bool> {
        let is_bool = self.peek() == Kind::Bool;
        let raw = self.raw();
        (is_bool && !self.failed).then_some(raw == b"true")
    }

    /// Calls `entry` with each key of the next value, which it must move past; any other value
    /// than an object is moved past without a call. Returns whether it was an object.
    pub fn object(&mut self, mut entry: impl FnMut(&mut Self, &'a [u8])) -> bool {
        if self.peek() != Kind::Object {
            self.skip();
            return false;
        }
        if !self.enter() {
            return false;
        }
        if self.eat(b'}') {
            self.depth -= 1;
            return true;
        }
        loop {
            if self.bytes.get(self.at) != Some(&b'"') {
                self.fail();
                return false;
            }
            let Some(key) = self.quoted() else {
                return false;
            };
            if !self.eat(b':') {
                self.fail();
                return false;
            }
            entry(self, key);
            if self.eat(b'}') {
                self.depth -= 1;
                return true;
            }
            if !self.eat(b',') {
                self.fail();
                return false;
            }
            self.blanks();
        }
    }

    /// Calls `element` at each element of the next value, which it must move past; any other value
    /// than an array is moved past without a call. Returns the number of elements of an array.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self)) -> Option<usize> {
        if self.peek() != Kind::Array {
            self.skip();
            return None;
        }
        if !self.enter() {
            return None;
        }
        let mut count = 0;
        if self.eat(b']') {
            self.depth -= 1;
            return Some(count);
        }
        loop {
            element(self);
            count += 1;
            if self.eat(b']') {
                self.depth -= 1;
                return Some(count);
            }
            if !self.eat(b',') {
                self.fail();
                return None;
            }
        }
    }

    /// Moves past the next value and says whether it holds anything: not null, false, zero, nor an
    /// empty string, array or object.
    pub fn truthy(&mut self) -> bool {
        let kind = self.peek();
        let raw = self.raw();
        match kind {
            Kind::Object | Kind::Array => {
                raw.get(1..raw.len().saturating_sub(1)).is_some_and(|inside| !inside.trim_ascii().is_empty())
            }
            Kind::String => raw.len() > 2,
            Kind::Number => raw != b"0",
            Kind::Bool => raw == b"true",
            Kind::Null | Kind::Nothing => false,
        }
    }

    fn enter(&mut self) -> bool {
        if self.depth == MAX_DEPTH {
            self.fail();
            return false;
        }
        self.depth += 1;
        self.at += 1;
        self.blanks();
        true
    }

    #[inline]
    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    /// A string whose opening quote is next.
    #[inline]
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let from = self.at + 1;
        match string_end(self.bytes, from) {
            Some(end) => {
                self.at = end + 1;
                Some(&self.bytes[from..end])
            }
            None => {
                self.fail();
                None
            }
        }
    }

    fn literal(&mut self, word: &[u8]) {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
        } else {
            self.fail();
        }
    }

    fn number(&mut self) {
        self.at += usize::from(self.bytes.get(self.at) == Some(&b'-'));
        let whole = self.digits();
        if whole == 0 || (whole > 1 && self.bytes[self.at - whole] == b'0') {
            return self.fail();
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return self.fail();
            }
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            if self.digits() == 0 {
                self.fail();
            }
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.at - from
    }

    /// From here on nothing is found: the end of the bytes is where no value begins.
    #[cold]
    fn fail(&mut self) {
        self.failed = true;
        self.at = self.bytes.len();
    }
}
