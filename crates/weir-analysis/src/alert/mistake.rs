//! What is wrong with a file of rules, and where.

use std::fmt;

/// A place in a file: line and column in characters, both counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Something to be told about a place: what is wrong and what is allowed, or only a remark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// All that was found in one run, so that a file is mended at once.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    pub(super) fn add(&mut self, place: Place, message: impl Into<String>) {
        self.0.push(Mistake { place, message: message.into() });
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of the file.
    pub(super) fn sorted(mut self) -> Vec<Mistake> {
        self.0.sort();
        self.0
    }
}

/// The allowed word that was probably meant; `None`: nothing is near enough.
pub(super) fn nearest<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect::<String>().to_lowercase();
    let far = (word.chars().count() / 3).clamp(1, 4);
    allowed
        .into_iter()
        .map(|known| (strsim::osa_distance(&word, known), known))
        .filter(|&(distance, known)| distance <= far && distance < known.chars().count())
        .min()
        .map(|(_, known)| known)
}

/// `; did you mean "word"?`, or nothing.
pub(super) fn did_you_mean<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    // A word that is allowed, but not here, is what was meant.
    nearest(word, allowed)
        .filter(|known| *known != word)
        .map_or_else(String::new, |known| format!("; did you mean \"{known}\"?"))
}

/// A word as it is quoted in a message: not longer than is of use, and without what would break a line.
pub(super) fn quoted(word: &str) -> String {
    let shown: String = word.chars().take(64).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let more = if word.chars().nth(64).is_some() { "…" } else { "" };
    format!("\"{shown}{more}\"")
}

#[cfg(test)]
mod tests {
    use super::{nearest, quoted};

    #[test]
    fn only_a_near_word_is_proposed() {
        let known = ["condition", "severity", "action"];
        assert_eq!(nearest("conditon", known), Some("condition"));
        assert_eq!(nearest("Severty", known), Some("severity"));
        assert_eq!(nearest("actoin", known), Some("action"));
        assert_eq!(nearest("expr", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn what_is_quoted_keeps_to_one_short_line() {
        assert_eq!(quoted("a\nb"), "\"a\u{fffd}b\"");
        assert_eq!(quoted(&"x".repeat(70)), format!("\"{}…\"", "x".repeat(64)));
    }
}
