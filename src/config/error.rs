//! What is wrong with a configuration, and where.

use std::fmt;
use std::io;

/// Every mistake of a configuration; one line each.
#[derive(Debug)]
pub(crate) struct Mistakes {
    file: Option<String>,
    list: Vec<Mistake>,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mistake {
    pub(super) place: Place,
    /// The path of the key; empty where the text itself is broken.
    pub(super) key: String,
    /// What is wrong and what is allowed. Never repeats a value: it may come from the environment.
    pub(super) says: String,
}

/// Where something stands. In the order of the report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In the file, or missing there.
    File,
    /// In a line of the file, at a column where that matters. Both count from 1.
    Line(usize, Option<usize>),
    /// In a flag.
    Flag(&'static str),
    /// In a variable of the environment that stands for a key.
    Variable(&'static str),
    /// Nowhere: there is no file, and it is a default or missing.
    Nowhere,
}

impl Mistakes {
    pub(super) fn new(file: Option<String>, mut list: Vec<Mistake>) -> Self {
        list.sort();
        // A variable that stands for two keys is read twice.
        list.dedup();
        Self { file, list }
    }

    pub(super) fn unreadable(file: String, error: &io::Error) -> Self {
        let says = format!("cannot be read: {error}");
        Self { file: Some(file), list: vec![Mistake { place: Place::File, key: String::new(), says }] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Place {
    /// The place as a report names it, in the file of this name; empty for no place.
    pub(super) fn name(&self, file: Option<&str>) -> String {
        let file = file.unwrap_or("file");
        match self {
            Place::File => file.to_owned(),
            Place::Line(line, None) => format!("{file}:{line}"),
            Place::Line(line, Some(column)) => format!("{file}:{line}:{column}"),
            Place::Flag(name) | Place::Variable(name) => (*name).to_owned(),
            Place::Nowhere => String::new(),
        }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, mistake) in self.list.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            let place = mistake.place.name(self.file.as_deref());
            for part in [&place, &mistake.key].into_iter().filter(|part| !part.is_empty()) {
                write!(f, "{part}: ")?;
            }
            f.write_str(&mistake.says)?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
