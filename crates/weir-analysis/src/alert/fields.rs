//! Reading mappings: known keys, each at most once, and nothing else.

use std::time::Duration;

use super::mistake::{Mistakes, did_you_mean, quoted};
use super::unit::duration;
use super::yaml::{Node, Value};

/// A mapping whose keys are all known.
pub(super) struct Fields<'a> {
    pub(super) node: &'a Node,
    found: Vec<(&'static str, &'a Node)>,
}

impl<'a> Fields<'a> {
    /// Takes a mapping; keys that are not known or stand twice are noted. `None`: it is none.
    pub(super) fn new(
        node: &'a Node,
        what: &str,
        known: &[&'static str],
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            let allowed = known.join(", ");
            mistakes.add(node.place, format!("{what} is a mapping with {allowed}, not {}", node.kind()));
            return None;
        };
        let mut found: Vec<(&'static str, &Node)> = Vec::new();
        for (key, value) in entries {
            let Some(name) = key.text() else {
                mistakes.add(key.place, format!("a key of {what} is a word, not {}", key.kind()));
                continue;
            };
            let Some(&name) = known.iter().find(|known| **known == name) else {
                let hint = did_you_mean(name, known.iter().copied());
                let allowed = known.join(", ");
                mistakes.add(
                    key.place,
                    format!("{} is no key of {what}{hint} (keys are {allowed})", quoted(name)),
                );
                continue;
            };
            if found.iter().any(|(before, _)| *before == name) {
                mistakes.add(key.place, format!("{name} stands twice"));
            } else {
                found.push((name, value));
            }
        }
        Some(Self { node, found })
    }

    /// The value of a key. An empty one is as none.
    pub(super) fn node(&self, key: &str) -> Option<&'a Node> {
        let (_, node) = self.found.iter().find(|(name, _)| *name == key)?;
        (node.value != Value::Nothing).then_some(*node)
    }

    /// The one that stands, of two names for one thing.
    pub(super) fn either(&self, one: &str, other: &str, mistakes: &mut Mistakes) -> Option<&'a Node> {
        match (self.node(one), self.node(other)) {
            (Some(_), Some(second)) => {
                mistakes.add(second.place, format!("{one} and {other} are the same: write one of them"));
                None
            }
            (one, other) => one.or(other),
        }
    }

    /// A text of at most `longest` bytes.
    pub(super) fn text(&self, key: &str, longest: usize, mistakes: &mut Mistakes) -> Option<&'a str> {
        text(self.node(key)?, key, longest, mistakes)
    }

    /// A duration.
    pub(super) fn duration(&self, key: &str, mistakes: &mut Mistakes) -> Option<Duration> {
        let node = self.node(key)?;
        let read = duration(text(node, key, 64, mistakes)?);
        read.map_err(|message| mistakes.add(node.place, format!("{key}: {message}"))).ok()
    }

    /// A whole number in a range.
    pub(super) fn number(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<u32>,
        mistakes: &mut Mistakes,
    ) -> Option<u32> {
        let node = self.node(key)?;
        let written = text(node, key, 64, mistakes)?;
        let number = written.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (from, to) = (range.start(), range.end());
            let written = quoted(written);
            mistakes.add(node.place, format!("{key} is a whole number from {from} to {to}, not {written}"));
        }
        number
    }

    /// `true` or `false`.
    pub(super) fn switch(&self, key: &str, mistakes: &mut Mistakes) -> Option<bool> {
        let node = self.node(key)?;
        let written = text(node, key, 64, mistakes)?;
        let switch = written.parse().ok();
        if switch.is_none() {
            mistakes.add(node.place, format!("{key} is true or false, not {}", quoted(written)));
        }
        switch
    }

    /// One of a closed set of words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&'static str, T)],
        mistakes: &mut Mistakes,
    ) -> Option<T> {
        let node = self.node(key)?;
        let written = text(node, key, 64, mistakes)?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == written) {
            return Some(*choice);
        }
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        let hint = did_you_mean(written, names.iter().copied());
        let allowed = names.join(", ");
        mistakes.add(node.place, format!("{} is no {key}{hint} (allowed are {allowed})", quoted(written)));
        None
    }
}

/// A text that is not empty and of at most `longest` bytes.
pub(super) fn text<'a>(
    node: &'a Node,
    what: &str,
    longest: usize,
    mistakes: &mut Mistakes,
) -> Option<&'a str> {
    let Some(text) = node.text() else {
        mistakes.add(node.place, format!("{what} is a text, not {}", node.kind()));
        return None;
    };
    if text.is_empty() || text.len() > longest {
        mistakes.add(node.place, format!("{what} has 1 to {longest} bytes, not {}", text.len()));
        return None;
    }
    Some(text)
}

/// The entries of a mapping with free keys, such as labels: at most 32 of them, texts each.
pub(super) fn texts<'a>(
    node: &'a Node,
    what: &str,
    longest: usize,
    mistakes: &mut Mistakes,
) -> Vec<(&'a Node, &'a str, &'a Node, &'a str)> {
    let Value::Map(entries) = &node.value else {
        mistakes.add(node.place, format!("{what} is a mapping of texts, not {}", node.kind()));
        return Vec::new();
    };
    if entries.len() > MAX_ENTRIES {
        mistakes.add(node.place, format!("{what} has {} entries; at most {MAX_ENTRIES}", entries.len()));
        return Vec::new();
    }
    let mut found: Vec<(&Node, &str, &Node, &str)> = Vec::new();
    for (key, value) in entries {
        let Some(name) = text(key, "a key", 128, mistakes) else { continue };
        let Some(value_text) = text(value, name, longest, mistakes) else { continue };
        if found.iter().any(|(_, before, _, _)| *before == name) {
            mistakes.add(key.place, format!("{name} stands twice"));
            continue;
        }
        found.push((key, name, value, value_text));
    }
    found
}

const MAX_ENTRIES: usize = 32;
