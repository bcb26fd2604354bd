//! docs/alerts.md and examples/alerts.yaml against the code.

use weir_analysis::alert::Rules;
use weir_analysis::alert::signal::catalogue;

const DOCUMENT: &str = include_str!("../../../docs/alerts.md");
const EXAMPLE: &str = include_str!("../../../examples/alerts.yaml");

fn env(name: &str) -> Option<String> {
    match name {
        "ALERT_WEBHOOK_URL" => Some("https://hooks.example.com/services/T0/B0".to_owned()),
        "ALERT_WEBHOOK_SECRET" => Some("hunter2".to_owned()),
        _ => None,
    }
}

#[test]
fn the_table_of_signals_is_the_catalogue() {
    let expected: Vec<String> = catalogue()
        .iter()
        .map(|entry| {
            let windows = if entry.windows.is_empty() { "none".to_owned() } else { entry.windows.join(", ") };
            let (unit, reach) = (entry.unit.as_str(), entry.reach.as_str());
            format!("| `{}` | {unit} | {windows} | {reach} | {} |", entry.name, entry.description)
        })
        .collect();
    let section = DOCUMENT.split("\n## Signals\n").nth(1).unwrap().split("\n**No data").next().unwrap();
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, expected, "\n{}\n", expected.join("\n"));
}

#[test]
fn the_example_has_neither_mistakes_nor_warnings() {
    let parsed = Rules::parse(EXAMPLE, &env).unwrap();
    assert_eq!(parsed.warnings, []);
    assert_eq!(parsed.rules.rules().len(), 9);
    assert_eq!(parsed.rules.unknown_slos(&["ttft"]), []);
    let shown = format!("{parsed:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("/services"), "{shown}");
}

#[test]
fn the_document_begins_with_a_file_that_can_be_read() {
    let file = DOCUMENT.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let parsed = Rules::parse(file, &env).unwrap();
    let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "2:106: scale_up is not set up: it is only logged",
            "3:101: fallback_model is not set up: it is only logged",
            "4:95: throttle_requests is not set up: it is only logged",
            "5:85: investigate is not set up: it is only logged",
        ]
    );
}
