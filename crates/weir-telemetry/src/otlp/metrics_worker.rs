//! Sends metrics to one destination, at intervals.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::counts::MetricCounts;
use super::metrics::{MetricOptions, request};
use super::retry::Backoff;
use super::transport::{Sent, Transport};
use crate::clock::Clock;
use crate::metrics::Snapshot;
use crate::rate_limit::RateLimit;

/// Who asks the pipeline for a snapshot.
pub(crate) type SnapshotAsk = oneshot::Sender<Arc<Snapshot>>;

/// The exporter of one destination, on the export's own thread.
pub(super) struct MetricWorker {
    pub(super) name: Box<str>,
    pub(super) every: Duration,
    pub(super) asks: mpsc::Sender<SnapshotAsk>,
    /// The last snapshot there will be.
    pub(super) last: watch::Receiver<Option<Arc<Snapshot>>>,
    pub(super) resource: Resource,
    pub(super) options: MetricOptions,
    pub(super) transport: Transport,
    pub(super) counts: Arc<MetricCounts>,
    /// From here on nothing is waited for any more.
    pub(super) stopping: CancellationToken,
    /// What the destination has been told. What it may have been told counts too: nothing is told twice.
    pub(super) told: Option<Arc<Snapshot>>,
    pub(super) clock: Clock,
    pub(super) log: RateLimit,
}

impl MetricWorker {
    /// Runs until everything ends, and tells how it ended.
    pub(super) async fn run(mut self) {
        let mut ticks = interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick comes at once, when there is nothing to tell.
        ticks.tick().await;
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => break,
                _ = ticks.tick() => {}
            }
            let (reply, snapshot) = oneshot::channel();
            if self.asks.send(reply).await.is_err() {
                break;
            }
            if let Ok(snapshot) = snapshot.await {
                self.tell(snapshot).await;
            }
        }
        let last = self.last.borrow_and_update().clone();
        if let Some(last) = last {
            self.tell(last).await;
        }
    }

    /// Tells the destination of a snapshot, as long as no newer one is due. Where that fails nothing is
    /// lost: what the next one holds goes on from what was told.
    async fn tell(&mut self, snapshot: Arc<Snapshot>) {
        let told = self.told.as_deref();
        let request = request(self.resource.clone(), &snapshot, told, self.options);
        let request = Bytes::from(request.encode_to_vec());
        let sent = match timeout(self.every, self.send(&request)).await {
            Ok(sent) => sent,
            Err(_elapsed) => Sent::Later { after: None, why: "no answer in time".to_owned() },
        };
        match sent {
            Sent::Taken { rejected, why } => {
                if rejected > 0 {
                    self.say(&format_args!("rejected {rejected} points: {why}"));
                }
                self.counts.take();
                self.told = Some(snapshot);
            }
            Sent::Unknown(why) => {
                self.say(&format_args!("did not answer: {why}"));
                self.counts.fail();
                self.told = Some(snapshot);
            }
            Sent::Refused(why) | Sent::Later { why, .. } => {
                self.say(&format_args!("did not take them: {why}"));
                self.counts.fail();
            }
        }
    }

    /// Tries until it is known what became of the request.
    async fn send(&mut self, request: &Bytes) -> Sent {
        let mut backoff = Backoff::default();
        loop {
            let sent = self.transport.send(request.clone()).await;
            let Sent::Later { after, .. } = &sent else { return sent };
            let wait = backoff.next(*after);
            if timeout(wait, self.stopping.cancelled()).await.is_ok() {
                return sent;
            }
        }
    }

    fn say(&mut self, what: &std::fmt::Arguments<'_>) {
        if let Some(held_back) = self.log.pass((self.clock)()) {
            tracing::warn!(destination = &*self.name, held_back, "metric export: {what}");
        }
    }
}
