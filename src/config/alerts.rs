//! What the file says of alerts. The rules are read at once: a configuration that names rules that cannot be
//! used is refused like any other mistake.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use weir_analysis::alert::Rules;
use weir_analysis::slo::SloConfig;

use super::kinds::{FilePath, Url};
use super::section::{Section, Setting};

/// A longer file is none of rules.
const MAX_RULES: u64 = 1 << 20;

/// Reads the rules, which may name these SLOs, and where people see Weir.
pub(super) fn alerts(section: &mut Section<'_, '_>, slos: &[SloConfig]) -> (Rules, String) {
    let file = section.optional("rules", FilePath, "no alerts");
    let external_url = section.optional("external_url", Url, "no link");
    let rules = file.and_then(|file| rules(section, &file, slos)).unwrap_or_default();
    (rules, external_url.map(|url| url.value.to_string()).unwrap_or_default())
}

fn rules(section: &mut Section<'_, '_>, file: &Setting<PathBuf>, slos: &[SloConfig]) -> Option<Rules> {
    let name = file.value.display().to_string();
    let text = match bounded(&file.value, MAX_RULES) {
        Ok(text) => text,
        Err(error) => {
            section.refuse("rules", &file.place, format!("{name}: cannot be read: {error}"));
            return None;
        }
    };
    let parsed = Rules::parse(&text, &|name| section.environment(name));
    let names: Vec<&str> = slos.iter().map(|slo| &*slo.name).collect();
    let (parsed, mistakes) = match parsed {
        Ok(parsed) => {
            let unknown = parsed.rules.unknown_slos(&names);
            (Some(parsed), unknown)
        }
        Err(mistakes) => (None, mistakes),
    };
    for mistake in &mistakes {
        section.refuse("rules", &file.place, format!("{name}:{mistake}"));
    }
    let parsed = parsed?;
    for warning in &parsed.warnings {
        section.warn(format!("{name}:{warning}"));
    }
    Some(parsed.rules)
}

/// Reads a text of at most so many bytes.
pub(super) fn bounded(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("longer than {most} bytes")));
    }
    Ok(text)
}
