//! Sends the spans of exchanges to one destination: batches them, and tries again where that is of use.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::config::Batch;
use super::counts::{Lost, TraceCounts};
use super::envelope;
use super::retry::Backoff;
use super::spans::SpanWriter;
use super::transport::{Sent, Transport};
use crate::clock::Clock;
use crate::rate_limit::RateLimit;
use crate::valued::Valued;

/// Requests are cut where they would become larger than this: servers of gRPC take 4 MiB by default.
const REQUEST_BYTES: usize = 3 << 20;

/// A batch is tried for so long.
const TRY_FOR: Duration = Duration::from_secs(300);

/// The exporter of one destination, on the export's own thread.
pub(super) struct TraceWorker {
    pub(super) name: Box<str>,
    pub(super) queue: mpsc::Receiver<Arc<Valued>>,
    pub(super) batch: Batch,
    pub(super) writer: SpanWriter,
    pub(super) resource: Resource,
    pub(super) transport: Transport,
    pub(super) counts: Arc<TraceCounts>,
    /// From here on nothing is waited for any more.
    pub(super) stopping: CancellationToken,
    pub(super) clock: Clock,
    pub(super) log: RateLimit,
}

impl TraceWorker {
    /// Runs until the queue is closed and empty.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(self.batch.size);
        while self.gather(&mut batch).await {
            self.deliver(&mut batch).await;
        }
    }

    /// Waits for a first exchange, and for others until the batch is full or its time is over. False
    /// when none will come any more.
    async fn gather(&mut self, batch: &mut Vec<Arc<Valued>>) -> bool {
        let size = self.batch.size;
        if self.queue.recv_many(batch, size).await == 0 {
            return false;
        }
        let (queue, stopping) = (&mut self.queue, &self.stopping);
        let fill = async {
            while batch.len() < size {
                let room = size - batch.len();
                tokio::select! {
                    more = queue.recv_many(batch, room) => if more == 0 { return },
                    () = stopping.cancelled() => return,
                }
            }
        };
        let _ = timeout(self.batch.delay, fill).await;
        true
    }

    /// Sends a batch, in several requests if it is large.
    async fn deliver(&mut self, batch: &mut Vec<Arc<Valued>>) {
        let mut waiting = batch.drain(..).peekable();
        while waiting.peek().is_some() {
            let (mut spans, mut exchanges) = (Vec::new(), 0);
            while spans.len() < REQUEST_BYTES
                && let Some(valued) = waiting.next()
            {
                self.writer.spans(&valued).iter().for_each(|span| envelope::add(span, &mut spans));
                exchanges += 1;
            }
            self.send(envelope::around(&spans, &self.resource), exchanges).await;
            self.counts.leave(exchanges);
        }
    }

    /// Sends a request until it is known what became of it, or until that takes too long.
    async fn send(&mut self, request: Bytes, exchanges: u64) {
        let begun = (self.clock)();
        let mut backoff = Backoff::default();
        // Once it may have arrived it can no longer be said to be lost.
        let mut in_doubt = false;
        loop {
            let (after, why) = match self.transport.send(request.clone()).await {
                Sent::Taken { rejected: 0, .. } => return self.counts.confirm(exchanges),
                Sent::Taken { rejected, why } => {
                    self.say(&format_args!("rejected {rejected} spans: {why}"));
                    // Which ones is not said: of so many exchanges at most something is missing.
                    let harmed = rejected.min(exchanges);
                    self.counts.confirm(exchanges - harmed);
                    return self.counts.doubt(harmed);
                }
                Sent::Refused(why) => {
                    self.say(&format_args!("refused spans: {why}"));
                    return self.give_up(exchanges, Lost::Refused, in_doubt);
                }
                Sent::Later { after, why } => (after, why),
                Sent::Unknown(why) => {
                    in_doubt = true;
                    (None, why)
                }
            };
            self.say(&format_args!("did not take spans: {why}"));
            let wait = backoff.next(after);
            if (self.clock)().since(begun).as_duration() + wait > TRY_FOR {
                return self.give_up(exchanges, Lost::GaveUp, in_doubt);
            }
            if timeout(wait, self.stopping.cancelled()).await.is_ok() {
                return self.give_up(exchanges, Lost::Shutdown, in_doubt);
            }
            self.counts.retried();
        }
    }

    fn give_up(&self, exchanges: u64, why: Lost, in_doubt: bool) {
        match in_doubt {
            true => self.counts.doubt(exchanges),
            false => self.counts.lose(exchanges, why),
        }
    }

    fn say(&mut self, what: &std::fmt::Arguments<'_>) {
        if let Some(held_back) = self.log.pass((self.clock)()) {
            tracing::warn!(destination = &*self.name, held_back, "trace export: {what}");
        }
    }
}
