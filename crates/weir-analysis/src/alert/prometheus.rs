//! The same alerts as a rule file for Prometheus, as far as they can be said there.

use std::time::Duration;

use super::condition::Condition;
use super::promql;
use super::rules::{Rule, Rules};
use super::unit::print_duration;

pub use super::prometheus_slo::PromSlo;

const HEAD: &str = "\
# Alerts of Weir over its own metrics, for Prometheus.
# Percentiles are those of histogram buckets, and so coarser than Weir's own.
";

/// A rule file. Rules that cannot be said in PromQL stand in it as comments that say why. Where there is
/// nothing to say, it has no groups.
pub fn rules_yaml(rules: &Rules, slos: &[PromSlo]) -> String {
    let mut alerts = String::new();
    let mut comments = String::new();
    for rule in rules.rules() {
        match promql::condition(&rule.condition, slos) {
            Ok(expr) => alerts += &alert(rule, &expr),
            Err(why) => {
                comments += &comment(&format!("{}: {}", rule.name, rule.condition));
                comments += &comment(&format!("  is not said here: {why}"));
            }
        }
    }
    let mut groups = String::new();
    if !alerts.is_empty() {
        groups += &format!("- name: weir-alerts\n  rules:\n{alerts}");
    }
    for slo in slos {
        groups += &slo.groups();
    }
    let groups = if groups.is_empty() { "groups: []\n".to_owned() } else { format!("groups:\n{groups}") };
    format!("{HEAD}{comments}{groups}")
}

fn alert(rule: &Rule, expr: &str) -> String {
    let mut out = format!("  - alert: {}\n    expr: {}\n", scalar(&rule.name), scalar(expr));
    for (key, length) in [("for", rule.condition.held()), ("keep_firing_for", rule.keep_firing_for)] {
        if !length.is_zero() {
            out += &format!("    {key}: {}\n", prometheus_duration(length));
        }
    }
    out += &format!("    labels:\n      severity: {}\n", rule.severity.as_str());
    for (name, value) in &rule.labels {
        out += &format!("      {name}: {}\n", scalar(&literal(value)));
    }
    out += "    annotations:\n";
    if !rule.annotations.contains_key("description") {
        out += &format!("      description: {}\n", scalar(&literal(&described(&rule.condition))));
    }
    for (name, value) in &rule.annotations {
        out += &format!("      {name}: {}\n", scalar(&literal(value)));
    }
    out
}

fn described(condition: &Condition) -> String {
    format!("The condition of Weir is: {condition}")
}

/// Prometheus counts in whole milliseconds.
fn prometheus_duration(length: Duration) -> String {
    let millis = length.as_nanos().div_ceil(1_000_000);
    print_duration(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
}

/// A text in which nothing is to be filled in, for Prometheus takes labels and annotations for templates.
fn literal(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// A text in YAML.
pub(super) fn scalar(text: &str) -> String {
    if text.chars().any(|c| c.is_control() || is_break(c)) {
        let json = serde_json::Value::from(text).to_string();
        return json
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029")
            .replace('\u{85}', "\\u0085");
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// What YAML may take for the end of a line although it is no control character.
const fn is_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

fn comment(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() || is_break(c) { ' ' } else { c }).collect();
    format!("# {line}\n")
}
