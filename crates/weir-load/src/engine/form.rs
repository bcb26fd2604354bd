//! `multipart/form-data`: its text fields, and how large its files are.

use std::collections::BTreeMap;

use memchr::memmem;

use super::refusal::Refusal;

/// The most parts of a form.
const MAX_PARTS: usize = 64;

/// A form that was sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    texts: BTreeMap<String, String>,
    /// The length of each file in bytes, by the name of its field.
    files: BTreeMap<String, u64>,
}

impl Form {
    /// Reads a body with its content type.
    pub(crate) fn parse(content_type: &str, body: &[u8]) -> Result<Self, Refusal> {
        let boundary = boundary(content_type)
            .ok_or_else(|| Refusal::invalid("Content-Type must be multipart/form-data with a boundary."))?;
        let mark = format!("\r\n--{boundary}");
        // The first boundary has no line end before it, unless a preamble is there.
        let first = mark.trim_start();
        let start = memmem::find(body, first.as_bytes()).ok_or_else(broken)? + first.len();
        let mut form = Form::default();
        let mut rest = body.get(start..).unwrap_or_default();
        for _ in 0..MAX_PARTS {
            if rest.starts_with(b"--") {
                return Ok(form);
            }
            let end = memmem::find(rest, mark.as_bytes()).ok_or_else(broken)?;
            form.take(rest.get(..end).unwrap_or_default())?;
            rest = rest.get(end + mark.len()..).unwrap_or_default();
        }
        Err(Refusal::invalid(format!("A form has at most {MAX_PARTS} parts.")))
    }

    /// Takes one part: its head, an empty line, its content.
    fn take(&mut self, part: &[u8]) -> Result<(), Refusal> {
        let split = memmem::find(part, b"\r\n\r\n").ok_or_else(broken)?;
        let head = String::from_utf8_lossy(part.get(..split).unwrap_or_default()).into_owned();
        let content = part.get(split + 4..).unwrap_or_default();
        let name = parameter(&head, "name").ok_or_else(broken)?;
        if parameter(&head, "filename").is_some() {
            self.files.insert(name, content.len() as u64);
        } else {
            self.texts.insert(name, String::from_utf8_lossy(content).into_owned());
        }
        Ok(())
    }

    /// A text field.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// A flag, down where it is absent.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value.eq_ignore_ascii_case("true") || value == "1")
    }

    /// The length of a file that has to be there, in bytes.
    pub(crate) fn file(&self, name: &str) -> Result<u64, Refusal> {
        self.files
            .get(name)
            .copied()
            .ok_or_else(|| Refusal::of_field("missing", &format!("body.{name}"), "Field required"))
    }
}

fn broken() -> Refusal {
    Refusal::invalid("There was an error parsing the body.")
}

fn boundary(content_type: &str) -> Option<String> {
    let form = content_type.trim_start().to_ascii_lowercase().starts_with("multipart/form-data");
    form.then(|| parameter(content_type, "boundary")).flatten().filter(|boundary| !boundary.is_empty())
}

/// A parameter of a header, with or without quotes.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split([';', '\r', '\n']).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        key.trim().eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=\"x--y\"";

    fn body(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut body = String::new();
        for (disposition, content) in parts {
            body.push_str(&format!(
                "--x--y\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n"
            ));
        }
        body.push_str("--x--y--\r\n");
        body.into_bytes()
    }

    #[test]
    fn texts_and_files_are_told_apart() {
        let body = body(&[
            ("name=\"model\"", "whisper"),
            ("name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav", "RIFF\r\n\r\n--x--"),
            ("name=stream", "True"),
        ]);
        let form = Form::parse(TYPE, &body).unwrap();
        assert_eq!(form.text("model"), Some("whisper"));
        assert_eq!(form.file("file"), Ok(13));
        assert!(form.flag("stream") && !form.flag("other"));
        assert!(form.file("other").unwrap_err().message.contains("body.other"));
    }

    #[test]
    fn what_is_no_form_is_refused() {
        assert!(Form::parse("application/json", b"{}").is_err());
        assert!(Form::parse("multipart/form-data", b"").is_err());
        assert!(Form::parse(TYPE, b"no boundary").is_err());
        assert!(Form::parse(TYPE, b"--x--y\r\nContent-Disposition: form-data; name=a\r\n\r\nb").is_err());
        assert!(Form::parse(TYPE, &body(&[("filename=b", "c")])).is_err());
        assert!(Form::parse(TYPE, &body(&[("name=a", "b"); 65])).is_err());
        assert_eq!(Form::parse(TYPE, &body(&[])), Ok(Form::default()));
    }
}
