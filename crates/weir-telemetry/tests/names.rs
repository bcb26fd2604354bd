//! The list of metrics and the page that documents them say the same.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use weir_telemetry::names::{ALL, CONVENTIONS, GenAiName, Kind, Listed, Naming, otlp_name};

const DOCS: &str = include_str!("../../../docs/metrics.md");

/// A row of the documentation: the name in OTLP, type, unit, labels.
type Row<'a> = [&'a str; 4];

fn documented() -> BTreeMap<&'static str, Row<'static>> {
    let mut rows = BTreeMap::new();
    for line in DOCS.lines().filter(|line| line.starts_with("| `weir_") || line.starts_with("| `process_")) {
        let [name, otlp, kind, unit, labels, definition] = cells(line)[..] else {
            panic!("not a row of six cells: {line}");
        };
        let name = name.trim_matches('`');
        assert!(definition.len() > 20, "{name} has no definition");
        assert!(rows.insert(name, [otlp, kind, unit, labels]).is_none(), "{name} stands twice");
    }
    rows
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split(" | ").map(str::trim).collect()
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
        let otlp = otlp_name(metric).map(|name| format!("`{name}` in `{}`", metric.unit.ucum()));
        let otlp = otlp.unwrap_or_else(|| "none".to_owned());
        let expected = [otlp.as_str(), metric.kind.as_str(), metric.unit.as_str(), labels.as_str()];
        assert_eq!(row, expected, "{}", metric.name);
    }
    assert!(rows.is_empty(), "documented, but not in the list: {:?}", rows.keys());
}

#[test]
fn every_metric_of_the_conventions_is_documented_as_it_is() {
    let (_, section) = DOCS.split_once("\n## In OTLP only\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows: Vec<_> =
        section.lines().map(cells).filter(|row| row.len() == 5 && row[0] != "in 1.41").collect();
    let called = |name: Option<GenAiName>| match name {
        Some(GenAiName { name, token_type: Some(side) }) => format!("`{name}` ({side})"),
        Some(GenAiName { name, token_type: None }) => format!("`{name}`"),
        None => "none".to_owned(),
    };
    let expected = CONVENTIONS.iter().map(|metric| {
        let [v1_41, next] = match metric.naming {
            Naming::GenAi { v1_41, next } => [called(v1_41), called(next)],
            Naming::Convention => [(); 2].map(|()| format!("`{}`", metric.name)),
            Naming::Own => panic!("{} is no name of a convention", metric.name),
        };
        [v1_41, next, metric.kind.as_str().to_owned(), format!("`{}`", metric.unit.ucum())]
    });
    for (row, expected) in rows.iter().zip(expected.clone()) {
        assert_eq!(row[..4], expected);
        assert!(row[4].len() > 20, "{row:?}");
    }
    assert_eq!(rows.len(), expected.len());
    for label in CONVENTIONS.iter().flat_map(|metric| metric.labels) {
        assert!(section.contains(&format!("`{label}`")), "{label} is not documented");
    }
}

#[test]
fn a_collector_gives_back_the_name_of_the_page() {
    for metric in ALL {
        let Some(name) = otlp_name(metric) else { continue };
        assert!(name.starts_with("weir.") && name.matches('.').count() == 1, "{name}");
        assert_eq!(on_a_collectors_page(&name, metric), metric.name);
    }
    let names: BTreeSet<_> = ALL.iter().filter_map(otlp_name).collect();
    assert_eq!(names.len(), ALL.len() - 2);
}

/// What the Prometheus exporter of OpenTelemetry's Collector makes of a name: a unit that is none of the
/// words of the name is put behind it, a unit in braces is none, and a counter's name ends in `_total`.
fn on_a_collectors_page(name: &str, metric: &Listed) -> String {
    let mut words: Vec<&str> = name.split(['.', '_']).collect();
    let (unit, per) = match metric.unit.ucum() {
        "s" => (Some("seconds"), None),
        "By" => (Some("bytes"), None),
        "{token}/s" | "{request}/s" => (None, Some("second")),
        // Of a gauge only, and last, wherever the name has it.
        "1" => {
            assert_eq!(metric.kind, Kind::Gauge);
            words.retain(|word| *word != "ratio");
            words.push("ratio");
            (None, None)
        }
        unit => {
            assert!(unit.starts_with('{') && unit.ends_with('}'), "{unit}");
            (None, None)
        }
    };
    words.extend(unit.filter(|unit| !words.contains(unit)));
    if let Some(per) = per.filter(|per| !words.contains(per)) {
        words.extend(["per", per]);
    }
    if metric.kind == Kind::Counter {
        words.push("total");
    }
    words.join("_")
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
        assert_eq!(metric.unit.as_str() == "ratio", name.ends_with("_ratio"), "{name}");
        assert_eq!(metric.unit.as_str() == "usd", name.contains("_usd"), "{name}");
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
            if path.ends_with("tests.rs") || path.parent().is_some_and(|folder| folder.ends_with("names")) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for metric in ALL.iter().chain(CONVENTIONS) {
                assert!(!code.contains(metric.name), "{} names {}", path.display(), metric.name);
            }
        }
    }
}
