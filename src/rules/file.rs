//! Reads a file of rules, and holds it against the SLOs that there are.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use weir_analysis::alert::{Mistake, Parsed, Rules};

/// A longer file is none of rules.
const MAX_FILE: u64 = 1 << 20;

/// A file without mistakes.
pub(crate) struct Written {
    /// What it says.
    pub(crate) rules: Rules,
    /// What whoever wrote it should know, one line each.
    pub(crate) warnings: Vec<String>,
}

/// Reads a file. SLOs that it names have to be among `slos`; where it is not known which there are
/// (`None`), that is not asked.
///
/// # Errors
///
/// Every mistake, one line each: `file:line:column: what is wrong`.
pub(crate) fn read(path: &Path, slos: Option<&[&str]>) -> Result<Written, String> {
    let name = path.display().to_string().replace(char::is_control, "?");
    let text = text(path).map_err(|error| format!("{name}: cannot be read: {error}"))?;
    let lines = |mistakes: Vec<Mistake>| -> Vec<String> {
        mistakes.iter().map(|mistake| format!("{name}:{mistake}")).collect()
    };
    let Parsed { rules, warnings } =
        Rules::parse(&text, &|name| std::env::var(name).ok()).map_err(|wrong| lines(wrong).join("\n"))?;
    let unknown = slos.map(|known| rules.unknown_slos(known)).unwrap_or_default();
    if !unknown.is_empty() {
        return Err(lines(unknown).join("\n"));
    }
    Ok(Written { rules, warnings: lines(warnings) })
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_FILE {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1MiB")),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::NamedTempFile;

    use super::read;

    fn file(text: &[u8]) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        file
    }

    fn wrong(text: &[u8], slos: Option<&[&str]>) -> String {
        let file = file(text);
        let told = read(file.path(), slos).map(|_| ()).unwrap_err();
        told.replace(&file.path().display().to_string(), "F")
    }

    #[test]
    fn every_mistake_stands_with_its_place() {
        let two = b"- {name: a, condition: p95_ttft > 2}\n- {name: b, condition: rps > 1, colour: red}\n";
        let told = wrong(two, None);
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines.len() == 2 && lines[0].starts_with("F:1:") && lines[1].starts_with("F:2:"), "{told}");
    }

    #[test]
    fn slos_have_to_be_there_where_it_is_known_which_are() {
        let rule = b"- {name: a, condition: \"burn_rate(tftt, 1h) > 2\"}\n";
        assert!(read(file(rule).path(), None).is_ok());
        let told = wrong(rule, Some(&["ttft", "itl"]));
        assert!(told.starts_with("F:1:") && told.contains("did you mean \"ttft\"?"), "{told}");
    }

    #[test]
    fn what_is_no_text_or_too_long_or_missing_is_told() {
        assert!(wrong(b"\xff\xfe\x00", None).starts_with("F: cannot be read: "));
        let told = wrong(&vec![b'#'; (1 << 20) + 1], None);
        assert_eq!(told, "F: cannot be read: larger than 1MiB");
        let told = read(std::path::Path::new("/nowhere/at/all"), None).map(|_| ()).unwrap_err();
        assert!(told.starts_with("/nowhere/at/all: cannot be read: "), "{told}");
    }
}
