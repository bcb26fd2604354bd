//! The list of metrics and the page that documents them say the same.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use weir_telemetry::names::ALL;

const DOCS: &str = include_str!("../../../docs/metrics.md");

/// A row of the documentation: type, unit, labels.
type Row<'a> = [&'a str; 3];

fn documented() -> BTreeMap<&'static str, Row<'static>> {
    let mut rows = BTreeMap::new();
    for line in DOCS.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, kind, unit, labels, definition] = cells[..] else {
            panic!("not a row of five cells: {line}");
        };
        let name = name.trim_matches('`');
        assert!(definition.len() > 20, "{name} has no definition");
        assert!(rows.insert(name, [kind, unit, labels]).is_none(), "{name} stands twice");
    }
    rows
}

#[test]
fn every_metric_is_documented_as_it_is() {
    let mut rows = documented();
    for metric in ALL {
        let row = rows.remove(metric.name).unwrap_or_else(|| panic!("{} is not documented", metric.name));
        let labels = match metric.labels {
            [] => "none".to_owned(),
            labels => labels.join(", "),
        };
        let expected = [metric.kind.as_str(), metric.unit.as_str(), labels.as_str()];
        assert_eq!(row, expected, "{}", metric.name);
    }
    assert!(rows.is_empty(), "documented, but not in the list: {:?}", rows.keys());
}

#[test]
fn names_are_unique_and_say_their_unit() {
    let mut seen = BTreeSet::new();
    for metric in ALL {
        let name = metric.name;
        assert!(seen.insert(name), "{name} stands twice");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        assert_eq!(metric.kind.as_str() == "counter", name.ends_with("_total"), "{name}");
        assert_eq!(metric.unit.as_str() == "seconds", name.contains("_seconds"), "{name}");
        assert_eq!(metric.unit.as_str() == "tokens", name.contains("tokens_total"), "{name}");
    }
}

#[test]
fn only_names_holds_metric_names() {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut folders = vec![std::path::PathBuf::from(sources)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.parent().is_some_and(|folder| folder.ends_with("names")) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for metric in ALL {
                assert!(!code.contains(metric.name), "{} names {}", path.display(), metric.name);
            }
        }
    }
}
