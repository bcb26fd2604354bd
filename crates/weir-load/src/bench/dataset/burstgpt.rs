//! Traces of BurstGPT's form.

use std::fs::File;
use std::io::BufReader;

use super::error::DataError;
use super::lines::Lines;
use super::trace::{self, Entries, Entry};
use super::words::MAX_WORDS;

const TIME: &str = "Timestamp";
const INPUT: &str = "Request tokens";
const OUTPUT: &str = "Response tokens";
const MODEL: &str = "Model";
const HEAD: &str = "a head of Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type";

/// The rows of a trace.
pub(super) struct BurstGptRows {
    lines: Lines<BufReader<File>>,
    columns: Columns,
    /// Only rows with this model.
    model: Option<String>,
}

/// Where in a row something stands. Later traces have more columns than the first ones.
struct Columns {
    time: usize,
    input: usize,
    output: usize,
    model: Option<usize>,
}

impl BurstGptRows {
    pub(super) fn new(mut lines: Lines<BufReader<File>>, model: Option<String>) -> Result<Self, DataError> {
        let head: Vec<String> = match lines.advance()? {
            Some(line) => fields(line).map(str::to_owned).collect(),
            None => return Err(lines.wrong(None, format!("no head; allowed: {HEAD}"))),
        };
        let column = |name: &str| head.iter().position(|field| field == name);
        let needed = |name: &str| {
            column(name).ok_or_else(|| lines.wrong(None, format!("no column `{name}`; allowed: {HEAD}")))
        };
        let named = if model.is_some() { Some(needed(MODEL)?) } else { None };
        let columns =
            Columns { time: needed(TIME)?, input: needed(INPUT)?, output: needed(OUTPUT)?, model: named };
        Ok(Self { lines, columns, model })
    }
}

impl Entries for BurstGptRows {
    fn advance(&mut self) -> Result<Option<Entry>, DataError> {
        loop {
            let Some(line) = self.lines.advance()? else { return Ok(None) };
            match self.columns.entry(line, self.model.as_deref()) {
                Ok(Some(entry)) => return Ok(Some(entry)),
                Ok(None) => {}
                Err(says) => return Err(self.wrong(says)),
            }
        }
    }

    fn wrong(&self, says: String) -> DataError {
        self.lines.wrong(None, says)
    }
}

impl Columns {
    /// The entry of a row, unless it is left out.
    fn entry(&self, line: &str, model: Option<&str>) -> Result<Option<Entry>, String> {
        let fields: Vec<&str> = fields(line).collect();
        let field = |column: usize, name: &str| {
            fields
                .get(column)
                .copied()
                .ok_or_else(|| format!("no `{name}` in this row; allowed: as many fields as the head"))
        };
        let number = |column: usize, name: &str, most: u32| {
            let text = field(column, name)?;
            // Tables that were worked on often hold whole numbers with a point.
            let number = text.parse::<f64>().ok().filter(|number| (0.0..=f64::from(most)).contains(number));
            let whole = number.filter(|number| number.fract() == 0.0).map(|number| number as u32);
            whole.ok_or_else(|| format!("`{name}` is `{}`; allowed: 0 to {most}", shown(text)))
        };
        let text = field(self.time, TIME)?;
        let at = text.parse().ok().and_then(|seconds| trace::time(seconds, 1.0));
        let at = at.ok_or_else(|| format!("`{TIME}` is `{}`; allowed: seconds from 0", shown(text)))?;
        let input = number(self.input, INPUT, MAX_WORDS)?;
        let output = number(self.output, OUTPUT, u32::MAX)?;
        let other = match self.model {
            Some(column) => Some(field(column, MODEL)?) != model,
            None => false,
        };
        let kept = input > 0 && output > 0 && !other;
        Ok(kept.then_some(Entry { at, input, output, blocks: Vec::new() }))
    }
}

/// The fields of a row. The format quotes them at most as a whole, and puts no comma into one.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|field| field.trim().trim_matches('"'))
}

/// The beginning of a text.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}
