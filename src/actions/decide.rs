//! Decides what is begun and ended when something happens to alerts.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use weir_analysis::alert::action::{Action, ActionConfig};
use weir_analysis::alert::{AlertState, AlertStatus, Rule, Rules, Transition};
use weir_analysis::scope::Scope;
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;
use weir_telemetry::notify::Notification;
use weir_telemetry::{ActionFate, AlertNews};

use super::hands::{Hands, Over};
use super::investigations::Case;
use super::ledger::{Begun, Key, Ledger};
use super::{notice, targets};

/// The actions of all alerts.
#[derive(Debug)]
pub(super) struct Actions {
    rules: Rules,
    started: Moment,
    firing: BTreeMap<Box<str>, Firing>,
    ledger: Ledger,
    hands: Hands,
    snapshot: watch::Receiver<Arc<Snapshot>>,
}

/// An alert that fires.
#[derive(Clone, Debug)]
struct Firing {
    since: Moment,
    /// What was last told of it.
    last: Transition,
}

impl Actions {
    pub(super) fn new(
        rules: Rules,
        started: Moment,
        mut hands: Hands,
        snapshot: watch::Receiver<Arc<Snapshot>>,
    ) -> Self {
        hands.post.replace(targets::targets(&rules));
        Self { rules, started, firing: BTreeMap::new(), ledger: Ledger::default(), hands, snapshot }
    }

    /// What is left to be finished.
    pub(super) fn into_hands(self) -> Hands {
        self.hands
    }

    pub(super) fn take(&mut self, news: AlertNews) {
        match news {
            AlertNews::Standing(alerts) => alerts.iter().for_each(|status| self.standing(status)),
            AlertNews::Changed(transitions) => transitions.iter().for_each(|change| self.changed(change)),
            AlertNews::Replaced(rules, ended) => self.replaced(*rules, &ended),
        }
    }

    /// An alert that fired before the start has in force what it had then. Who was told of it is not told
    /// again, and is told when it is over.
    fn standing(&mut self, status: &AlertStatus) {
        if status.state != AlertState::Firing {
            return;
        }
        let since = status.since.unwrap_or(self.started);
        let last = notice::standing(status, self.started);
        let told = notice::firing(&last, since);
        for name in &status.actions {
            let Some(action) = wanted(&self.rules, &status.name, name).map(|config| config.action.clone())
            else {
                continue;
            };
            let calls = matches!(action, Action::Webhook(_) | Action::AlertmanagerPush(_));
            // Nobody knows whether the silence began before the alert did: nothing is begun in it.
            if last.silenced && !calls {
                continue;
            }
            let key = Key::new(&status.name, name);
            self.ledger.note(&key, since);
            if !last.silenced && lasts(&action) {
                tracing::info!(alert = %key.alert, action = %key.action, "an action is taken up again");
                self.hands.resume(&key, &action, &told);
            }
            self.enter(key, action, told.clone());
        }
        self.firing.insert(status.name.clone(), Firing { since, last });
    }

    fn changed(&mut self, change: &Transition) {
        if change.is_resolved() {
            self.firing.remove(&change.alert);
            let over = Over { at: change.at, by: Some(change) };
            for (key, begun) in self.ledger.take(|key, _| key.alert == change.alert) {
                self.hands.end(&key, &begun, over);
            }
        } else if change.to == AlertState::Firing {
            let before = self.firing.get(&change.alert).filter(|_| change.from == AlertState::Firing);
            let since = before.map_or(change.at, |before| before.since);
            self.firing.insert(change.alert.clone(), Firing { since, last: change.clone() });
            if !change.silenced {
                change.actions.iter().for_each(|name| self.begin(change, since, name));
            }
        }
    }

    fn begin(&mut self, change: &Transition, since: Moment, name: &str) {
        let key = Key::new(&change.alert, name);
        let fate = match self.rules.action(name).cloned() {
            None => Some(ActionFate::NotSetUp),
            Some(config) if !self.ledger.allows(&key, change.at, config.min_interval) => {
                Some(ActionFate::RateLimited)
            }
            Some(config) if config.dry_run => {
                self.ledger.note(&key, change.at);
                Some(ActionFate::DryRun)
            }
            Some(config) => self.carry_out(&key, config.action, change, since),
        };
        let Some(fate) = fate else { return };
        self.hands.counts.count(name, fate);
        log(&key, fate);
    }

