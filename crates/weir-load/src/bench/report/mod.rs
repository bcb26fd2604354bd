//! What a run comes to, and the forms in which it is told.

pub use self::figures::{Counts, Figures, Latencies, Lengths, Reading, Stalls, Throughput};
pub use self::goodput::{Goodput, GoodputError, GoodputLimits};
pub use self::numbers::{Summary, percentile};

pub mod html;
pub mod json;
pub mod jsonl;
pub mod table;

mod figures;
mod goodput;
mod numbers;
mod peaks;
mod plot;
mod timeline;

use std::time::Duration;

/// What the report says of a run besides its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// A name for the run.
    pub label: Option<String>,
    /// Its API, in the word of [`Backend::name`](super::backend::Backend::name).
    pub backend: String,
    /// The model.
    pub model: String,
    /// The tokenizer, if a data set used one.
    pub tokenizer: Option<String>,
    /// When it started, after the beginning of 1970 (UTC).
    pub date: Duration,
    /// How many requests it was to have.
    pub requests: usize,
    /// The rate and how it came about.
    pub pace: Pace,
    /// The most requests at once.
    pub max_concurrency: Option<usize>,
    /// Further keys and values.
    pub metadata: Vec<(String, String)>,
}

/// How requests were paced, as the report tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The rate.
    pub rate: super::schedule::Rate,
    /// The shape of the gaps.
    pub burstiness: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { rate: super::schedule::Rate::Unlimited, burstiness: 1.0 }
    }
}

impl About {
    /// What a configuration says; the date and the names are the caller's to add.
    pub fn of(config: &super::run::BenchConfig, requests: usize) -> Self {
        let schedule = config.schedule;
        About {
            backend: config.backend.name().to_owned(),
            model: config.body.model.clone(),
            requests,
            pace: Pace { rate: schedule.rate(), burstiness: schedule.burstiness() },
            max_concurrency: config.limits.max_concurrency,
            ..About::default()
        }
    }
}

#[cfg(test)]
mod tests;
