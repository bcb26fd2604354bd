//! What an error says of itself, in the shapes that servers give it: an object under `error`, a string
//! there, flat, in an array, or under `detail`.

use crate::json::walk::{Kind, Walker};

/// As much of a message is searched.
const PROSE_LIMIT: usize = 512;

/// What an error says of itself, as raw JSON values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorText<'a> {
    pub(crate) code: Option<&'a [u8]>,
    pub(crate) kind: Option<&'a [u8]>,
    pub(crate) message: Option<&'a [u8]>,
    /// Azure's second, closer code.
    pub(crate) inner_code: Option<&'a [u8]>,
}

impl<'a> ErrorText<'a> {
    /// From a whole error body, or the beginning of one.
    pub(crate) fn of_body(body: &'a [u8]) -> Self {
        let mut walker = Walker::new(body);
        let mut said = None;
        if walker.peek() == Kind::Array {
            walker.array(|walker| {
                let document = Self::walk_document(walker);
                said.get_or_insert(document);
            });
        } else {
            said = Some(Self::walk_document(&mut walker));
        }
        said.unwrap_or_default()
    }

    /// From an error object at the walker's place, or one that holds it under `error` or `detail`.
    fn walk_document(walker: &mut Walker<'a>) -> Self {
        let (mut flat, mut nested) = (Self::default(), Self::default());
        walker.object(|walker, key| match key {
            b"error" | b"detail" => nested = Self::walk(walker).or(nested),
            _ => flat.field(walker, key),
        });
        nested.or(flat)
    }

    /// From the value of `error`: an object, or the message itself.
    pub(crate) fn walk(walker: &mut Walker<'a>) -> Self {
        let mut said = Self::default();
        match walker.peek() {
            Kind::Object => {
                walker.object(|walker, key| said.field(walker, key));
            }
            Kind::String => said.message = whole(walker),
            _ => walker.skip(),
        }
        said
    }

    /// Takes one field of an error object.
    pub(crate) fn field(&mut self, walker: &mut Walker<'a>, key: &[u8]) {
        let slot = match key {
            b"code" => &mut self.code,
            b"type" | b"error_type" | b"status" => &mut self.kind,
            b"message" => &mut self.message,
            b"innererror" => {
                walker.object(|walker, key| match key {
                    b"code" => self.inner_code = whole(walker),
                    _ => walker.skip(),
                });
                return;
            }
            _ => return walker.skip(),
        };
        if matches!(walker.peek(), Kind::String | Kind::Number) {
            // Past the value in any case: of a repeated key the first counts.
            let value = whole(walker);
            *slot = slot.or(value);
        } else {
            walker.skip();
        }
    }

    /// Whether it says anything at all.
    pub(crate) fn is_something(&self) -> bool {
        self.code.or(self.kind).or(self.message).is_some()
    }

    /// This one, with what it leaves open taken from the other.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            code: self.code.or(other.code),
            kind: self.kind.or(other.kind),
            message: self.message.or(other.message),
            inner_code: self.inner_code.or(other.inner_code),
        }
    }

    /// Whether a code or the type is one of these words.
    pub(super) fn names(&self, words: &[&str]) -> bool {
        [self.code, self.kind, self.inner_code].into_iter().flatten().any(|raw| {
            let word = raw.trim_ascii();
            let word = word.strip_prefix(b"\"").and_then(|w| w.strip_suffix(b"\"")).unwrap_or(word);
            words.iter().any(|known| known.as_bytes() == word)
        })
    }

    /// Whether the beginning of the message holds one of these phrases, which are in lower case.
    pub(super) fn tells(&self, phrases: &[&str]) -> bool {
        let prose = self.message.unwrap_or_default();
        let prose = prose[..prose.len().min(PROSE_LIMIT)].to_ascii_lowercase();
        phrases.iter().any(|known| memchr::memmem::find(&prose, known.as_bytes()).is_some())
    }
}

/// The next value, unless it is cut off.
fn whole<'a>(walker: &mut Walker<'a>) -> Option<&'a [u8]> {
    Some(walker.raw()).filter(|raw| !raw.is_empty())
}
