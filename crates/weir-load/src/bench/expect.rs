//! A table of expectations, and whether a run keeps to them.

use std::collections::BTreeMap;
use std::fmt;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const ROW_KEYS: &str = "name, match, output_tps, request_tps, gpu_util, and {mean|median|p50|p90|p95|p99}_{ttft|tpot|itl|e2el}_ms";
const MATCH_KEYS: &str = "model, hardware, gpus";
const LIMITS: &str = "text like \"< 500\", with <, <=, > or >= and a number";

/// The most rows of a table.
const MAX_ROWS: usize = 1024;

/// A table of expectations.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectations {
    /// Its rows, in the order of the file.
    pub rows: Vec<Expectation>,
}

/// What is expected of some runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Its name.
    pub name: String,
    /// Of which runs.
    pub applies: Applies,
    /// Limits by figure.
    pub limits: BTreeMap<String, Limit>,
}

/// Of which runs something is expected; what is absent does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applies {
    /// Part of the model's name, in any case of letters.
    pub model: Option<String>,
    /// Part of the accelerator's name, in any case of letters.
    pub hardware: Option<String>,
    /// How many accelerators.
    pub gpus: Option<u32>,
}

/// What a run was of, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The model's name.
    pub model: Option<String>,
    /// The accelerator's name.
    pub hardware: Option<String>,
    /// How many accelerators.
    pub gpus: Option<u32>,
}

/// A limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// On which side of the bound the figure has to be.
    pub side: Side,
    /// The bound.
    pub bound: f64,
}

/// A side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// A limit, held against a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The expectation's name.
    pub name: String,
    /// The figure's name.
    pub figure: String,
    /// The limit.
    pub limit: Limit,
    /// What the run showed, where it did.
    pub value: Option<f64>,
    /// Whether that keeps to the limit.
    pub outcome: Outcome,
}

/// Whether a limit is kept to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is.
    Pass,
    /// It is not.
    Fail,
    /// The run does not have the figure, or it is not known whether the expectation is of this run.
    NoData,
}

/// A run, held against a table: a line for each limit of each row that may be of this run.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The lines.
    pub lines: Vec<Line>,
}

/// Why a table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what is allowed.
    pub says: String,
}

impl Expectations {
    /// Reads a table from TOML: `[[expectation]]` with a `name`, where it does not go for all runs a `match`, and
    /// limits such as `p95_ttft_ms = "< 500"`. Times are in milliseconds, rates per second, `gpu_util` is from 0 to 1.
    pub fn parse(text: &str) -> Result<Self, ExpectError> {
        let reader = Reader { text };
        let document = DeTable::parse(text)
            .map_err(|error| reader.wrong(error.span().map_or(0, |span| span.start), error.message()))?;
        let mut rows = Vec::new();
        for (key, value) in document.get_ref() {
            let DeValue::Array(tables) = value.get_ref() else {
                return Err(reader.unknown(key, "[[expectation]]"));
            };
            if key.get_ref() != "expectation" {
                return Err(reader.unknown(key, "[[expectation]]"));
            }
            for table in tables {
                rows.push(reader.row(table)?);
            }
        }
        if rows.len() > MAX_ROWS {
            return Err(reader.wrong(0, &format!("too many rows; allowed: {MAX_ROWS}")));
        }
        Ok(Self { rows })
    }

    /// Holds a run's figures, by the names that the table uses, against the rows that are of its subject.
    pub fn judge(&self, subject: &Subject, figures: &BTreeMap<String, f64>) -> Verdict {
        let mut lines = Vec::new();
        for row in &self.rows {
            let applies = row.applies.to(subject);
            if applies == Some(false) {
                continue;
            }
            for (figure, limit) in &row.limits {
                let value = figures.get(figure).copied().filter(|value| value.is_finite());
                let outcome = match value {
                    Some(value) if applies.is_some() => limit.outcome(value),
                    _ => Outcome::NoData,
                };
                lines.push(Line {
                    name: row.name.clone(),
                    figure: figure.clone(),
                    limit: *limit,
                    value,
                    outcome,
                });
            }
        }
        Verdict { lines }
    }
}

impl Applies {
    /// Whether this is of a subject; `None`: not enough is known of it.
    fn to(&self, subject: &Subject) -> Option<bool> {
        let part = |wanted: &Option<String>, name: &Option<String>| match (wanted, name) {
            (None, _) => Some(true),
            (Some(_), None) => None,
            (Some(part), Some(name)) => Some(name.to_lowercase().contains(&part.to_lowercase())),
        };
        let gpus = match (self.gpus, subject.gpus) {
            (None, _) => Some(true),
            (Some(_), None) => None,
            (wanted, known) => Some(wanted == known),
        };
        let all = [part(&self.model, &subject.model), part(&self.hardware, &subject.hardware), gpus];
        if all.contains(&Some(false)) {
            return Some(false);
        }
        if all.contains(&None) { None } else { Some(true) }
    }
}

