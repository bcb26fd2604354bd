//! What a file of rules says, as it is understood.

use weir_analysis::alert::{Rule, Rules};

use crate::status::figure::foreign;
use crate::status::page::Page;

/// As much of a name is shown, of a condition, and of what is done.
const NAME: usize = 128;
const CONDITION: usize = 1_024;
const ACTIONS: usize = 512;

/// One row a rule.
pub(crate) fn table(rules: &Rules, mut page: Page) -> String {
    match rules.rules().len() {
        0 => page.line("There are no rules."),
        _ => {
            let titles = ["Alert", "Condition", "Severity", "Actions"];
            page.table(titles, rules.rules().iter().map(|rule| row(rule, rules)));
        }
    }
    page.finish()
}

fn row(rule: &Rule, rules: &Rules) -> [String; 4] {
    let actions: Vec<String> = rule.actions.iter().map(|name| action(name, rules)).collect();
    let actions = if actions.is_empty() { "none".into() } else { actions.join(", ") };
    [
        foreign(&rule.name, NAME),
        foreign(&rule.condition.to_string(), CONDITION),
        rule.severity.as_str().into(),
        foreign(&actions, ACTIONS),
    ]
}

/// The name, with what is behind it where the name does not say so.
fn action(name: &str, rules: &Rules) -> String {
    match rules.action(name) {
        None => format!("{name} (only logged)"),
        Some(set_up) if set_up.dry_run => format!("{name} (dry run)"),
        Some(_) => name.to_owned(),
    }
}
