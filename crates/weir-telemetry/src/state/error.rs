//! What stands against a store, and what is to be told of one.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why there can be no store.
#[derive(Debug)]
pub enum StateError {
    /// Another process keeps its state in the folder.
    InUse(PathBuf),
    /// The file or the folder cannot be used.
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl StateError {
    pub(super) fn at(path: &Path) -> impl Fn(&dyn fmt::Display) -> Self {
        move |why| Self::Unusable { path: path.to_owned(), why: why.to_string() }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(path) => write!(f, "another weir keeps its state in {}", path.display()),
            Self::Unusable { path, why } => write!(f, "cannot keep state in {}: {why}", path.display()),
        }
    }
}

impl std::error::Error for StateError {}

/// What was found when a store was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The file could not be used. It was renamed, and a new one begun: what it held is not known.
    SetAside {
        /// Where it is now.
        to: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::SetAside { to, why } = self;
        write!(f, "the state of earlier runs cannot be used ({why}); it was set aside as {}", to.display())
    }
}
