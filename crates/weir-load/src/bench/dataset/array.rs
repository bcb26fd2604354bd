//! The elements of a JSON array, one at a time: a file may be larger than memory, an element not.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::{DataError, Place, complaint};
use super::lines::{BYTE_ORDER_MARK, MAX_LINE};

/// Cuts an array into its elements at the commas between them, and leaves what an element is to the parser.
pub(super) struct Elements<R> {
    path: PathBuf,
    reader: R,
    /// Where the next byte stands, counted from 1.
    line: u64,
    column: u64,
    /// The bytes of an element, and where it began.
    bytes: Vec<u8>,
    began: (u64, u64),
    state: State,
}

/// Where in the array the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    /// Behind the opening bracket: the array may end.
    First,
    /// Behind a comma: an element has to follow.
    Next,
    After,
}

/// What follows an element.
enum End {
    Comma,
    Bracket,
}

impl<R: BufRead> Elements<R> {
    pub(super) fn new(path: &Path, reader: R) -> Self {
        let state = State::Before;
        Self { path: path.to_owned(), reader, line: 1, column: 1, bytes: Vec::new(), began: (1, 1), state }
    }

    /// The next element; `None` at the end of the array. `allowed` tells what the file may hold.
    pub(super) fn advance<T: DeserializeOwned>(&mut self, allowed: &str) -> Result<Option<T>, DataError> {
        if self.state == State::Before {
            self.opening(allowed)?;
        }
        if self.state == State::After {
            return Ok(None);
        }
        let end = self.element(allowed)?;
        let blank = self.bytes.trim_ascii().is_empty();
        match (end, blank, self.state) {
            (End::Bracket, true, State::First) => {
                self.state = State::After;
                return Ok(None);
            }
            (_, true, _) => return Err(self.wrong(format!("no element before this; allowed: {allowed}"))),
            (End::Comma, false, _) => self.state = State::Next,
            (End::Bracket, false, _) => self.state = State::After,
        }
        self.parsed(allowed).map(Some)
    }

    /// Where the element that was read last begins.
    pub(super) fn wrong_element(&self, says: String) -> DataError {
        self.place(self.began, says)
    }

    fn opening(&mut self, allowed: &str) -> Result<(), DataError> {
        let mark = BYTE_ORDER_MARK.as_bytes();
        loop {
            match self.byte()? {
                Some(b'[') => break,
                Some(byte) if byte.is_ascii_whitespace() => {}
                Some(byte) if self.line == 1 && mark.contains(&byte) => {}
                _ => return Err(self.wrong(format!("no array begins here; allowed: {allowed}"))),
            }
        }
        self.state = State::First;
        Ok(())
    }

    /// Collects the bytes up to the comma or the bracket behind an element.
    fn element(&mut self, allowed: &str) -> Result<End, DataError> {
        self.bytes.clear();
        let (mut depth, mut quoted, mut escaped) = (0_u64, false, false);
        loop {
            let at = (self.line, self.column);
            let Some(byte) = self.byte()? else {
                return Err(self.place(at, format!("the file ends within the array; allowed: {allowed}")));
            };
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b',' if depth == 0 => return Ok(End::Comma),
                b']' if depth == 0 => return Ok(End::Bracket),
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if self.bytes.is_empty() {
                if byte.is_ascii_whitespace() {
                    continue;
                }
                self.began = at;
            }
            if self.bytes.len() == MAX_LINE {
                let says = format!("too long; allowed: {MAX_LINE} bytes an element");
                return Err(self.wrong_element(says));
            }
            self.bytes.push(byte);
        }
    }

    fn parsed<T: DeserializeOwned>(&self, allowed: &str) -> Result<T, DataError> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            let (line, column, says) = complaint(&error);
            let (began_line, began_column) = self.began;
            let column = if line <= 1 { began_column + column.saturating_sub(1) } else { column };
            self.place((began_line + line.saturating_sub(1), column), format!("{says}; allowed: {allowed}"))
        })
    }

    fn byte(&mut self) -> Result<Option<u8>, DataError> {
        let buffer = self.reader.fill_buf().map_err(|error| DataError::Io(self.path.clone(), error))?;
        let Some(&byte) = buffer.first() else { return Ok(None) };
        self.reader.consume(1);
        if byte == b'\n' {
            (self.line, self.column) = (self.line + 1, 1);
        } else {
            self.column += 1;
        }
        Ok(Some(byte))
    }

    /// Something is wrong with the byte that was read last.
    fn wrong(&self, says: String) -> DataError {
        self.place((self.line, self.column.saturating_sub(1).max(1)), says)
    }

    fn place(&self, (line, column): (u64, u64), says: String) -> DataError {
        DataError::Place(Place { path: self.path.clone(), line, column: Some(column), says })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use serde_json::{Value, json};

    use super::*;

    fn all(text: impl AsRef<[u8]>) -> Result<Vec<Value>, String> {
        let mut elements = Elements::new(Path::new("data.json"), Cursor::new(text.as_ref().to_vec()));
        let mut found = Vec::new();
        while let Some(element) = elements.advance("an array").map_err(|error| error.to_string())? {
            found.push(element);
        }
        Ok(found)
    }

    #[test]
    fn elements_are_what_a_parser_of_the_whole_finds() {
        for text in ["[]", " [ ]\n", "[1]", "\u{feff}[{\"a\":\"],\\\"[\"},\n[[],{}], \"\\\\\" ,null]"] {
            let whole: Vec<Value> = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
            assert_eq!(all(text), Ok(whole), "{text}");
        }
    }

    #[test]
    fn what_is_no_array_is_placed() {
        let cases = [
            ("", "data.json:1:1: no array begins here; allowed: an array"),
            ("\n {}", "data.json:2:2: no array begins here; allowed: an array"),
            ("[1,\n", "data.json:2:1: the file ends within the array; allowed: an array"),
            ("[1,]", "data.json:1:4: no element before this; allowed: an array"),
            ("[,1]", "data.json:1:2: no element before this; allowed: an array"),
            ("[1,\n {\"a\":\n}]", "data.json:3:1: not JSON: expected value; allowed: an array"),
            ("[1, x]", "data.json:1:5: not JSON: expected value; allowed: an array"),
        ];
        for (text, says) in cases {
            assert_eq!(all(text), Err(says.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_element_is_bounded() {
        let long = format!("[1,\"{}\"]", "x".repeat(MAX_LINE));
        let error = all(long).unwrap_err();
        assert_eq!(error, "data.json:1:4: too long; allowed: 16777216 bytes an element");
        assert_eq!(all("[{\"a\":1}]").unwrap(), [json!({"a": 1})]);
    }
}
