//! What the lookup of keys goes by, and what it comes to: the configuration in effect, and every
//! mistake.

use std::ffi::OsString;

use super::document::Document;
use super::effective::Effective;
use super::error::{Mistake, Mistakes, Place};
use super::section::Section;
use super::units::key;

/// Words less alike than this are no slip of the pen.
const ALIKE: f64 = 0.6;

/// Longer keys are compared with nothing.
const MAX_WORD: usize = 64;

/// One run through a file and the flags.
pub(super) struct Reader<'a> {
    file: Option<&'a str>,
    document: &'a Document<'a>,
    pub(super) env: &'a dyn Fn(&str) -> Option<OsString>,
    pub(super) effective: Effective,
    mistakes: Vec<Mistake>,
    pub(super) warnings: Vec<String>,
    /// Every key that was asked for, with its section.
    known: Vec<(String, &'static str)>,
    unknown: Vec<Unknown>,
}

/// A key that nobody asked for.
pub(super) struct Unknown {
    pub(super) section: String,
    pub(super) name: String,
    /// It is a table.
    pub(super) table: bool,
    pub(super) place: Place,
    /// The keys that its section has.
    pub(super) allowed: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        file: Option<&'a str>,
        document: &'a Document<'a>,
        env: &'a dyn Fn(&str) -> Option<OsString>,
    ) -> Self {
        let (mistakes, known, unknown) = (Vec::new(), Vec::new(), Vec::new());
        let warnings = Vec::new();
        Self { file, document, env, effective: Effective::default(), mistakes, warnings, known, unknown }
    }

    /// Reads the file as a whole.
    pub(super) fn root<T>(&mut self, read: impl FnOnce(&mut Section<'_, 'a>) -> T) -> T {
        let place = if self.file.is_some() { Place::File } else { Place::Nowhere };
        let table = self.document.table();
        let mut root = Section::new(self, String::new(), Some(table), place);
        let result = read(&mut root);
        root.close();
        result
    }

    /// Ends the run.
    pub(super) fn finish(mut self) -> (Effective, Vec<String>, Mistakes) {
        for unknown in std::mem::take(&mut self.unknown) {
            let mistake = self.explain(unknown);
            self.mistakes.push(mistake);
        }
        let mistakes = self.document.complete(self.mistakes);
        (self.effective, self.warnings, Mistakes::new(self.file.map(str::to_owned), mistakes))
    }

    pub(super) fn mistake(&mut self, place: Place, key: String, says: String) {
        self.mistakes.push(Mistake { place, key, says });
    }

    pub(super) fn asked(&mut self, section: &str, name: &'static str) {
        self.known.push((section.to_owned(), name));
    }

    pub(super) fn unknown(&mut self, unknown: Unknown) {
        self.unknown.push(unknown);
    }

    /// Where a byte of the file stands.
    pub(super) fn place(&self, at: usize) -> Place {
        Place::Line(self.document.line(at), None)
    }

    /// How a place is named in a report.
    pub(super) fn name(&self, place: &Place) -> String {
        place.name(self.file)
    }

    fn explain(&self, unknown: Unknown) -> Mistake {
        let what = if unknown.table { "unknown section" } else { "unknown key" };
        let meant = self.meant(&unknown).map_or_else(String::new, |path| format!("; did you mean `{path}`?"));
        let end = if meant.is_empty() { ";" } else { "" };
        let says = format!("{what}{meant}{end} allowed: {}", unknown.allowed.join(", "));
        Mistake { place: unknown.place, key: join(&unknown.section, &unknown.name), says }
    }

    /// What was probably meant: the same key of another section, or one that is spelt alike.
    fn meant(&self, unknown: &Unknown) -> Option<String> {
        let name = unknown.name.as_str();
        if name.len() > MAX_WORD {
            return None;
        }
        if let Some((section, known)) = self.known.iter().find(|(_, known)| *known == name) {
            return Some(join(section, known));
        }
        let alike = |known: &&'static str| strsim::normalized_damerau_levenshtein(name, known);
        let nearest = unknown.allowed.iter().copied().max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
        (alike(&nearest) >= ALIKE).then(|| nearest.to_owned())
    }
}

/// The path of a key in a section; the path of the file as a whole is empty.
pub(super) fn join(section: &str, name: &str) -> String {
    if section.is_empty() { key(name) } else { format!("{section}.{}", key(name)) }
}
