//! A JSON document as a tree that grows while there is room, and stays as it is where the document
//! breaks off, or is none from there on.

use std::fmt;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::room::Room;

/// What stands beside the words of a message, and may be many times as long.
const ASIDES: [&str; 8] = [
    "annotations",
    "encrypted_content",
    "logprobs",
    "prompt_logprobs",
    "prompt_token_ids",
    "signature",
    "token_ids",
    "usage",
];

/// Where images, audio and files stand.
const BLOBS: [&str; 4] = ["b64_json", "data", "file_data", "images"];

/// A longer text in such a place is no name and no address.
const BLOB: usize = 256;

/// What a model wrote for a tool: its keys are of the tool's own choosing.
const FOREIGN: [&str; 2] = ["arguments", "input"];

/// Reads a document at hand, and of its outermost object, or of the objects of its outermost array, these
/// keys only. Also says whether it came to its end.
pub(super) fn of_slice(bytes: &[u8], keys: &[&str], room: &mut Room) -> (Value, bool) {
    grow(&mut serde_json::Deserializer::from_slice(bytes), keys, room)
}

/// The same for a document that lies in several places.
pub(super) fn of_parts<'a>(
    mut parts: impl Iterator<Item = &'a [u8]>,
    keys: &[&str],
    room: &mut Room,
) -> (Value, bool) {
    let first = parts.next().unwrap_or_default();
    match parts.next() {
        None => of_slice(first, keys, room),
        Some(second) => {
            let joined = Joined { current: first, rest: std::iter::once(second).chain(parts) };
            grow(&mut serde_json::Deserializer::from_reader(joined), keys, room)
        }
    }
}

fn grow<'de, R: serde_json::de::Read<'de>>(
    document: &mut serde_json::Deserializer<R>,
    keys: &[&str],
    room: &mut Room,
) -> (Value, bool) {
    let mut into = Value::Null;
    let rules = Rules { keys: Some(keys), foreign: false, blob: false };
    let whole = Growing { into: &mut into, room, rules }.deserialize(document).is_ok();
    (into, whole)
}

/// Several slices as one.
struct Joined<'a, I> {
    current: &'a [u8],
    rest: I,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Read for Joined<'a, I> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            let Some(next) = self.rest.next() else { return Ok(0) };
            self.current = next;
        }
        self.current.read(into)
    }
}

/// What holds of a value by where it stands.
#[derive(Clone, Copy)]
struct Rules<'k> {
    /// The keys that are read; all of them, where absent.
    keys: Option<&'k [&'k str]>,
    foreign: bool,
    blob: bool,
}

impl<'k> Rules<'k> {
    fn reads(&self, key: &str) -> bool {
        match self.keys {
            Some(keys) => keys.contains(&key),
            None => self.foreign || !ASIDES.contains(&key),
        }
    }

    fn below(&self, key: &str) -> Rules<'k> {
        let foreign = self.foreign || (self.keys.is_none() && FOREIGN.contains(&key));
        Rules { keys: None, foreign, blob: !foreign && (self.blob || BLOBS.contains(&key)) }
    }
}

/// A value on its way into the tree.
struct Growing<'r> {
    into: &'r mut Value,
    room: &'r mut Room,
    rules: Rules<'r>,
}

impl<'de> DeserializeSeed<'de> for Growing<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl Growing<'_> {
    fn put<E: Error>(self, value: Value) -> Result<(), E> {
        if !self.room.value() {
            return Err(no_room());
        }
        *self.into = value;
        Ok(())
    }
}

impl<'de> Visitor<'de> for Growing<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.put(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.put(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.put(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.put(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.put(Value::Null)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if !self.room.value() {
            return Err(no_room());
        }
        let remark = left_out(text, self.rules);
        let text = remark.as_deref().unwrap_or(text);
        let kept = self.room.text(text);
        *self.into = Value::String(kept.to_owned());
        if kept.len() < text.len() { Err(no_room()) } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let Self { into, room, rules } = self;
        if !room.value() {
            return Err(no_room());
        }
        let mut items = Vec::new();
        let end = loop {
            let mut item = Value::Null;
            let seed = Growing { into: &mut item, room: &mut *room, rules };
            match from.next_element_seed(seed) {
                Ok(Some(())) => items.push(item),
                Ok(None) => break Ok(()),
                Err(error) => {
                    // What there is of the last one.
                    items.extend((!item.is_null()).then_some(item));
                    break Err(error);
                }
            }
        };
        *into = Value::Array(items);
        end
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let Self { into, room, rules } = self;
        if !room.value() {
            return Err(no_room());
        }
        let mut object = Map::new();
        let end = fill(&mut object, &mut from, room, rules);
        *into = Value::Object(object);
        end
    }
}

fn fill<'de, A: MapAccess<'de>>(
    object: &mut Map<String, Value>,
    from: &mut A,
    room: &mut Room,
    rules: Rules<'_>,
) -> Result<(), A::Error> {
    while let Some(key) = from.next_key::<String>()? {
        if !rules.reads(&key) {
            from.next_value::<IgnoredAny>()?;
            continue;
        }
        if room.text(&key).len() < key.len() {
            return Err(no_room());
        }
        let mut value = Value::Null;
        let seed = Growing { into: &mut value, room: &mut *room, rules: rules.below(&key) };
        let end = from.next_value_seed(seed);
        if end.is_ok() || !value.is_null() {
            object.insert(key, value);
        }
        end?;
    }
    Ok(())
}

/// What is kept in place of an image, a sound or a file.
fn left_out(text: &str, rules: Rules<'_>) -> Option<String> {
    if rules.foreign || text.len() <= BLOB {
        return None;
    }
    let address = text.starts_with("data:").then(|| text.split(',').next().unwrap_or_default());
    let address = address.filter(|address| address.len() <= BLOB);
    if address.is_none() && !rules.blob {
        return None;
    }
    let address = address.map(|address| format!("{address},")).unwrap_or_default();
    Some(format!("{address}[{} bytes left out]", text.len() - address.len()))
}

fn no_room<E: Error>() -> E {
    E::custom("no room")
}
