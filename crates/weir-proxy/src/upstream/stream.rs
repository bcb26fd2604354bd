//! The body of an upstream's answer, and the connection that it comes from.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use weir_core::tally::Tally;
use weir_core::timeline::Stamp;

use super::lease::Lease;
use super::pool::Behind;
use crate::drain::Drain;

/// How much, and how long, is read of an answer that nobody wants any more.
const DRAIN_BYTES: usize = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// An upstream's body. Dropped before its end, it closes its connection, or resets its stream, which
/// tells the engine to stop.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Absent once it was handed over to be drained.
    body: Option<Incoming>,
    lease: Option<Lease>,
    behind: Behind,
    drain: Drain,
    tally: Arc<Tally>,
}

impl Stream {
    pub(super) fn new(body: Incoming, lease: Lease, drain: Drain, tally: Arc<Tally>) -> Self {
        let behind = if body.size_hint().exact().is_some() { Behind::Sized } else { Behind::Chunked };
        Self { body: Some(body), behind, lease: Some(lease), drain, tally }
    }

    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        loop {
            let polled = Pin::new(&mut *body).poll_frame(cx);
            // HTTP/2 may send frames without a byte in them. Passed on, a number of them is taken for an
            // attack by clients.
            let empty = |frame: &Frame<Bytes>| frame.data_ref().is_some_and(Bytes::is_empty);
            if !matches!(&polled, Poll::Ready(Some(Ok(frame))) if empty(frame)) {
                return polled;
            }
        }
    }

    /// When what was polled last came: the time of the last read from the connection.
    pub(crate) fn last_read(&self) -> Option<Stamp> {
        self.lease.as_ref().map(Lease::last_read)
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }

    /// The body was read to its end: its connection may serve again.
    pub(crate) fn keep(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.keep(self.behind);
        }
    }

    /// Reads what is left, within bounds, and keeps the connection if that was all.
    pub(crate) fn drain(&mut self) {
        let (Some(mut body), Some(lease)) = (self.body.take(), self.lease.take()) else { return };
        let (tally, behind) = (Arc::clone(&self.tally), self.behind);
        self.drain.spawn(async move {
            let rest = async {
                let mut left = DRAIN_BYTES;
                while let Some(frame) = body.frame().await {
                    let read = frame.ok()?.data_ref().map_or(0, Bytes::len);
                    left = left.checked_sub(read)?;
                }
                Some(())
            };
            if let Ok(Some(())) = tokio::time::timeout(DRAIN_TIME, rest).await {
                tally.upstream_drained.fetch_add(1, Relaxed);
                lease.keep(behind);
            }
        });
    }
}
