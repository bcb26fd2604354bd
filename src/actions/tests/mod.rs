//! What actions do when alerts change: to the policy, to figures, to targets, and to the disk.

mod alone;
mod investigate;
mod receiver;
mod replaced;
mod standing;
mod told;
mod whole;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::TaskTracker;
use weir_analysis::alert::status::{Handling, Notes, Reading};
use weir_analysis::alert::unit::Unit;
use weir_analysis::alert::{AlertState, AlertStatus, Cause, Rule, Rules, Transition};
use weir_analysis::api::{ExchangeFilter, ExchangeSummary};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;
use weir_core::inflight::Inflight;
use weir_core::observation::LandmarkEvent;
use weir_core::policy::{LaneLimits, Policy};
use weir_telemetry::notify::NotifyOptions;
use weir_telemetry::{ActionCounts, ActionFate, AlertNews};

use super::decide::Actions;
use super::{Wiring, actions};
use crate::regulator::Regulator;

/// Nothing takes longer than this, however slow the machine.
const LIMIT: Duration = Duration::from_secs(20);

/// 2024-02-29T12:34:56Z, when Weir started, and so many seconds after it.
fn at(seconds: u64) -> Moment {
    Moment(1_709_210_096_000_000_000).plus(Duration::from_secs(seconds))
}

fn rules(text: &str) -> Rules {
    Rules::parse(text, &|_| None).unwrap().rules
}

/// The far ends of what actions work on.
struct Around {
    policy: watch::Receiver<Policy>,
    counts: Arc<ActionCounts>,
    landmarks: mpsc::Receiver<(LandmarkEvent, String)>,
    asked: mpsc::Receiver<(ExchangeFilter, oneshot::Sender<Vec<ExchangeSummary>>)>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    inflight: Arc<Inflight>,
}

fn around(rules: Rules, state_dir: Option<&Path>) -> (Wiring, Around) {
    let lane =
        |max| LaneLimits { max_concurrent: Some(max), max_queued: 8, queue_timeout: Duration::from_secs(1) };
    let configured =
        Policy { global: lane(64), models: [("m".into(), lane(10))].into(), fallbacks: Vec::new() };
    let (policy, policy_seen) = watch::channel(configured);
    let (landmarks, told) = mpsc::channel(64);
    let (exchanges, asked) = mpsc::channel(4);
    let (snapshot, seen) = watch::channel(Arc::new(Snapshot::empty(at(0), at(0))));
    let (counts, inflight) = (Arc::<ActionCounts>::default(), Arc::new(Inflight::new(8)));
    let wiring = Wiring {
        rules,
        started: at(0),
        regulator: Arc::new(Regulator::new(policy)),
        counts: Arc::clone(&counts),
        landmarks,
        exchanges,
        snapshot: seen,
        inflight: Arc::clone(&inflight),
        state_dir: state_dir.map(Path::to_owned),
        notify: NotifyOptions::default(),
        clock: weir_proxy::monotonic,
    };
    (wiring, Around { policy: policy_seen, counts, landmarks: told, asked, snapshot, inflight })
}

/// Actions that are told by hand.
fn by_hand(text: &str) -> (Actions, Around) {
    let (wiring, around) = around(rules(text), None);
    (actions(wiring, &TaskTracker::new()), around)
}

impl Around {
    fn global(&self) -> Option<usize> {
        self.policy.borrow().global.max_concurrent
    }

    fn fates(&self) -> Vec<(String, ActionFate, u64)> {
        self.counts.fates().into_iter().map(|(action, fate, n)| (action.into(), fate, n)).collect()
    }

    fn landmarks(&mut self) -> Vec<(LandmarkEvent, String)> {
        std::iter::from_fn(|| self.landmarks.try_recv().ok()).collect()
    }
}

fn rule(rules: &Rules, alert: &str) -> Rule {
    rules.rules().iter().find(|rule| *rule.name == *alert).unwrap().clone()
}

/// A change of an alert, as the rules have it.
fn change(rules: &Rules, alert: &str, (from, to): (AlertState, AlertState), at: Moment) -> Transition {
    let rule = rule(rules, alert);
    Transition {
        alert: rule.name.clone(),
        severity: rule.severity,
        condition: rule.condition.to_string().into(),
        from,
        to,
        cause: if to == AlertState::Firing { Cause::Held } else { Cause::Cleared },
        at,
        reading: Some(reading(if to == AlertState::Firing { 3.2 } else { 1.1 })),
        labels: rule.labels,
        annotations: rule.annotations,
        actions: rule.actions,
        silenced: false,
    }
}

fn reading(value: f64) -> Reading {
    Reading {
        signal: "p95_ttft".into(),
        unit: Unit::Seconds,
        value: Some(value),
        comparator: ">".into(),
        threshold: Some(2.0),
        holds: Some(value > 2.0),
    }
}

fn fires(rules: &Rules, alert: &str, seconds: u64) -> Transition {
    change(rules, alert, (AlertState::Pending, AlertState::Firing), at(seconds))
}

fn resolves(rules: &Rules, alert: &str, seconds: u64) -> Transition {
    change(rules, alert, (AlertState::Firing, AlertState::Inactive), at(seconds))
}

fn changed(changes: impl Into<Vec<Transition>>) -> AlertNews {
    AlertNews::Changed(changes.into())
}

/// An alert that has fired since a moment.
fn firing(rules: &Rules, alert: &str, since: Moment) -> AlertStatus {
    let rule = rule(rules, alert);
    AlertStatus {
        name: rule.name.clone(),
        severity: rule.severity,
        condition: rule.condition.to_string().into(),
        actions: rule.actions.clone(),
        notes: Notes { labels: rule.labels, annotations: rule.annotations },
        state: AlertState::Firing,
        since: Some(since),
        no_data: true,
        readings: Vec::new(),
        last_resolved_at: None,
        handling: Handling::default(),
        transitions: Default::default(),
    }
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}
