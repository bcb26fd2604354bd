//! What the requests of a run share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::config::BenchConfig;
use crate::bench::backend::{Backend, BodyOptions};
use crate::clock;

/// What every request needs.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) backend: Backend,
    pub(super) body: BodyOptions,
    pub(super) timeout: Duration,
    pub(super) keeps_text: bool,
    /// Ends what is in flight.
    pub(super) stop: CancellationToken,
    pub(super) live: Live,
    /// The start of the run, on the monotonic clock.
    started_ns: u64,
}

/// Counts that requests in flight keep up to date.
#[derive(Debug, Default)]
pub(super) struct Live {
    chunks: AtomicU64,
}

impl Shared {
    /// For a run that starts now.
    pub(super) fn new(config: &BenchConfig, client: Client) -> Self {
        Shared {
            client,
            backend: config.backend,
            body: config.body.clone(),
            timeout: config.limits.timeout,
            keeps_text: config.keeps_text,
            stop: CancellationToken::new(),
            live: Live::default(),
            started_ns: clock::monotonic_ns(),
        }
    }

    /// Nanoseconds since the start of the run.
    pub(super) fn elapsed_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.started_ns)
    }

    /// The start of the run, in nanoseconds of the monotonic clock.
    pub(super) fn started_ns(&self) -> u64 {
        self.started_ns
    }
}

impl Live {
    pub(super) fn count_chunk(&self) {
        self.chunks.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn chunks(&self) -> u64 {
        self.chunks.load(Ordering::Relaxed)
    }
}
