//! Reads a record file back.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use weir_core::observation::Observation;

use super::{FORM, Header};

/// No line that Weir writes comes near this.
const MAX_LINE: u64 = 16 << 20;

/// What was read instead of an observation.
#[derive(Debug)]
pub enum RecordError {
    /// The file could not be read.
    Io(io::Error),
    /// The first line is not the header of a record file.
    NoHeader,
    /// The lines from here on are in a form that this version does not know.
    UnknownForm {
        /// The line of the header, counted from 1.
        line: u64,
        /// The form that it names.
        form: u32,
    },
    /// A line is not an observation. Reading may go on behind it.
    Broken {
        /// Its number, counted from 1.
        line: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A line is longer than any that is written.
    TooLong {
        /// Its number, counted from 1.
        line: u64,
    },
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read: {error}"),
            Self::NoHeader => f.write_str("line 1 is not the header of a record file"),
            Self::UnknownForm { line, form } => {
                write!(f, "line {line}: records of form {form}; known is form {FORM}")
            }
            Self::Broken { line, error } => write!(f, "line {line}: not an observation: {error}"),
            Self::TooLong { line } => write!(f, "line {line}: longer than {MAX_LINE} bytes"),
        }
    }
}

impl std::error::Error for RecordError {}

/// Opens a record file, and reads its header.
pub fn read_records(path: &Path) -> Result<Records, RecordError> {
    let file = BufReader::new(File::open(path).map_err(RecordError::Io)?);
    let mut records = Records { file, line: 0, text: Vec::new(), cut: None, over: false };
    records.next_line()?;
    match records.header() {
        Some(header) => records.check(&header)?,
        None => return Err(RecordError::NoHeader),
    }
    Ok(records)
}

/// The observations of a record file, in the order in which they were made.
#[derive(Debug)]
pub struct Records {
    file: BufReader<File>,
    line: u64,
    text: Vec<u8>,
    cut: Option<u64>,
    over: bool,
}

impl Records {
    /// The number of the last line, if it was cut: the process that wrote it was killed, or is
    /// writing it now. Known once the iterator is at its end.
    pub fn cut_line(&self) -> Option<u64> {
        self.cut
    }

    /// Reads a line without its newline; false at the end.
    fn next_line(&mut self) -> Result<bool, RecordError> {
        self.text.clear();
        self.line += 1;
        let mut line = (&mut self.file).take(MAX_LINE);
        let bytes = line.read_until(b'\n', &mut self.text).map_err(RecordError::Io)?;
        match self.text.pop() {
            Some(b'\n') => {}
            Some(_) if bytes as u64 == MAX_LINE => {
                return Err(RecordError::TooLong { line: self.line });
            }
            Some(last) => {
                self.text.push(last);
                self.cut = Some(self.line);
            }
            None => {}
        }
        Ok(bytes > 0)
    }

    fn header(&self) -> Option<Header> {
        serde_json::from_slice(&self.text).ok()
    }

    fn check(&self, header: &Header) -> Result<(), RecordError> {
        match header.weir_record {
            FORM => Ok(()),
            form => Err(RecordError::UnknownForm { line: self.line, form }),
        }
    }

    /// The observation of the line that was read; nothing for a line that holds none.
    fn observation(&mut self) -> Result<Option<Observation>, RecordError> {
        if self.text.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(&self.text) {
            Ok(observation) => {
                // Only its newline is missing.
                self.cut = None;
                Ok(Some(observation))
            }
            Err(error) => match self.header() {
                Some(header) => self.check(&header).map(|()| None),
                None if self.cut.is_some() => Ok(None),
                None => Err(RecordError::Broken { line: self.line, error }),
            },
        }
    }
}

impl Iterator for Records {
    type Item = Result<Observation, RecordError>;

    /// Goes on behind a broken line, and ends at anything worse.
    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            let read = match self.next_line() {
                Ok(true) => self.observation(),
                Ok(false) => break,
                Err(error) => Err(error),
            };
            match read {
                Ok(None) => {}
                Ok(Some(observation)) => return Some(Ok(observation)),
                Err(error) => {
                    self.over = !matches!(error, RecordError::Broken { .. });
                    return Some(Err(error));
                }
            }
        }
        self.over = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::NamedTempFile;
    use weir_core::exchange::{ExchangeId, Pulse};
    use weir_core::gaps::GapRecord;
    use weir_core::observation::Observation;
    use weir_core::timeline::{Offset, Stamp};

    use super::{RecordError, read_records};

    const HEADER: &str = "{\"weir_record\":1,\"version\":\"0.1.0\",\"later\":true}\n";

    fn pulse(id: u64) -> Observation {
        Observation::Pulse(Box::new(Pulse {
            id: ExchangeId(id),
            at: Stamp(7),
            upstream: None,
            model: Some("m".into()),
            first_token: None,
            chunks: 2,
            tokens: 3,
            gaps: GapRecord::default(),
            silence: Offset(5),
        }))
    }

    fn line(id: u64) -> String {
        serde_json::to_string(&pulse(id)).unwrap() + "\n"
    }

    fn file(text: &str) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_cut_last_line_is_told_and_tolerated() {
        let whole = format!("{HEADER}{}{}", line(1), line(2));
        let file = file(&whole[..whole.len() - 9]);
        let mut records = read_records(file.path()).unwrap();
        let read: Vec<_> = records.by_ref().map(Result::unwrap).collect();
        assert_eq!(read, [pulse(1)]);
        assert_eq!(records.cut_line(), Some(3));
    }

    #[test]
    fn a_last_line_without_its_newline_is_whole() {
        let whole = format!("{HEADER}{}", line(1));
        let file = file(whole.trim_end());
        let mut records = read_records(file.path()).unwrap();
        assert_eq!(records.by_ref().map(Result::unwrap).collect::<Vec<_>>(), [pulse(1)]);
        assert_eq!(records.cut_line(), None);
    }

    #[test]
    fn a_broken_line_is_named_and_the_rest_is_read() {
        let file = file(&format!("{HEADER}{}{{\"kind\":\"pul\n\n{HEADER}{}", line(1), line(2)));
        let read: Vec<_> = read_records(file.path()).unwrap().collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].as_ref().unwrap(), &pulse(1));
        assert!(matches!(&read[1], Err(RecordError::Broken { line: 3, .. })));
        assert_eq!(read[2].as_ref().unwrap(), &pulse(2));
    }

    #[test]
    fn unknown_forms_and_other_files_are_refused() {
        let later = HEADER.replace(":1,", ":2,");
        let refused = read_records(file(&later).path()).unwrap_err();
        assert!(matches!(refused, RecordError::UnknownForm { line: 1, form: 2 }));
        for other in ["", "\n", "hello\n", &line(1)] {
            let refused = read_records(file(other).path()).unwrap_err();
            assert!(matches!(refused, RecordError::NoHeader), "{other}");
        }
        let file = file(&format!("{HEADER}{}{later}{}", line(1), line(2)));
        let read: Vec<_> = read_records(file.path()).unwrap().collect();
        assert_eq!(read.len(), 2);
        let told = read[1].as_ref().unwrap_err().to_string();
        assert_eq!(told, "line 3: records of form 2; known is form 1");
    }
}
