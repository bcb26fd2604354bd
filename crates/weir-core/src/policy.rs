//! The one wire up to the data path: plain data that says what may pass and how much of it.

use std::collections::BTreeMap;
use std::time::Duration;

/// Limits of one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneLimits {
    /// How many requests may be at the upstream at once; `None`: any number.
    pub max_concurrent: Option<usize>,
    /// How many may wait. The next one is turned away.
    pub max_queued: usize,
    /// How long one may wait.
    pub queue_timeout: Duration,
}

/// What admission goes by. Replaced as a whole while requests run; nobody is dropped by a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Limits over all models.
    pub global: LaneLimits,
    /// Limits of single models, by the name that requests use.
    pub models: BTreeMap<Box<str>, LaneLimits>,
}
