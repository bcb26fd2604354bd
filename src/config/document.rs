//! The text of a file, taken apart as TOML.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::error::{Mistake, Place};
use super::units::quoted;

/// Breaks of the grammar that leave no doubt about what stands where: the rest is worth checking.
const HARMLESS: [&str; 2] = ["duplicate key", "string values must be quoted"];

/// A parsed file.
pub(super) struct Document<'a> {
    text: &'a str,
    /// Where lines begin.
    lines: Vec<usize>,
    table: DeTable<'a>,
    /// The first break of each line that has one.
    broken: BTreeMap<usize, Mistake>,
    /// No break leaves in doubt what the rest means.
    sound: bool,
}

impl<'a> Document<'a> {
    /// Never fails: what does not parse is kept among the mistakes.
    pub(super) fn parse(text: &'a str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut document = Self {
            text,
            lines: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect(),
            table: table.into_inner(),
            broken: BTreeMap::new(),
            sound: errors.iter().all(|error| HARMLESS.iter().any(|known| error.message().starts_with(known))),
        };
        for error in &errors {
            document.broken_by(error);
        }
        document
    }

    /// The tables and keys.
    pub(super) fn table(&self) -> &DeTable<'a> {
        &self.table
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= at).max(1)
    }

    /// Adds what the grammar found to the mistakes of the content. A line that does not parse says
    /// nothing about its content, and a file that has lost its structure says nothing at all.
    pub(super) fn complete(&self, mut found: Vec<Mistake>) -> Vec<Mistake> {
        found.retain(|mistake| match &mistake.place {
            Place::Line(line, _) => self.sound && !self.broken.contains_key(line),
            Place::File | Place::Nowhere => self.sound,
            Place::Flag(_) | Place::Variable(_) => true,
        });
        found.extend(self.broken.values().cloned());
        found
    }

    /// Keeps the first break of each line.
    fn broken_by(&mut self, error: &toml::de::Error) {
        let span = error.span().unwrap_or_default();
        let line = self.line(span.start);
        if self.broken.contains_key(&line) {
            return;
        }
        let begin = self.lines.get(line - 1).copied().unwrap_or_default();
        let column = self.text.get(begin..span.start).unwrap_or_default().chars().count() + 1;
        let (key, says) = match error.message() {
            "duplicate key" => (self.text.get(span).unwrap_or_default(), "duplicate key; allowed: once"),
            other => ("", other),
        };
        let (key, says) = (key.to_owned(), says.to_owned());
        self.broken.insert(line, Mistake { place: Place::Line(line, Some(column)), key, says });
    }
}

/// A single value as TOML writes it; `None` for what no key takes.
pub(super) fn literal(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(quoted(text)),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Array(values) => {
            let values: Option<Vec<_>> = values.iter().map(|value| literal(value.get_ref())).collect();
            Some(format!("[{}]", values?.join(", ")))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}
