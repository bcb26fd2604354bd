//! The connection under the HTTP server: it stamps the real socket writes, and it can end rudely.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use futures_util::future::poll_fn;
use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::clock;

/// What a garbage fault answers.
const GARBAGE: &[u8] = b"\x16\x03\x01 this is not HTTP\r\n\r\n";

/// What the response body and the socket under it know of each other.
///
/// Both are polled by the one task that serves the connection, so the atomics never race; they only
/// make the shared value `Sync`.
#[derive(Debug, Default)]
pub(crate) struct Link {
    first_read: AtomicU64,
    before: AtomicU64,
    after: AtomicU64,
    flushed: AtomicBool,
    waker: AtomicWaker,
    /// Zero, or a [`Farewell`].
    farewell: AtomicU8,
}

/// How a connection's socket is closed, where not by a plain FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Farewell {
    Reset = 1,
    Garbage = 2,
}

impl Link {
    /// When the first read since the last call to [`Link::forget_reads`] returned.
    pub(crate) fn first_read(&self) -> Option<u64> {
        Some(self.first_read.load(Ordering::Relaxed)).filter(|&ns| ns != 0)
    }

    /// The request has been read: the next read begins another one.
    pub(crate) fn forget_reads(&self) {
        self.first_read.store(0, Ordering::Relaxed);
    }

    /// Bytes are about to be handed to the server: their write is to be stamped.
    pub(crate) fn arm(&self) {
        self.before.store(0, Ordering::Relaxed);
        self.flushed.store(false, Ordering::Relaxed);
    }

    /// Waits until everything handed over has been written to the socket.
    pub(crate) async fn flushed(&self) {
        poll_fn(|cx| {
            if self.flushed.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            self.waker.register(cx.waker());
            Poll::Pending
        })
        .await;
    }

    /// The times before and after the write of what was armed last, once it has been flushed.
    pub(crate) fn written(&self) -> Option<(u64, u64)> {
        let before = self.before.load(Ordering::Relaxed);
        (self.flushed.load(Ordering::Relaxed) && before != 0)
            .then(|| (before, self.after.load(Ordering::Relaxed)))
    }

    /// Chooses how the socket will be closed.
    pub(crate) fn part_with(&self, farewell: Farewell) {
        self.farewell.store(farewell as u8, Ordering::Relaxed);
    }

    fn stamp_read(&self) {
        if self.first_read().is_none() {
            self.first_read.store(clock::monotonic_ns(), Ordering::Relaxed);
        }
    }

    fn stamp_write(&self, before: u64) {
        // Under back-pressure an event may need several writes: the span covers them all.
        if self.before.load(Ordering::Relaxed) == 0 {
            self.before.store(before, Ordering::Relaxed);
        }
        self.after.store(clock::monotonic_ns(), Ordering::Relaxed);
    }

    fn stamp_flush(&self) {
        self.flushed.store(true, Ordering::Relaxed);
        self.waker.wake();
    }
}

/// The socket of one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    link: Arc<Link>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream, link: Arc<Link>) -> Self {
        Wire { stream, link }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let farewell = self.link.farewell.load(Ordering::Relaxed);
        // Nothing can be done about a failure here: the other side has left already.
        if farewell == Farewell::Reset as u8 {
            let _ = self.stream.set_zero_linger();
        } else if farewell == Farewell::Garbage as u8 {
            let _ = self.stream.try_write(GARBAGE);
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() > filled {
            self.link.stamp_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let before = clock::monotonic_ns();
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.link.stamp_write(before);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let before = clock::monotonic_ns();
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, slices))?;
        self.link.stamp_write(before);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// The HTTP server flushes only once its own buffer is empty, so everything armed is out.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.link.stamp_flush();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
