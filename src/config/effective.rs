//! The configuration in effect, to be read by people and by weir itself.

use std::fmt;

/// Every key with its value and where that comes from. Values out of the environment stay names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effective {
    sections: Vec<Shown>,
}

#[derive(Clone, Debug)]
struct Shown {
    path: String,
    lines: Vec<(String, String)>,
}

impl Effective {
    /// Begins a section; the lines that follow belong to it.
    pub(super) fn section(&mut self, path: &str) {
        self.sections.push(Shown { path: path.to_owned(), lines: Vec::new() });
    }

    /// A key with its value.
    pub(super) fn value(&mut self, key: &str, literal: &str, from: String) {
        self.line(format!("{key} = {literal}"), from);
    }

    /// A key that is not given and has no value of its own.
    pub(super) fn absent(&mut self, key: &str, meaning: &str) {
        self.line(format!("# {key}"), format!("not set: {meaning}"));
    }

    fn line(&mut self, line: String, comment: String) {
        if let Some(section) = self.sections.last_mut() {
            section.lines.push((line, comment));
        }
    }
}

impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, section) in self.sections.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            writeln!(f, "[{}]", section.path)?;
            let width = section.lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
            for (line, comment) in &section.lines {
                writeln!(f, "{line:width$}  # {comment}")?;
            }
        }
        Ok(())
    }
}
