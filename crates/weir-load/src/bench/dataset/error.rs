//! Why a data set cannot be read: where, what is wrong there, and what is allowed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde_json::error::Category;

/// Why a data set yields no more.
#[derive(Debug)]
pub enum DataError {
    /// A file cannot be read.
    Io(PathBuf, io::Error),
    /// A place in a file is not as its format asks.
    Place(Place),
    /// A file as a whole cannot be used: what is wrong, and what is allowed.
    Unfit(PathBuf, &'static str),
    /// A setting is out of its range: its name, and what is allowed.
    Setting(&'static str, &'static str),
}

/// A place in a file, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
    /// The byte of the line, counted from 1, where it is known.
    pub column: Option<u64>,
    /// What is wrong, and what is allowed.
    pub says: String,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: cannot read: {error}", path.display()),
            Self::Place(Place { path, line, column, says }) => {
                write!(f, "{}:{line}:", path.display())?;
                if let Some(column) = column {
                    write!(f, "{column}:")?;
                }
                write!(f, " {says}")
            }
            Self::Unfit(path, says) => write!(f, "{}: {says}", path.display()),
            Self::Setting(name, allowed) => write!(f, "{name}: allowed: {allowed}"),
        }
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

/// What a JSON parser says about a document, apart from the place; and the place within the document.
pub(super) fn complaint(error: &serde_json::Error) -> (u64, u64, String) {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let kind = match error.classify() {
        Category::Data => "",
        Category::Syntax | Category::Eof | Category::Io => "not JSON: ",
    };
    (error.line() as u64, error.column() as u64, format!("{kind}{text}"))
}
