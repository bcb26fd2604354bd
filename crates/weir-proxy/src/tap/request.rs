//! The request body: read up to a bound before admission, looked at, and passed on as it came.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;
use weir_core::dialect::{RequestHead, RequestPeek};
use weir_core::timeline::Offset;

use crate::clock::monotonic;
use crate::error::ProxyError;

/// A request body: the frames that were read, and the rest if there is one.
///
/// Boxed, since each upstream connection keeps room for a number of requests.
#[derive(Debug, Default)]
pub(crate) struct RequestBody(Box<Parts>);

#[derive(Debug, Default)]
struct Parts {
    read: VecDeque<Frame<Bytes>>,
    rest: Option<Rest>,
    /// Whether its length is told by its end alone.
    chunked: bool,
}

/// The part that streams on after admission.
#[derive(Debug)]
struct Rest {
    body: Incoming,
    passed: Arc<AtomicU64>,
}

/// What was read of a request body.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) body: RequestBody,
    /// Bytes read so far.
    pub(crate) bytes: u64,
    /// Bytes that will pass later; grows while they do. Absent when all was read.
    pub(crate) passing: Option<Arc<AtomicU64>>,
    /// Time spent waiting for the client.
    pub(crate) waited: Offset,
}

/// Reads a request body until it ends or `limit` bytes are there.
///
/// A body has to be read before its request can wait in a queue: only then is it seen when the
/// client leaves.
///
/// The client may pause for `pause` at most.
pub(crate) async fn read(
    mut body: Incoming,
    (limit, pause): (usize, Duration),
    chunked: bool,
) -> Result<Read, ProxyError> {
    let begun = monotonic();
    let mut read = VecDeque::new();
    let mut bytes = 0;
    let mut rest = None;
    while !body.is_end_stream() {
        if bytes >= limit as u64 {
            rest = Some(Rest { body, passed: Arc::default() });
            break;
        }
        let frame = timeout(pause, body.frame()).await.map_err(|_elapsed| ProxyError::BodyTimeout)?;
        let Some(frame) = frame.transpose().map_err(|_| ProxyError::RequestBody)? else { break };
        bytes += frame.data_ref().map_or(0, Bytes::len) as u64;
        read.push_back(frame);
    }
    let passing = rest.as_ref().map(|rest| Arc::clone(&rest.passed));
    let body = RequestBody(Box::new(Parts { read, rest, chunked }));
    Ok(Read { body, bytes, passing, waited: monotonic().since(begun) })
}

impl RequestBody {
    /// A body that passes without being read first.
    pub(crate) fn passing(body: Incoming, chunked: bool) -> (Self, Arc<AtomicU64>) {
        let passed = Arc::<AtomicU64>::default();
        let rest = Rest { body, passed: Arc::clone(&passed) };
        (Self(Box::new(Parts { read: VecDeque::new(), rest: Some(rest), chunked })), passed)
    }

    /// The same body once more, if it was read whole and nothing of it was taken.
    pub(crate) fn again(&self) -> Option<Self> {
        let Parts { read, rest, chunked } = &*self.0;
        if rest.is_some() {
            return None;
        }
        let frame = |frame: &Frame<Bytes>| match (frame.data_ref(), frame.trailers_ref()) {
            (Some(bytes), _) => Some(Frame::data(bytes.clone())),
            (None, trailers) => trailers.cloned().map(Frame::trailers),
        };
        let read = read.iter().map(frame).collect::<Option<_>>()?;
        Some(Self(Box::new(Parts { read, rest: None, chunked: *chunked })))
    }

    /// What the part that was read says, under the head of its request.
    pub(crate) fn peek(&self, head: &RequestHead<'_>) -> RequestPeek {
        RequestPeek::scan(head, self.seen())
    }

    /// The part that was read, in the pieces in which it came.
    pub(crate) fn seen(&self) -> impl Iterator<Item = &[u8]> {
        self.0.read.iter().filter_map(Frame::data_ref).map(|bytes| bytes.as_ref())
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(frame) = self.0.read.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        let Some(rest) = &mut self.0.rest else { return Poll::Ready(None) };
        let polled = Pin::new(&mut rest.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            rest.passed.fetch_add(frame.data_ref().map_or(0, Bytes::len) as u64, Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        // A chunked body is chunked even if it is empty.
        let Parts { read, rest, chunked } = &*self.0;
        !chunked && read.is_empty() && rest.as_ref().is_none_or(|rest| rest.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        // Unknown lengths stay unknown, so that chunked requests stay chunked. A known one stands in
        // the request's own `Content-Length`.
        SizeHint::default()
    }
}
