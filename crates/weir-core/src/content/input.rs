//! What was asked, in the words of its dialect.

use serde_json::{Map, Value};

use super::CaptureLimit;
use super::room::Room;
use super::tree;
use crate::dialect::Dialect;

/// What was asked: the fields of the body that hold what the model is told, as they stand there.
///
/// They are held as JSON text, which takes no more memory than it has bytes: a tree may take many times that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The fields, as the text of one JSON object. In place of images, audio and files stands how long they
    /// are.
    pub body: Box<str>,
    /// There is more than was kept.
    pub cut: bool,
}

impl Input {
    /// Reads what was asked out of a body, or its beginning, in as many parts as it came in. `None` where
    /// there is nothing of that kind.
    pub fn read<'a>(
        dialect: Dialect,
        body_parts: impl Iterator<Item = &'a [u8]>,
        limit: CaptureLimit,
    ) -> Option<Self> {
        let keys = keys(dialect);
        if keys.is_empty() {
            return None;
        }
        let mut room = Room::new(limit.0);
        match tree::of_parts(body_parts, keys, &mut room) {
            (Value::Object(fields), whole) if !fields.is_empty() => {
                let body = Value::Object(fields).to_string().into();
                Some(Self { body, cut: room.cut || !whole })
            }
            _ => None,
        }
    }

    /// The fields.
    pub fn fields(&self) -> Map<String, Value> {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// The fields that hold what the model is told.
fn keys(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Chat | Dialect::OllamaChat => &["messages"],
        Dialect::Completions => &["prompt", "suffix"],
        Dialect::Embeddings => &["input", "prompt"],
        Dialect::Responses => &["input", "instructions"],
        Dialect::Messages => &["messages", "system"],
        Dialect::OllamaGenerate => &["prompt", "suffix", "system"],
        Dialect::TgiGenerate => &["inputs", "text"],
        Dialect::Rerank => &["documents", "query"],
        // A form, and for the most part audio.
        Dialect::Transcription => &[],
        Dialect::Other => &[],
    }
}
