//! Picks small fields out of a `multipart/form-data` body that comes in pieces, at bounded memory.
//! Files pass by unread.

use super::parameters::parameter;

/// RFC 2046 allows boundaries of 70 characters.
const BOUNDARY_LIMIT: usize = 70;
/// Parts whose head is longer are none of ours.
const HEAD_LIMIT: usize = 1024;
/// Longer values are taken for absent.
const VALUE_LIMIT: usize = 1024;

/// A search for the values of some fields.
#[derive(Debug)]
pub(super) struct Form {
    names: &'static [&'static str],
    values: Vec<Option<Box<[u8]>>>,
    /// CR, LF, `--` and the boundary. The first of these needs no line end before it.
    delimiter: Vec<u8>,
    place: Place,
    /// How many bytes of what ends this place were just met.
    met: usize,
    /// The head or the value of the part at hand.
    held: Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first part, or in the content of one; of this field, if it is one of ours.
    Content(Option<usize>),
    /// Behind a delimiter, on its line.
    Delimiter(Option<usize>),
    Head,
    /// Behind the last part.
    End,
}

/// Bytes kept up to a limit.
#[derive(Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    too_long: bool,
}

/// A part's head ends at an empty line. The line end before it may be that of the delimiter.
const HEAD_END: &[u8] = b"\r\n\r\n";

impl Form {
    /// A search in a body of this content type; `None` if that is no form, or names no boundary.
    pub(super) fn of(content_type: &[u8], names: &'static [&'static str]) -> Option<Self> {
        let media = content_type.split(|&byte| byte == b';').next()?.trim_ascii();
        if !media.eq_ignore_ascii_case(b"multipart/form-data") {
            return None;
        }
        let boundary = parameter(content_type, "boundary")?;
        if boundary.is_empty() || boundary.len() > BOUNDARY_LIMIT || boundary.contains(&b'\r') {
            return None;
        }
        Some(Self {
            names,
            values: vec![None; names.len()],
            delimiter: [b"\r\n--", boundary].concat(),
            place: Place::Content(None),
            met: 2,
            held: Held::default(),
        })
    }

    /// The value of a field, if it came whole and was not too long. Of a repeated field the last.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.values[at].as_deref()
    }

    /// Whether the form was closed.
    pub(super) fn is_complete(&self) -> bool {
        self.place == Place::End
    }

    /// Reads on.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let read = match self.place {
                Place::Content(field) => self.content(bytes, field),
                Place::Delimiter(field) => self.delimiter(bytes[0], field),
                Place::Head => self.head(bytes[0]),
                Place::End => return,
            };
            bytes = &bytes[read..];
        }
    }

    /// Reads content, and says how much. Only a CR can begin its end, so that a file is not looked at
    /// byte by byte.
    fn content(&mut self, bytes: &[u8], field: Option<usize>) -> usize {
        if self.met == 0 {
            let plain = memchr::memchr(b'\r', bytes).unwrap_or(bytes.len());
            if plain > 0 {
                self.keep(field, &bytes[..plain]);
                return plain;
            }
        }
        let byte = bytes[0];
        if byte == self.delimiter[self.met] {
            self.met += 1;
            if self.met == self.delimiter.len() {
                self.met = 0;
                self.place = Place::Delimiter(field);
            }
            return 1;
        }
        self.unmet(field);
        if byte == b'\r' {
            self.met = 1;
        } else {
            self.keep(field, &[byte]);
        }
        1
    }

    /// What looked like the delimiter was content.
    fn unmet(&mut self, field: Option<usize>) {
        if field.is_some() {
            self.held.push(&self.delimiter[..self.met], VALUE_LIMIT);
        }
        self.met = 0;
    }

    /// Behind a delimiter stand blanks and a line end, or `--` if it is the last. `met` counts dashes,
    /// or the CR.
    fn delimiter(&mut self, byte: u8, field: Option<usize>) -> usize {
        const CR: usize = 3;
        match (byte, self.met) {
            (b'-', 0) => self.met = 1,
            (b'-', 1) => self.end_part(field, Place::End),
            (b' ' | b'\t', 0) => {}
            (b'\r', 0) => self.met = CR,
            (b'\n', CR) => {
                self.end_part(field, Place::Head);
                self.met = 2;
            }
            // The boundary is only the beginning of something else. Its value is not ours to mend.
            _ => {
                self.held.too_long = true;
                self.met = usize::from(byte == b'\r');
                self.place = Place::Content(field);
            }
        }
        1
    }

    fn end_part(&mut self, field: Option<usize>, next: Place) {
        let value = std::mem::take(&mut self.held);
        if let Some(field) = field {
            self.values[field] = (!value.too_long).then(|| value.bytes.into_boxed_slice());
        }
        self.met = 0;
        self.place = next;
    }

    fn head(&mut self, byte: u8) -> usize {
        self.held.push(&[byte], HEAD_LIMIT);
        if byte == HEAD_END[self.met] {
            self.met += 1;
        } else {
            self.met = usize::from(byte == b'\r');
        }
        if self.met == HEAD_END.len() {
            let head = std::mem::take(&mut self.held);
            let field = if head.too_long { None } else { self.field(&head.bytes) };
            self.met = 0;
            self.place = Place::Content(field);
        }
        1
    }

    /// The field that a part's head names; `None` for a file, and for one that is not ours.
    fn field(&self, head: &[u8]) -> Option<usize> {
        let value = head.split(|&byte| byte == b'\n').find_map(disposition)?;
        if parameter(value, "filename").is_some() || parameter(value, "filename*").is_some() {
            return None;
        }
        let name = parameter(value, "name")?;
        self.names.iter().position(|known| known.as_bytes() == name)
    }

    fn keep(&mut self, field: Option<usize>, bytes: &[u8]) {
        if field.is_some() {
            self.held.push(bytes, VALUE_LIMIT);
        }
    }
}

impl Held {
    fn push(&mut self, bytes: &[u8], limit: usize) {
        if self.too_long || self.bytes.len() + bytes.len() > limit {
            self.too_long = true;
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// The value of a line that is the `content-disposition` header.
fn disposition(line: &[u8]) -> Option<&[u8]> {
    let colon = memchr::memchr(b':', line)?;
    let (name, value) = line.split_at(colon);
    name.eq_ignore_ascii_case(b"content-disposition").then(|| value[1..].trim_ascii())
}
