//! The response body as it flows to the client.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use weir_core::draft::End;
use weir_core::outcome::ErrorType;

use super::idle::Idle;
use super::record::Record;
use super::watch::PollWatch;
use crate::clock::monotonic;
use crate::upstream::Stream;

/// A response body: the upstream's under observation, or one of Weir's own.
#[derive(Debug)]
pub(crate) enum ProxyBody {
    Tap(Box<Tap>),
    Whole(Full<Bytes>),
}

impl ProxyBody {
    /// A body of Weir's own.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::Whole(Full::new(bytes))
    }
}

/// Why a body is broken off. The client sees its connection end without the end of the body.
#[derive(Debug)]
pub(crate) enum BrokenOff {
    /// The upstream's connection broke.
    Upstream(hyper::Error),
    /// The upstream sent nothing for too long.
    Idle,
}

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Upstream(error) => write!(f, "the upstream broke off: {error}"),
            Self::Idle => f.write_str("the upstream sent nothing for too long"),
        }
    }
}

impl std::error::Error for BrokenOff {}

/// The upstream's body, with its record. It reads the clock, shows the bytes to the draft, passes
/// the same frame on, and closes the record once at the end.
#[derive(Debug)]
pub(crate) struct Tap {
    // The record comes first: dropped, it is written before the upstream's connection is let go.
    record: Record,
    stream: Stream,
    watch: PollWatch,
    idle: Idle,
}

impl Tap {
    pub(crate) fn new(record: Record, stream: Stream, idle: std::time::Duration) -> Self {
        Self { record, stream, watch: PollWatch::default(), idle: Idle::new(idle, monotonic()) }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.stream.poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let now = monotonic();
                self.idle.touch(now);
                let arrival = self.watch.ready(now);
                if let (Some(bytes), Some(draft)) = (frame.data_ref(), self.record.draft()) {
                    draft.frame(bytes, self.stream.last_read().unwrap_or(now), arrival);
                }
                // Nothing comes behind trailers, and nobody asks.
                if frame.is_trailers() || self.stream.is_end_stream() {
                    self.end(End::Complete);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                self.end(End::Complete);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.record.close(End::Broken(ErrorType::UpstreamReset));
                Poll::Ready(Some(Err(BrokenOff::Upstream(error))))
            }
            Poll::Pending => {
                self.watch.pending();
                if let Some(draft) = self.record.draft() {
                    draft.awaits();
                }
                if self.idle.poll(cx, monotonic).is_ready() {
                    self.record.close(End::Broken(ErrorType::UpstreamTimeoutIdle));
                    return Poll::Ready(Some(Err(BrokenOff::Idle)));
                }
                Poll::Pending
            }
        }
    }

    fn end(&mut self, end: End) {
        self.record.close(end);
        self.stream.keep();
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        if self.record.is_settled() {
            // The client has all it needs. What is left is read for the connection's sake.
            self.record.close(End::ClientGone);
            self.stream.drain();
        } else if !self.record.is_closed() && self.stream.is_end_stream() {
            // A body without any frame, such as the answer to a HEAD, is never polled.
            self.end(End::Complete);
        }
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            Self::Tap(tap) => tap.poll_frame(cx),
            Self::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Tap(tap) => tap.stream.is_end_stream(),
            Self::Whole(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Tap(tap) => tap.stream.size_hint(),
            Self::Whole(body) => body.size_hint(),
        }
    }
}
