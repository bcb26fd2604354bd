//! What becomes known of a stream while it runs: which events were written when, and how it ended.

use std::sync::Arc;

use super::batch::Progress;
use super::link::Link;
use super::stats::Visit;
use crate::clock;
use crate::truth::{StreamEnd, StreamTruth, TruthFile, Write};

/// The record of one stream. It is told once, when it is dropped with the response's body, so the
/// stream's end by itself, by a fault and by the other side's leaving all come to the same place.
pub(crate) struct Record {
    link: Arc<Link>,
    visit: Visit,
    file: Option<Arc<TruthFile>>,
    truth: StreamTruth,
    /// What a batch did for the stream.
    progress: Option<Arc<Progress>>,
    /// Events of the whole stream, and how it ends once they are all written.
    total: u64,
    complete: StreamEnd,
    handed_over: u64,
    written: u64,
}

impl Record {
    /// Begins the record of a stream of `total` events that ends as `complete` when all of them
    /// have been written. What ends it before takes `truth.end` for its word.
    pub(crate) fn begin(
        link: Arc<Link>,
        visit: Visit,
        file: Option<Arc<TruthFile>>,
        truth: StreamTruth,
        (total, complete): (u64, StreamEnd),
    ) -> Self {
        Record { link, visit, file, truth, progress: None, total, complete, handed_over: 0, written: 0 }
    }

    /// The stream comes out of a batch.
    pub(crate) fn follow(&mut self, progress: &Arc<Progress>) {
        self.progress = Some(Arc::clone(progress));
    }

    /// The connection that the stream goes out on.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Events handed to the HTTP server so far.
    pub(crate) fn handed_over(&self) -> u64 {
        self.handed_over
    }

    /// An event is about to be handed to the HTTP server.
    pub(crate) fn hand_over(&mut self) {
        self.link.arm();
        self.handed_over += 1;
    }

    /// Waits until what was handed over is on the socket, and notes when that was.
    pub(crate) async fn flushed(&mut self) {
        self.link.flushed().await;
        self.settle();
    }

    /// Says how the stream ends.
    pub(crate) fn end(&mut self, end: StreamEnd) {
        self.truth.end = end;
    }

    fn settle(&mut self) {
        let events = self.handed_over - self.written;
        if events == 0 {
            return;
        }
        if let Some((before_ns, after_ns)) = self.link.written() {
            if self.file.is_some() {
                let first_event = self.written;
                self.truth.writes.push(Write { first_event, events, before_ns, after_ns });
            }
            self.written = self.handed_over;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // The other side may leave between the last write and the next poll of the body.
        self.settle();
        if self.truth.end == StreamEnd::Gone && self.written == self.total {
            self.truth.end = self.complete;
        }
        self.truth.t_end = clock::monotonic_ns();
        self.visit.end(self.truth.end.into());
        if let Some(file) = &self.file {
            let writes = std::mem::take(&mut self.truth.writes);
            let batch = self.progress.as_ref().and_then(|progress| progress.truth());
            file.offer(StreamTruth { writes, batch, ..self.truth.clone() });
        }
    }
}
