//! One rule of a file.

use std::collections::BTreeMap;
use std::time::Duration;

use super::condition::Condition;
use super::fields::{Fields, text, texts};
use super::mistake::{Mistakes, Place, quoted};
use super::naming::is_name;
use super::rules::{Rule, Severity};
use super::yaml::{Node, Value};

const KEYS: [&str; 13] = [
    "name",
    "alert",
    "condition",
    "severity",
    "action",
    "actions",
    "for",
    "keep_firing_for",
    "labels",
    "annotations",
    "summary",
    "description",
    "runbook_url",
];
const MAX_LABEL_BYTES: usize = 256;
const MAX_ANNOTATION_BYTES: usize = 1024;
const MAX_ACTIONS: usize = 16;

/// A rule as it was read, with what is to be held against the rest of the file.
pub(super) struct Read<'a> {
    pub(super) name: Option<(Place, &'a str)>,
    /// The names of its actions, and where they stand.
    pub(super) actions: Vec<(Place, &'a str)>,
    /// The rule itself; `None`: something is wrong with it.
    pub(super) rule: Option<Rule>,
}

/// Reads a rule.
pub(super) fn rule<'a>(node: &'a Node, mistakes: &mut Mistakes) -> Option<Read<'a>> {
    let fields = Fields::new(node, "a rule", &KEYS, mistakes)?;
    let name = name(&fields, mistakes);
    let condition = condition(&fields, mistakes);
    let severity = match fields.node("severity") {
        Some(_) => fields.choice("severity", &Severity::ALL, mistakes),
        None => Some(Severity::Warning),
    };
    let actions = fields
        .either("action", "actions", mistakes)
        .map(|node| action_names(node, mistakes))
        .unwrap_or_default();
    let keep_firing_for = fields.duration("keep_firing_for", mistakes).unwrap_or(Duration::ZERO);
    let labels = labels(&fields, mistakes);
    let annotations = annotations(&fields, mistakes);
    let rule = name.zip(condition).zip(severity).map(|(((_, name), condition), severity)| Rule {
        name: name.into(),
        condition,
        severity,
        actions: actions.iter().map(|&(_, name)| name.into()).collect(),
        keep_firing_for,
        labels,
        annotations,
        place: fields.node("condition").map_or(node.place, |node| node.place),
    });
    Some(Read { name, actions, rule })
}

fn name<'a>(fields: &Fields<'a>, mistakes: &mut Mistakes) -> Option<(Place, &'a str)> {
    let both = fields.node("name").is_some() && fields.node("alert").is_some();
    let node = fields.either("name", "alert", mistakes);
    let Some(node) = node else {
        if !both {
            mistakes.add(fields.node.place, "the rule has no name");
        }
        return None;
    };
    let name = text(node, "name", 4_096, mistakes)?;
    if !is_name(name) {
        let name = quoted(name);
        mistakes.add(node.place, format!("{name} cannot name a rule: write 1 to 128 of A-Z a-z 0-9 _ : . -"));
        return None;
    }
    Some((node.place, name))
}

fn condition(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<Condition> {
    let Some(node) = fields.node("condition") else {
        mistakes.add(fields.node.place, "the rule has no condition");
        return None;
    };
    let Some(text) = node.text() else {
        mistakes.add(node.place, format!("condition is a text, not {}", node.kind()));
        return None;
    };
    let held = fields.duration("for", mistakes);
    match Condition::parse(text) {
        Ok(mut condition) => {
            if condition.held.is_some() && held.is_some() {
                let place = fields.node("for").map_or(node.place, |node| node.place);
                mistakes.add(place, "for stands in the condition already: write it once");
            }
            condition.held = condition.held.or(held);
            Some(condition)
        }
        Err(faults) => {
            for fault in faults {
                mistakes.add(node.place_of(fault.offset), fault.message);
            }
            None
        }
    }
}

fn action_names<'a>(node: &'a Node, mistakes: &mut Mistakes) -> Vec<(Place, &'a str)> {
    let nodes = match &node.value {
        Value::List(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if nodes.len() > MAX_ACTIONS {
        mistakes.add(node.place, format!("the rule has {} actions; at most {MAX_ACTIONS}", nodes.len()));
    }
    let mut names: Vec<(Place, &str)> = Vec::new();
    for node in nodes.iter().take(MAX_ACTIONS) {
        let Some(name) = text(node, "an action", 4_096, mistakes) else { continue };
        if !is_name(name) {
            mistakes.add(node.place, format!("{} cannot name an action", quoted(name)));
        } else if names.iter().any(|(_, before)| *before == name) {
            mistakes.add(node.place, format!("{name} stands twice"));
        } else {
            names.push((node.place, name));
        }
    }
    names
}

fn labels(fields: &Fields<'_>, mistakes: &mut Mistakes) -> BTreeMap<Box<str>, Box<str>> {
    let Some(node) = fields.node("labels") else { return BTreeMap::new() };
    let mut labels = BTreeMap::new();
    for (key, name, _, value) in texts(node, "labels", MAX_LABEL_BYTES, mistakes) {
        if !is_label(name) {
            let name = quoted(name);
            mistakes
                .add(key.place, format!("{name} cannot name a label: write A-Z a-z 0-9 _, no digit first"));
        } else if ["alertname", "severity"].contains(&name) {
            mistakes.add(key.place, format!("{name} is set by the rule's own keys"));
        } else {
            labels.insert(name.into(), value.into());
        }
    }
    labels
}

fn annotations(fields: &Fields<'_>, mistakes: &mut Mistakes) -> BTreeMap<Box<str>, Box<str>> {
    let mut annotations = BTreeMap::new();
    if let Some(node) = fields.node("annotations") {
        for (key, name, _, value) in texts(node, "annotations", MAX_ANNOTATION_BYTES, mistakes) {
            if !is_label(name) {
                let name = quoted(name);
                let message =
                    format!("{name} cannot name an annotation: write A-Z a-z 0-9 _, no digit first");
                mistakes.add(key.place, message);
                continue;
            }
            annotations.insert(name.into(), value.into());
        }
    }
    for key in ["summary", "description", "runbook_url"] {
        let Some(node) = fields.node(key) else { continue };
        let Some(value) = text(node, key, MAX_ANNOTATION_BYTES, mistakes) else { continue };
        if annotations.insert(key.into(), value.into()).is_some() {
            mistakes.add(node.place, format!("{key} stands in annotations already: write it once"));
        }
    }
    annotations
}

fn is_label(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
