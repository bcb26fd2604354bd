//! A YAML file as a tree in which every value knows its place.
//!
//! serde-saphyr reads it: of the kept YAML crates it is the one that gives the place of every key and value
//! (`Spanned`) and has bounds on depth, size and what aliases unfold to.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Location, Spanned};

use super::mistake::{Mistake, Place};

/// A file may be this long.
pub(super) const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Values and keys of one file, those that aliases repeat included.
const MAX_NODES: usize = 50_000;
/// How deep values may stand in each other.
const MAX_DEPTH: usize = 16;
/// Anchors, and as many aliases.
const MAX_ANCHORS: usize = 256;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: Place,
}

/// What stands in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Nothing,
    Text(Text),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// A text, a number or a word such as `true`, as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) text: String,
    style: Style,
}

/// How the text stands in the file, as far as places in it can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Plain,
    Single,
    Double,
    /// Over several lines, or with escapes: only where it begins is known.
    Other,
}

impl Node {
    /// The text, if this is one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// The place of the byte `offset` of the text; where the text begins, if that cannot be told.
    pub(super) fn place_of(&self, offset: usize) -> Place {
        let Value::Text(text) = &self.value else { return self.place };
        let Some(before) = text.text.get(..offset) else { return self.place };
        let twice = |marks: &[char]| before.chars().filter(|c| marks.contains(c)).count();
        let further = match text.style {
            Style::Plain => before.chars().count(),
            Style::Single => 1 + before.chars().count() + twice(&['\'']),
            Style::Double => 1 + before.chars().count() + twice(&['"', '\\']),
            Style::Other => 0,
        };
        Place { column: self.place.column + further as u64, ..self.place }
    }

    /// What kind of value it is, for a message.
    pub(super) const fn kind(&self) -> &'static str {
        match self.value {
            Value::Nothing => "nothing",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// Reads a file.
pub(super) fn read(source: &str) -> Result<Node, Mistake> {
    let at = |location: Option<Location>| location.map_or(Place { line: 1, column: 1 }, place);
    if source.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", source.len());
        return Err(Mistake { place: at(None), message });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_anchors: MAX_ANCHORS,
            max_aliases: MAX_ANCHORS,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_NODES },
        // A key that stands twice is told with all other mistakes.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::Merge,
        strict_booleans: true,
    };
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(source, options).map_err(|error| {
        // The parser says the place at the end once more.
        let told = error.without_snippet().to_string();
        let message = told.split(" at line ").next().unwrap_or(&told);
        Mistake {
            place: at(error.location()),
            message: format!("this is not YAML as it is read here: {message}"),
        }
    })?;
    Ok(node(raw, source))
}

fn place(location: Location) -> Place {
    Place { line: location.line().max(1), column: location.column().max(1) }
}

/// A value as the parser gives it.
enum Raw {
    Nothing,
    /// A text, taken out of its quotes.
    Text(String),
    /// A number or a boolean. It is read from the file as it stands there, for `1.10` is not `1.1`.
    Word(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

fn node(raw: Spanned<Raw>, source: &str) -> Node {
    let written = written(&raw, source);
    let value = match raw.value {
        Raw::Nothing => Value::Nothing,
        Raw::Text(text) => Value::Text(Text { style: style(&text, written), text }),
        Raw::Word(word) => {
            Value::Text(Text { text: written.map_or(word, str::to_owned), style: Style::Plain })
        }
        Raw::List(values) => Value::List(values.into_iter().map(|value| node(value, source)).collect()),
        Raw::Map(entries) => Value::Map(
            entries.into_iter().map(|(key, value)| (node(key, source), node(value, source))).collect(),
        ),
    };
    Node { value, place: place(raw.referenced) }
}

/// What stands in the file for a value; `None` for one that an alias repeats.
fn written<'a>(raw: &Spanned<Raw>, source: &'a str) -> Option<&'a str> {
    if raw.referenced != raw.defined {
        return None;
    }
    let span = raw.referenced.span();
    let begin = usize::try_from(span.byte_offset()?).ok()?;
    let length = usize::try_from(span.byte_len()?).ok()?;
    source.get(begin..begin.checked_add(length)?)
}

fn style(text: &str, written: Option<&str>) -> Style {
    let Some(written) = written.filter(|written| !written.contains(['\n', '\r'])) else {
        return Style::Other;
    };
    let inner = |quote: char| written.strip_prefix(quote)?.strip_suffix(quote);
    if written == text {
        Style::Plain
    } else if inner('\'').is_some_and(|inner| inner == text.replace('\'', "''")) {
        Style::Single
    } else if inner('"').is_some_and(|inner| inner == text.replace('\\', "\\\\").replace('"', "\\\"")) {
        Style::Double
    } else {
        Style::Other
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Raw;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Word(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Word(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Word(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Word(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Word(value.to_string()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Raw, E> {
        if value.is_finite() { Ok(Raw::Word(value.to_string())) } else { Err(E::custom("not a number")) }
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Raw::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            if entries.len() >= MAX_NODES {
                return Err(A::Error::custom("a mapping has too many entries"));
            }
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::{Node, Value, read};

    fn values(source: &str) -> Vec<Node> {
        match read(source).unwrap().value {
            Value::Map(entries) => entries.into_iter().map(|(_, value)| value).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn places_in_a_text_are_known_where_it_stands_on_one_line() {
        for (source, offset, expected) in [
            ("a: höh > 5", 5, "1:8"),
            ("a: \"höh > 5\"", 5, "1:9"),
            ("a: 'it''s > 5'", 5, "1:11"),
            (r#"a: "m = \"x\" y""#, 8, "1:15"),
            ("a: |\n  b > 5\n", 2, "2:3"),
            ("a: b\n  > 5\n", 2, "1:4"),
            (r#"a: "b \t > 5""#, 4, "1:4"),
        ] {
            assert_eq!(values(source)[0].place_of(offset).to_string(), expected, "{source}");
        }
    }

    #[test]
    fn words_stand_as_written() {
        let texts: Vec<_> = values("a: 1.10\nb: 0x10\nc: true\nd: y\ne: \"1\"\nf: 1e3\n")
            .iter()
            .map(|node| node.text().unwrap().to_owned())
            .collect();
        assert_eq!(texts, ["1.10", "0x10", "true", "y", "1", "1e3"]);
    }

    #[test]
    fn what_unfolds_without_end_is_turned_away() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let before = format!("*a{}, ", level - 1).repeat(10);
            bomb += &format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(", "));
        }
        let message = read(&bomb).unwrap_err().to_string();
        assert!(message.contains("this is not YAML as it is read here"), "{message}");
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&format!("{}x", "a: \n ".repeat(20))).is_err());
        let long = read(&"x".repeat(super::MAX_FILE_BYTES + 1)).unwrap_err().to_string();
        assert_eq!(long, "1:1: the file has 1048577 bytes; at most 1048576 are read");
    }
}
