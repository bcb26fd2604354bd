//! Sends exchanges as spans, and metrics, to OpenTelemetry backends.
//!
//! All of it runs on a thread of its own with a small runtime of its own: putting a batch together and
//! packing it takes milliseconds, which the relay's threads do not have. The pipeline hands exchanges
//! over through a bounded queue for each destination and never waits.

pub mod config;

pub(crate) mod counts;
pub(crate) mod metrics;

mod envelope;
mod lane;
mod metrics_worker;
mod retry;
mod sampling;
mod spans;
mod thread;
mod traces;
mod transport;

pub(crate) use lane::Lane;
pub(crate) use metrics_worker::SnapshotAsk;
pub(crate) use retry::Backoff;
pub use transport::{Tls, TlsError};
pub(crate) use transport::{because, cut, retry_after};

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use weir_core::exchange::Exchange;

use crate::clock::Clock;
use crate::config::{Scheme, UpstreamFacts};
use crate::metrics::Snapshot;
use crate::valued::Valued;
use config::{OtlpConfig, Sampling};
use counts::{MetricCounts, TraceCounts};
use thread::Thread;

/// The name of the instrumentation.
const SCOPE: &str = "weir";

/// What destinations see as the sender.
pub(crate) const AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// What is known around the exchanges.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) upstreams: Vec<UpstreamFacts>,
    pub(crate) scheme: Scheme,
}

/// The near end of the export, owned by the pipeline.
#[derive(Debug)]
pub(crate) struct Otlp {
    sampling: Sampling,
    sampled_out: u64,
    lanes: Vec<Lane>,
    metric_counts: Vec<(Box<str>, Arc<MetricCounts>)>,
    last: watch::Sender<Option<Arc<Snapshot>>>,
    stopping: CancellationToken,
    /// Told by the thread, by dropping its end, when everything was sent.
    done: oneshot::Receiver<()>,
}

impl Otlp {
    /// Starts the thread, which asks for snapshots through the receiver that comes back. Fails if there
    /// can be no thread, or if a destination cannot be sent to at all.
    pub(crate) fn start(
        config: OtlpConfig,
        around: &Surroundings,
        clock: Clock,
    ) -> io::Result<(Self, mpsc::Receiver<SnapshotAsk>)> {
        let (asks, asked) = mpsc::channel(1);
        let (last, last_seen) = watch::channel(None);
        let sampling = config.sampling;
        let mut thread = Thread::new(&config, around, clock, last_seen);
        let (mut lanes, mut metric_counts) = (Vec::new(), Vec::new());
        for destination in &config.destinations {
            if let Some(signal) = &destination.traces {
                let (lane, queue) = Lane::new(destination, clock);
                thread.trace((destination, signal), queue, lane.counts());
                lanes.push(lane);
            }
            if let Some(signal) = &destination.metrics {
                let counts = Arc::<MetricCounts>::default();
                thread.measure((destination, signal), asks.clone(), Arc::clone(&counts));
                metric_counts.push((destination.name.clone(), counts));
            }
        }
        let (stopping, done) = thread.start()?;
        Ok((Self { sampling, sampled_out: 0, lanes, metric_counts, last, stopping, done }, asked))
    }

    /// Whether an exchange is to be sent.
    pub(crate) fn keeps(&self, exchange: &Exchange) -> bool {
        !self.lanes.is_empty() && self.sampling.keeps(exchange)
    }

    /// Hands an exchange over to every destination. Never waits: where there is no room it is lost, and
    /// counted.
    pub(crate) fn offer(&mut self, valued: &Arc<Valued>, kept: bool) {
        if !kept {
            self.sampled_out += u64::from(!self.lanes.is_empty());
            return;
        }
        self.lanes.iter_mut().for_each(|lane| lane.offer(valued));
    }

    /// Exchanges that were not to be sent.
    pub(crate) fn sampled_out(&self) -> u64 {
        self.sampled_out
    }

    /// The destinations of traces.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// What became of metrics, by destination.
    pub(crate) fn metric_counts(&self) -> impl Iterator<Item = (&str, &MetricCounts)> {
        self.metric_counts.iter().map(|(name, counts)| (&**name, &**counts))
    }

    /// Waits until everything is sent, the last metrics too, but not for longer than `limit`.
    pub(crate) async fn finish(self, last: Snapshot, limit: Duration) {
        let Self { lanes, stopping, done, last: last_told, .. } = self;
        last_told.send_replace(Some(Arc::new(last)));
        // With the lanes their queues are dropped.
        let counts: Vec<_> = lanes.into_iter().map(Lane::into_counts).collect();
        stopping.cancel();
        let in_time = tokio::time::timeout(limit, done).await.is_ok();
        for (destination, counts) in counts {
            tell(&destination, &counts, in_time);
        }
    }
}

/// Says at the end what became of the traces.
fn tell(destination: &str, counts: &TraceCounts, in_time: bool) {
    let lost: u64 = TraceCounts::CAUSES.iter().map(|(_, why)| counts.lost(*why)).sum();
    let (confirmed, unknown, waiting) = (counts.confirmed(), counts.unknown(), counts.waiting());
    if in_time && lost == 0 && unknown == 0 {
        tracing::info!(destination, confirmed, "exported the traces of all exchanges");
    } else {
        tracing::warn!(destination, confirmed, unknown, lost, waiting, "not all traces were exported");
    }
}
