//! Reads a record file back.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::de::Error as _;
use weir_core::observation::Observation;

use super::form1::{self, FORM_1};
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
                write!(f, "line {line}: records of form {form}; known are {FORM_1} to {FORM}")
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
    let mut records = Records { file, form: FORM, line: 0, text: Vec::new(), cut: None, over: false };
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
    /// That of the last header.
    form: u32,
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

    fn check(&mut self, header: &Header) -> Result<(), RecordError> {
        self.form = header.weir_record;
        match self.form {
            FORM_1..=FORM => Ok(()),
            form => Err(RecordError::UnknownForm { line: self.line, form }),
        }
    }

    fn parse(&self) -> Result<Observation, serde_json::Error> {
        let observation = serde_json::from_slice(&self.text)?;
        if self.form != FORM_1 {
            return Ok(observation);
        }
        let refused = || serde_json::Error::custom("no kind of observation of form 1");
        form1::today(observation).ok_or_else(refused)
    }

    /// The observation of the line that was read; nothing for a line that holds none.
    fn observation(&mut self) -> Result<Option<Observation>, RecordError> {
        if self.text.is_empty() {
            return Ok(None);
        }
        match self.parse() {
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
    use weir_core::exchange::{ExchangeId, Pulse, WallTime};
    use weir_core::gaps::{GapRecord, SCALE};
    use weir_core::observation::{Landmark, LandmarkEvent, Observation, Tick};
    use weir_core::timeline::{Offset, Stamp};

    use super::{RecordError, read_records};

    const HEADER: &str = "{\"weir_record\":2,\"version\":\"0.1.0\",\"later\":true}\n";

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
        let later = HEADER.replace(":2,", ":3,");
        let refused = read_records(file(&later).path()).unwrap_err();
        assert!(matches!(refused, RecordError::UnknownForm { line: 1, form: 3 }));
        for other in ["", "\n", "hello\n", &line(1)] {
            let refused = read_records(file(other).path()).unwrap_err();
            assert!(matches!(refused, RecordError::NoHeader), "{other}");
        }
        let file = file(&format!("{HEADER}{}{later}{}", line(1), line(2)));
        let read: Vec<_> = read_records(file.path()).unwrap().collect();
        assert_eq!(read.len(), 2);
        let told = read[1].as_ref().unwrap_err().to_string();
        assert_eq!(told, "line 3: records of form 3; known are 1 to 2");
    }

    /// A pulse as form 1 has it: 20 ms a token, 40 ms a chunk.
    const OLD: &str = "{\"kind\":\"pulse\",\"id\":1,\"at\":7,\"model\":\"m\",\"first_token\":null,\"chunks\":2,\"tokens\":4,\
        \"gaps\":{\"itl\":{\"count\":4,\"sum_ns\":80000000,\"max_ns\":20000000,\"slots\":[[180,4]]},\
        \"inter_chunk\":{\"count\":2,\"sum_ns\":80000000,\"max_ns\":40000000,\"slots\":[[57,2]]}},\"silence\":5}\n";

    fn slots(observation: &Observation) -> [Vec<(u16, u32)>; 2] {
        let Observation::Pulse(pulse) = observation else { panic!("{observation:?}") };
        [pulse.gaps.itl.slots.to_vec(), pulse.gaps.inter_chunk.slots.to_vec()]
    }

    #[test]
    fn the_form_in_force_is_that_of_the_last_header() {
        let first = HEADER.replace(":2,", ":1,");
        let file = file(&format!("{first}{OLD}{HEADER}{OLD}{first}{OLD}"));
        let read: Vec<_> = read_records(file.path()).unwrap().map(Result::unwrap).collect();
        // The middles of 20 to 21 ms and of 40 to 48 ms.
        let middle = |ns| SCALE.index(ns) as u16;
        let converted = [vec![(middle(20_500_000), 4)], vec![(middle(44_000_000), 2)]];
        assert_eq!(slots(&read[0]), converted);
        assert_eq!(slots(&read[1]), [vec![(180, 4)], vec![(57, 2)]]);
        assert_eq!(slots(&read[2]), converted);
        let Observation::Pulse(pulse) = &read[0] else { panic!() };
        let gaps = &pulse.gaps;
        assert_eq!((gaps.itl.count, gaps.itl.sum_ns, gaps.itl.max_ns), (4, 80_000_000, 20_000_000));
        assert_eq!(gaps.itl.quantile(0.5), Some(Offset(20_000_000)), "not above the greatest");
    }

    #[test]
    fn ticks_and_landmarks_are_of_form_2_alone() {
        let tick = Observation::Tick(Box::new(Tick { at: Stamp(7), ..Tick::default() }));
        let landmark = Observation::Landmark(Box::new(Landmark {
            at: Stamp(8),
            wall: WallTime(9),
            event: LandmarkEvent::Started,
            detail: "0.1.0".into(),
        }));
        let lines: String =
            [&tick, &landmark].iter().map(|told| serde_json::to_string(told).unwrap() + "\n").collect();
        let first = HEADER.replace(":2,", ":1,");
        let file = file(&format!("{HEADER}{lines}{first}{lines}{}", line(1)));
        let read: Vec<_> = read_records(file.path()).unwrap().collect();
        assert_eq!(read.len(), 5);
        assert_eq!([read[0].as_ref().unwrap(), read[1].as_ref().unwrap()], [&tick, &landmark]);
        assert!(matches!(&read[2], Err(RecordError::Broken { line: 5, .. })));
        assert!(matches!(&read[3], Err(RecordError::Broken { line: 6, .. })));
        assert_eq!(read[4].as_ref().unwrap(), &pulse(1));
    }
}
