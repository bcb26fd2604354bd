//! Takes out of the content what is not to leave the house.

use std::borrow::Cow;

use regex::Regex;
use serde_json::{Map, Value};
use weir_core::content::{Part, Said};

/// What stands in place of a match.
const REDACTED: &str = "[redacted]";

/// Fields whose values are words of the API, and no content.
const WORDS: [&str; 2] = ["role", "type"];

/// What is taken out: every match of each pattern, one pattern after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Redaction<'r>(pub(super) &'r [Regex]);

impl Redaction<'_> {
    pub(super) fn text(self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for pattern in self.0 {
            if let Cow::Owned(redacted) = pattern.replace_all(&text, regex::NoExpand(REDACTED)) {
                text = Cow::Owned(redacted);
            }
        }
        text.into_owned()
    }

    pub(super) fn object(self, object: &Map<String, Value>) -> Map<String, Value> {
        let field = |(key, value): (&String, &Value)| {
            let is_word = WORDS.contains(&key.as_str()) && value.is_string();
            (key.clone(), if is_word { value.clone() } else { self.value(value) })
        };
        object.iter().map(field).collect()
    }

    pub(super) fn choice(self, choice: &Said) -> Said {
        let parts = choice.parts.iter().map(|part| self.part(part)).collect();
        Said { index: choice.index, parts, finish_reason: choice.finish_reason.clone() }
    }

    fn value(self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(object) => Value::Object(self.object(object)),
            other => other.clone(),
        }
    }

    fn part(self, part: &Part) -> Part {
        match part {
            Part::Text(text) => Part::Text(self.text(text)),
            Part::Reasoning(text) => Part::Reasoning(self.text(text)),
            Part::Refusal(text) => Part::Refusal(self.text(text)),
            Part::Call { id, name, arguments } => {
                Part::Call { id: id.clone(), name: name.clone(), arguments: self.text(arguments) }
            }
        }
    }
}
