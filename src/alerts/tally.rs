//! What alerts did over a whole record.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_analysis::alert::{AlertState, Rule, Transition};
use weir_analysis::time::Moment;

use super::replay::Replay;
use super::untold::untold;
use crate::status::figure::{foreign, moment, time};
use crate::status::page::Page;

/// As much of a name is shown.
const NAME: usize = 40;

/// What one alert did.
#[derive(Debug, Default)]
struct Deeds {
    fired: u64,
    fired_for: Duration,
    /// Since when it fires.
    since: Option<Moment>,
}

/// What all of them did.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<Box<str>, Deeds>);

impl Tally {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, transition: &Transition) {
        let deeds = self.0.entry(transition.alert.clone()).or_default();
        if transition.to == AlertState::Firing && transition.from != AlertState::Firing {
            deeds.fired += 1;
            deeds.since = Some(transition.at);
        } else if transition.is_resolved()
            && let Some(since) = deeds.since.take()
        {
            deeds.fired_for += transition.at.since(since);
        }
    }

    /// The summary: one row a rule.
    pub(super) fn show(&self, replay: &Replay, rules: &[Rule], skipped: &[Box<str>]) -> String {
        let mut page = Page::new(false);
        let judged = replay.judged();
        let Some((first, last)) = judged.span else {
            page.line("Nothing was recorded that alerts could be judged by.");
            return page.finish();
        };
        let (from, to) = (moment(first), moment(last));
        page.line(&format!("Judged {} times, from {from} to {to}.", judged.times));
        if rules.is_empty() {
            page.line("There are no rules.");
            return page.finish();
        }
        let dataless = replay.dataless();
        let rows = rules.iter().map(|rule| {
            let none = Deeds::default();
            let deeds = self.0.get(&rule.name).unwrap_or(&none);
            let open = deeds.since.map_or(Duration::ZERO, |since| last.since(since));
            let remark = if skipped.contains(&rule.name) {
                "not judged: needs ticks"
            } else if dataless.contains(&rule.name) {
                "never had data"
            } else if deeds.since.is_some() {
                "fires at the end"
            } else {
                ""
            };
            let fired_for = time((deeds.fired_for + open).as_secs_f64());
            [foreign(&rule.name, NAME), deeds.fired.to_string(), fired_for, remark.into()]
        });
        page.table(["Alert", ">Fired", ">For", "Remark"], rows);
        page.finish()
    }
}

/// Alerts that were not judged since the record told of no second.
pub(super) fn skipped(
    replay: &Replay,
    config: &weir_analysis::observatory::ObservatoryConfig,
) -> Vec<Box<str>> {
    let judged = replay.judged();
    if judged.own > 0 && judged.own == judged.times { untold(config) } else { Vec::new() }
}
