//! What became of the actions of alerts: written by whoever carries them out, read for metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::notify::TargetCounts;

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionFate {
    /// It was begun.
    Begun,
    /// What it had changed was taken back.
    Ended,
    /// It was only logged, as it is told to.
    DryRun,
    /// It was only logged, as it is not set up.
    NotSetUp,
    /// It was only logged, as this Weir cannot do it.
    NotAvailable,
    /// It was begun too short a time ago.
    RateLimited,
    /// It could not be done.
    Failed,
}

impl ActionFate {
    /// The name as it stands in labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Ended => "ended",
            Self::DryRun => "dry_run",
            Self::NotSetUp => "not_set_up",
            Self::NotAvailable => "not_available",
            Self::RateLimited => "rate_limited",
            Self::Failed => "failed",
        }
    }
}

/// Counts since the start. Actions are named by configuration, so that there are few.
#[derive(Debug, Default)]
pub struct ActionCounts(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    fates: BTreeMap<(Box<str>, ActionFate), u64>,
    desired_replicas: Option<u64>,
    targets: Vec<(Box<str>, Arc<TargetCounts>)>,
}

impl ActionCounts {
    /// Counts an action, by its name.
    pub fn count(&self, action: &str, fate: ActionFate) {
        *self.counts().fates.entry((action.into(), fate)).or_default() += 1;
    }

    /// How many replicas are asked for; `None`: nobody asks for any.
    pub fn ask_for_replicas(&self, replicas: Option<u64>) {
        self.counts().desired_replicas = replicas;
    }

    /// Who is sent notifications, and what became of them.
    pub fn set_targets(&self, targets: Vec<(Box<str>, Arc<TargetCounts>)>) {
        self.counts().targets = targets;
    }

    /// Every action that was counted, with its fate.
    pub fn fates(&self) -> Vec<(Box<str>, ActionFate, u64)> {
        self.counts().fates.iter().map(|((action, fate), n)| (action.clone(), *fate, *n)).collect()
    }

    /// How many replicas are asked for.
    pub fn desired_replicas(&self) -> Option<u64> {
        self.counts().desired_replicas
    }

    /// Who is sent notifications.
    pub fn targets(&self) -> Vec<(Box<str>, Arc<TargetCounts>)> {
        self.counts().targets.clone()
    }

    /// Nothing panics under the lock, and if it did, the counts would still be right.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