impl Limit {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let sides = [("<=", Side::AtMost), (">=", Side::AtLeast), ("<", Side::Below), (">", Side::Above)];
        let (rest, side) = sides.iter().find_map(|(sign, side)| Some((text.strip_prefix(sign)?, *side)))?;
        let bound: f64 = rest.trim().parse().ok()?;
        bound.is_finite().then_some(Self { side, bound })
    }

    fn outcome(self, value: f64) -> Outcome {
        let kept = match self.side {
            Side::Below => value < self.bound,
            Side::AtMost => value <= self.bound,
            Side::Above => value > self.bound,
            Side::AtLeast => value >= self.bound,
        };
        if kept { Outcome::Pass } else { Outcome::Fail }
    }
}

impl Verdict {
    /// All in all: a failure if there is one; else a pass if there is one.
    pub fn outcome(&self) -> Outcome {
        let any = |outcome| self.lines.iter().any(|line| line.outcome == outcome);
        [Outcome::Fail, Outcome::Pass].into_iter().find(|outcome| any(*outcome)).unwrap_or(Outcome::NoData)
    }

    /// What a program exits with: 0 where nothing failed, 1 where something did, 3 where nothing could be judged.
    pub fn exit_code(&self) -> u8 {
        match self.outcome() {
            Outcome::Pass => 0,
            Outcome::Fail => 1,
            Outcome::NoData => 3,
        }
    }
}

/// Reads tables, and knows where they stand.
struct Reader<'a> {
    text: &'a str,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;

impl Reader<'_> {
    fn row(&self, value: &Spanned<DeValue<'_>>) -> Result<Expectation, ExpectError> {
        let at = value.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.wrong(at, "not a table; allowed: [[expectation]]"));
        };
        let (mut name, mut applies, mut limits) = (None, Applies::default(), BTreeMap::new());
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(text)) => name = Some(text.to_string()),
                ("match", DeValue::Table(table)) => applies = self.applies(table)?,
                ("name" | "match", _) => {
                    let says = format!("{}: allowed: a text for name, a table for match", key.get_ref());
                    return Err(self.wrong(value.span().start, &says));
                }
                (figure, _) if !is_figure(figure) => return Err(self.unknown(key, ROW_KEYS)),
                (figure, limit) => {
                    let limit = if let DeValue::String(text) = limit { Limit::parse(text) } else { None };
                    let wrong = || self.wrong(value.span().start, &format!("{figure}: allowed: {LIMITS}"));
                    limits.insert(figure.to_owned(), limit.ok_or_else(wrong)?);
                }
            }
        }
        match name {
            _ if limits.is_empty() => {
                Err(self.wrong(at, &format!("nothing is expected; allowed: {ROW_KEYS}")))
            }
            None => Err(self.wrong(at, "no name; allowed: any text")),
            Some(name) => Ok(Expectation { name, applies, limits }),
        }
    }

    fn applies(&self, table: &DeTable<'_>) -> Result<Applies, ExpectError> {
        let mut applies = Applies::default();
        for (key, value) in table {
            let wrong = |allowed: &str| {
                self.wrong(value.span().start, &format!("match.{}: allowed: {allowed}", key.get_ref()))
            };
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("model", DeValue::String(text)) => applies.model = Some(text.to_string()),
                ("hardware", DeValue::String(text)) => applies.hardware = Some(text.to_string()),
                ("gpus", DeValue::Integer(number)) => {
                    let number = u32::from_str_radix(number.as_str(), number.radix())
                        .ok()
                        .filter(|number| *number > 0);
                    applies.gpus = Some(number.ok_or_else(|| wrong("a number from 1"))?);
                }
                ("model" | "hardware", _) => return Err(wrong("a text")),
                ("gpus", _) => return Err(wrong("a number from 1")),
                _ => return Err(self.unknown(key, MATCH_KEYS)),
            }
        }
        Ok(applies)
    }

    fn unknown(&self, key: &Key<'_>, allowed: &str) -> ExpectError {
        self.wrong(key.span().start, &format!("{}: unknown key; allowed: {allowed}", key.get_ref()))
    }

    fn wrong(&self, at: usize, says: &str) -> ExpectError {
        let line = self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        ExpectError { line, says: says.to_owned() }
    }
}

/// Whether something is the name of a figure.
fn is_figure(name: &str) -> bool {
    if ["output_tps", "request_tps", "gpu_util"].contains(&name) {
        return true;
    }
    let Some((statistic, metric)) = name.split_once('_') else { return false };
    let metrics = ["ttft_ms", "tpot_ms", "itl_ms", "e2el_ms"];
    ["mean", "median", "p50", "p90", "p95", "p99"].contains(&statistic) && metrics.contains(&metric)
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(NOTHING).set_header(["expectation", "figure", "limit", "seen", ""]);
        for line in &self.lines {
            let seen = line.value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
            table.add_row([
                line.name.clone(),
                line.figure.clone(),
                line.limit.to_string(),
                seen,
                line.outcome.to_string(),
            ]);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        writeln!(f, "{}", table.trim_fmt())
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.side {
            Side::Below => "<",
            Side::AtMost => "<=",
            Side::Above => ">",
            Side::AtLeast => ">=",
        };
        write!(f, "{sign} {}", self.bound)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::NoData => "no data",
        })
    }
}

impl fmt::Display for ExpectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.says)
    }
}

impl std::error::Error for ExpectError {}
