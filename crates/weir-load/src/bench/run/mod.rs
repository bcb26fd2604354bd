//! A run: requests are sent at times that were set beforehand (an open loop), each in a task of its own, and
//! what comes back is written down.
//!
//! Whatever keeps a request from being sent when it was due (`max_concurrency`, a busy machine) makes it late,
//! and its lateness is kept: latencies can be told from when it was sent and from when it was due.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

pub use self::config::{BenchConfig, BenchError, Limits, Target};
use self::dispatch::Dispatch;
use self::exchange::exchange;
pub use self::models::first_model;
pub use self::progress::Progress;
pub use self::sample::{Arrival, Asked, End, Failure, Sample, Times, VllmView, Wire};
use self::shared::Shared;
use super::ask::Ask;
use super::backend::short;

mod client;
mod config;
mod conversation;
mod dispatch;
mod events;
mod exchange;
mod models;
mod progress;
mod sample;
mod shared;

/// All that a run has to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The requests that were sent, in the order of the data set.
    pub samples: Vec<Sample>,
    /// The start, in nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// From the start until the last request had ended.
    pub duration: Duration,
    /// Why no more was sent.
    pub stop: Stop,
    /// Requests that were not sent.
    pub unsent: Unsent,
    /// Warm-up requests that had no complete answer.
    pub failed_warmups: usize,
}

/// Why a run sent no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every request of it was sent.
    Finished,
    /// Its time was up.
    TimeUp,
    /// It was interrupted.
    Interrupted,
}

/// Requests that were not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsent {
    /// Due before the time was up, but held back until then. Not counted where no rate says how many are due.
    pub overdue: u64,
    /// Turns of conversations whose turn before had no complete answer.
    pub turns: u64,
}

/// Sends what `asks` gives, as `config` says, and waits for the answers. `on_progress` is called a few times
/// per second. `cancel` ends the run with what there is; dropping the future ends it with nothing.
pub async fn run(
    config: &BenchConfig,
    asks: impl IntoIterator<Item = Ask>,
    cancel: &CancellationToken,
    on_progress: impl FnMut(&Progress),
) -> Result<Outcome, BenchError> {
    let client = config.target.client(config.backend)?;
    let mut asks = asks.into_iter().peekable();
    let first = asks.peek().ok_or(BenchError::NoRequests)?.clone();
    let warm = Shared::new(config, client.clone());
    let failed_warmups =
        cancel.run_until_cancelled(warm_up(config, &warm, &first)).await.unwrap_or(config.limits.warmups);
    let shared = Shared::new(config, client);
    let outcome = Dispatch::new(config, shared, asks, on_progress).run(cancel).await;
    Ok(Outcome { failed_warmups, ..outcome })
}

/// Sends the warm-up requests; gives how many had no complete answer.
async fn warm_up(config: &BenchConfig, shared: &Shared, ask: &Ask) -> usize {
    let count = config.limits.warmups;
    let at_once = config.limits.max_concurrency.unwrap_or(count).max(1);
    let requests = stream::iter(0..count).map(|nth| async move {
        let id = format!("{}warmup-{nth}", config.id_prefix);
        let mut sample = Sample::new(nth as u64, id, Asked::default(), 0);
        exchange(shared, ask, &mut sample).await;
        usize::from(sample.end != End::Complete)
    });
    requests.buffer_unordered(at_once).fold(0, |failed, one| async move { failed + one }).await
}
