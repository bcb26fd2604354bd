//! The lines of a file, one at a time, none of them longer than a bound.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::{DataError, Place, complaint};

/// The longest line, and the longest element of an array, that is read: in bytes.
pub(super) const MAX_LINE: usize = 16 << 20;

/// The largest file whose entries may be kept in memory.
const MAX_KEPT: u64 = 1 << 30;

/// Some editors begin a file with it.
pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Opens a file.
pub(super) fn open(path: &Path) -> Result<BufReader<File>, DataError> {
    File::open(path).map(BufReader::new).map_err(|error| DataError::Io(path.to_owned(), error))
}

/// Opens a file whose entries are kept in memory.
pub(super) fn open_kept(path: &Path) -> Result<BufReader<File>, DataError> {
    let reader = open(path)?;
    let length = reader.get_ref().metadata().map_err(|error| DataError::Io(path.to_owned(), error))?.len();
    if length > MAX_KEPT {
        return Err(DataError::Unfit(path.to_owned(), "too large; allowed: 1 GiB"));
    }
    Ok(reader)
}

/// Reads the lines that are not blank.
pub(super) struct Lines<R> {
    path: PathBuf,
    reader: R,
    /// The number of the line in `bytes`.
    line: u64,
    bytes: Vec<u8>,
}

impl Lines<BufReader<File>> {
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        Ok(Self::new(path, open(path)?))
    }
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(path: &Path, reader: R) -> Self {
        Self { path: path.to_owned(), reader, line: 0, bytes: Vec::new() }
    }

    /// Goes on to the next line and gives it without its end; `None`: there is none.
    pub(super) fn advance(&mut self) -> Result<Option<&str>, DataError> {
        loop {
            self.bytes.clear();
            self.line += 1;
            // One byte more than is allowed, to tell a line that is too long.
            let mut bounded = (&mut self.reader).take(MAX_LINE as u64 + 1);
            let read = bounded.read_until(b'\n', &mut self.bytes);
            if read.map_err(|error| DataError::Io(self.path.clone(), error))? == 0 {
                return Ok(None);
            }
            if self.bytes.len() > MAX_LINE {
                return Err(self.wrong(None, format!("too long; allowed: {MAX_LINE} bytes a line")));
            }
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|error| self.wrong(Some(error.valid_up_to() as u64 + 1), "not UTF-8".to_owned()))?;
        let text = if self.line == 1 { text.trim_start_matches(BYTE_ORDER_MARK) } else { text };
        Ok(Some(text.trim_end_matches(['\n', '\r'])))
    }

    /// Goes on to the next line and reads it as JSON. `allowed` tells what a line may hold.
    pub(super) fn json<T: DeserializeOwned>(&mut self, allowed: &str) -> Result<Option<T>, DataError> {
        let Some(text) = self.advance()? else { return Ok(None) };
        let parsed = serde_json::from_str(text);
        parsed.map(Some).map_err(|error| {
            let (_, column, says) = complaint(&error);
            self.wrong(Some(column), format!("{says}; allowed: {allowed}"))
        })
    }

    /// Something is wrong with the line that was read last.
    pub(super) fn wrong(&self, column: Option<u64>, says: String) -> DataError {
        DataError::Place(Place { path: self.path.clone(), line: self.line, column, says })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn lines(text: impl Into<Vec<u8>>) -> Lines<Cursor<Vec<u8>>> {
        Lines::new(Path::new("data.jsonl"), Cursor::new(text.into()))
    }

    #[test]
    fn blank_lines_are_passed_over_and_counted() {
        let mut lines = lines("\u{feff}one\r\n\n  \ntwo");
        assert_eq!(lines.advance().unwrap(), Some("one"));
        assert_eq!(lines.advance().unwrap(), Some("two"));
        assert_eq!(lines.wrong(Some(2), "odd".to_owned()).to_string(), "data.jsonl:4:2: odd");
        assert_eq!(lines.advance().unwrap(), None);
    }

    #[test]
    fn a_line_is_bounded_and_has_to_be_text() {
        assert_eq!(lines(vec![b'x'; MAX_LINE]).advance().unwrap().map(str::len), Some(MAX_LINE));
        let error = lines([&vec![b'\n'][..], &vec![b'x'; MAX_LINE + 1]].concat()).advance().unwrap_err();
        assert_eq!(error.to_string(), "data.jsonl:2: too long; allowed: 16777216 bytes a line");
        let error = lines(b"ab\xffc".to_vec()).advance().unwrap_err();
        assert_eq!(error.to_string(), "data.jsonl:1:3: not UTF-8");
    }

    #[test]
    fn what_is_not_json_is_placed() {
        let error = lines("{\"a\":}").json::<serde_json::Value>("an object").unwrap_err();
        assert_eq!(error.to_string(), "data.jsonl:1:6: not JSON: expected value; allowed: an object");
    }
}
