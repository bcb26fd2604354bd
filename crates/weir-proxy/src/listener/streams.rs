//! The streams of one HTTP/2 connection: each runs as a task of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::drain::Drain;

/// Runs a connection's streams, and counts them.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    drain: Drain,
    count: Arc<Count>,
}

#[derive(Debug, Default)]
struct Count {
    open: AtomicUsize,
    begun: AtomicUsize,
}

/// How many streams a connection has had, and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    begun: usize,
    open: usize,
}

impl Streams {
    pub(super) fn new(drain: Drain) -> Self {
        Self { drain, count: Arc::default() }
    }

    pub(super) fn seen(&self) -> Seen {
        Seen { begun: self.count.begun.load(Relaxed), open: self.count.open.load(Relaxed) }
    }
}

impl Seen {
    /// Whether nothing was asked for since `before`, and nothing runs.
    pub(super) fn idle_since(self, before: Self) -> bool {
        self.open == 0 && self.begun == before.begun
    }
}

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        self.count.begun.fetch_add(1, Relaxed);
        self.count.open.fetch_add(1, Relaxed);
        self.drain.spawn(Counted { stream, _open: Open(Arc::clone(&self.count)) });
    }
}

pin_project! {
    /// A stream that counts as open until it is dropped.
    struct Counted<F> {
        #[pin]
        stream: F,
        _open: Open,
    }
}

struct Open(Arc<Count>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

impl<F: Future<Output = ()>> Future for Counted<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().stream.poll(cx)
    }
}
