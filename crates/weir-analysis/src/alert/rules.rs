//! The rules of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::ActionConfig;
use super::action_file::{Actions, actions, is_built_in};
use super::condition::Condition;
use super::environment::Environment;
use super::fields::Fields;
use super::mistake::{Mistake, Mistakes, Place, did_you_mean};
use super::rule_file::rule;
use super::yaml::{Node, Value, read};

/// How many rules a file may hold.
pub const MAX_RULES: usize = 256;

/// How grave an alert is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// To be looked at soon.
    Warning,
    /// To be looked at now.
    Critical,
}

impl Severity {
    /// Every severity, with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("critical", Self::Critical), ("warning", Self::Warning), ("info", Self::Info)];

    /// The name as it stands in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name, alone in its file.
    pub name: Box<str>,
    /// When it fires.
    pub condition: Condition,
    /// How grave that is.
    pub severity: Severity,
    /// What is done then, by name.
    pub actions: Vec<Box<str>>,
    /// How long it fires on after its condition has ceased to hold.
    pub keep_firing_for: Duration,
    /// Labels that go with it.
    pub labels: BTreeMap<Box<str>, Box<str>>,
    /// Texts that go with it: `summary`, `runbook_url` and others.
    pub annotations: BTreeMap<Box<str>, Box<str>>,
    /// Where its condition stands.
    pub place: Place,
}

/// All that a file says. There is nothing wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
    actions: Actions,
}

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// What it says.
    pub rules: Rules,
    /// What should be told to whoever wrote it.
    pub warnings: Vec<Mistake>,
}

impl Rules {
    /// Reads a file. `env` looks up the variables that it names as `${NAME}`.
    ///
    /// # Errors
    ///
    /// Every mistake in the file, in its order. None shows a secret.
    pub fn parse(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Parsed, Vec<Mistake>> {
        let file = read(text).map_err(|mistake| vec![mistake])?;
        let mut mistakes = Mistakes::default();
        let mut parsed = Parsed::default();
        if let Some(sections) = sections(&file, &mut mistakes) {
            let mut names = Vec::new();
            if let Some(node) = sections.actions {
                (parsed.rules.actions, names) = actions(node, Environment(env), &mut mistakes);
            }
            let used = if let Some(node) = sections.alerts {
                rules(node, &names, &mut parsed.rules.rules, &mut mistakes)
            } else {
                Vec::new()
            };
            parsed.warnings = warnings(&used, &names, sections.actions, &parsed.rules.actions);
        }
        if mistakes.is_empty() { Ok(parsed) } else { Err(mistakes.sorted()) }
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The actions that are set up, by name.
    pub const fn actions(&self) -> &BTreeMap<Box<str>, ActionConfig> {
        &self.actions
    }

    /// An action by name. `None`: it is not set up, and only logged.
    pub fn action(&self, name: &str) -> Option<&ActionConfig> {
        self.actions.get(name)
    }

    /// What is wrong with the names of SLOs in conditions, given those that there are.
    pub fn unknown_slos(&self, known: &[&str]) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for rule in &self.rules {
            let slos: BTreeSet<&str> = rule
                .condition
                .comparisons()
                .iter()
                .filter_map(|comparison| comparison.signal.slo())
                .collect();
            for slo in slos.into_iter().filter(|slo| !known.contains(slo)) {
                let hint = did_you_mean(slo, known.iter().copied());
                let allowed = known.join(", ");
                let message = format!("{}: there is no SLO \"{slo}\"{hint} (SLOs are {allowed})", rule.name);
                mistakes.push(Mistake { place: rule.place, message });
            }
        }
        mistakes
    }
}

/// The two parts of a file.
struct Sections<'a> {
    alerts: Option<&'a Node>,
    actions: Option<&'a Node>,
}

fn sections<'a>(file: &'a Node, mistakes: &mut Mistakes) -> Option<Sections<'a>> {
    match &file.value {
        Value::Nothing => Some(Sections { alerts: None, actions: None }),
        Value::List(_) => Some(Sections { alerts: Some(file), actions: None }),
        _ => {
            let fields = Fields::new(file, "the file", &["alerts", "actions"], mistakes)?;
            Some(Sections { alerts: fields.node("alerts"), actions: fields.node("actions") })
        }
    }
}

/// The names of actions that rules use, and where.
type Used<'a> = Vec<(Place, &'a str)>;

fn rules<'a>(node: &'a Node, set_up: &[Box<str>], into: &mut Vec<Rule>, mistakes: &mut Mistakes) -> Used<'a> {
    let mut used = Vec::new();
    let Value::List(nodes) = &node.value else {
        mistakes.add(node.place, format!("alerts is a list of rules, not {}", node.kind()));
        return used;
    };
    if nodes.len() > MAX_RULES {
        mistakes.add(node.place, format!("there are {} rules; at most {MAX_RULES}", nodes.len()));
    }
    let mut names: BTreeMap<&str, Place> = BTreeMap::new();
    for node in nodes.iter().take(MAX_RULES) {
        let Some(read) = rule(node, mistakes) else { continue };
        if let Some((place, name)) = read.name {
            match names.get(name) {
                Some(before) => {
                    mistakes.add(place, format!("a rule {name} stands already at {before}"));
                }
                None => {
                    names.insert(name, place);
                }
            }
        }
        for &(place, name) in &read.actions {
            if !is_built_in(name) && !set_up.iter().any(|known| **known == *name) {
                let known = super::action::BUILT_IN.into_iter().chain(set_up.iter().map(AsRef::as_ref));
                let known: BTreeSet<&str> = known.collect();
                let hint = did_you_mean(name, known.iter().copied());
                let allowed = known.into_iter().collect::<Vec<_>>().join(", ");
                mistakes.add(
                    place,
                    format!("there is no action \"{name}\"{hint} (actions are {allowed}; others are set up under actions:)"),
                );
            }
        }
        used.extend(read.actions.iter().copied());
        into.extend(read.rule);
    }
    used
}

fn warnings(
    used: &[(Place, &str)],
    set_up: &[Box<str>],
    section: Option<&Node>,
    actions: &Actions,
) -> Vec<Mistake> {
    let mut told = BTreeSet::new();
    let mut warnings: Vec<Mistake> = used
        .iter()
        .filter(|(_, name)| !set_up.iter().any(|known| **known == **name))
        .filter(|(_, name)| told.insert(*name))
        .map(|&(place, name)| Mistake { place, message: format!("{name} is not set up: it is only logged") })
        .collect();
    let place = section.map_or(Place { line: 1, column: 1 }, |section| section.place);
    for name in actions.keys().filter(|name| !used.iter().any(|(_, used)| **used == ***name)) {
        warnings.push(Mistake { place, message: format!("no rule uses the action {name}") });
    }
    warnings.sort();
    warnings
}