    /// `None`: what became of it is counted when it is done.
    fn carry_out(
        &mut self,
        key: &Key,
        action: Action,
        change: &Transition,
        since: Moment,
    ) -> Option<ActionFate> {
        if let Action::Investigate { exchanges } = action {
            let scope =
                rule(&self.rules, &key.alert).map_or(Scope::Overall, |rule| rule.condition.scope.clone());
            let case = Case { key: key.clone(), transition: change.clone(), scope, exchanges };
            if !self.hands.investigations.offer(case) {
                return Some(ActionFate::Failed);
            }
        }
        let told = notice::firing(change, since);
        let fate = self.hands.begin(key, &action, &told);
        if fate == ActionFate::Failed {
            return Some(fate);
        }
        self.ledger.note(key, change.at);
        let counts_itself = matches!(action, Action::Investigate { .. });
        self.enter(key.clone(), action, told);
        (!counts_itself).then_some(fate)
    }

    fn enter(&mut self, key: Key, action: Action, told: Notification) {
        // There is nothing of it to end.
        if !matches!(action, Action::Investigate { .. }) {
            self.ledger.enter(key, Begun { action, told });
        }
    }

    /// Other rules hold from now on, and for alerts that fire, too: what they do not ask for any more is
    /// ended, and what lasts while an alert fires is as they say. Nobody is called for it.
    fn replaced(&mut self, rules: Rules, ended: &[Transition]) {
        ended.iter().for_each(|change| self.changed(change));
        let before = std::mem::replace(&mut self.rules, rules);
        let over = Over { at: self.snapshot.borrow().at, by: None };
        let rules = &self.rules;
        let is_over = |key: &Key, begun: &Begun| {
            wanted(rules, &key.alert, &key.action)
                .is_none_or(|config| config.action.kind() != begun.action.kind())
        };
        for (key, begun) in self.ledger.take(is_over) {
            self.hands.end(&key, &begun, over);
        }
        self.hands.post.replace(targets::targets(&self.rules));
        for rule in self.rules.rules().to_vec() {
            if let Some(mut firing) = self.firing.remove(&rule.name) {
                self.bring_in_line(&before, &rule, &mut firing);
                self.firing.insert(rule.name, firing);
            }
        }
        self.ledger.keep(&self.rules);
    }

    /// A rule of an alert that fires may have changed, and what it does, too.
    fn bring_in_line(&mut self, before: &Rules, rule: &Rule, firing: &mut Firing) {
        let last = &mut firing.last;
        last.severity = rule.severity;
        last.labels.clone_from(&rule.labels);
        last.annotations.clone_from(&rule.annotations);
        last.actions.clone_from(&rule.actions);
        let silenced = last.silenced || self.is_silenced(&rule.name);
        for name in &rule.actions {
            let Some(config) = wanted(&self.rules, &rule.name, name).cloned() else { continue };
            let key = Key::new(&rule.name, name);
            let begun = self.ledger.begun(&key);
            let due = match begun {
                Some(begun) => begun.action != config.action,
                // What was not begun before, as it came too soon, is not begun by this either.
                None => {
                    lasts(&config.action) && !silenced && wanted(before, &rule.name, name) != Some(&config)
                }
            };
            if due {
                let told =
                    begun.map_or_else(|| notice::firing(last, firing.since), |begun| begun.told.clone());
                tracing::info!(alert = %key.alert, action = %key.action, "an action holds as it is set up now");
                self.hands.resume(&key, &config.action, &told);
                self.enter(key, config.action, told);
            }
        }
    }

    fn is_silenced(&self, alert: &str) -> bool {
        let snapshot = self.snapshot.borrow();
        let status = snapshot.alerts.iter().find(|status| *status.name == *alert);
        status.and_then(|status| status.handling.silenced_until).is_some_and(|until| until > snapshot.at)
    }
}

fn rule<'a>(rules: &'a Rules, name: &str) -> Option<&'a Rule> {
    rules.rules().iter().find(|rule| *rule.name == *name)
}

/// An action as it is set up, if the alert is to have it and it is to be more than logged.
fn wanted<'a>(rules: &'a Rules, alert: &str, action: &str) -> Option<&'a ActionConfig> {
    rule(rules, alert).filter(|rule| rule.actions.iter().any(|name| **name == *action))?;
    rules.action(action).filter(|config| !config.dry_run)
}

/// Whether it is in force while the alert fires, rather than done once.
const fn lasts(action: &Action) -> bool {
    !matches!(action, Action::Webhook(_) | Action::Investigate { .. })
}

fn log(key: &Key, fate: ActionFate) {
    let (alert, action) = (&*key.alert, &*key.action);
    match fate {
        ActionFate::Begun => tracing::info!(alert, action, "an action was begun"),
        ActionFate::Failed => tracing::warn!(alert, action, "an action could not be begun"),
        ActionFate::DryRun => tracing::info!(alert, action, "an action would be begun: it is only logged"),
        ActionFate::NotSetUp => tracing::info!(alert, action, "an action is not set up: it is only logged"),
        ActionFate::RateLimited => {
            tracing::info!(alert, action, "an action was begun too short a time ago, and is not again");
        }
        // Said where it was done.
        ActionFate::NotAvailable | ActionFate::Ended => {}
    }
}
