//! The upstream's socket, which remembers when it was last read.
//!
//! A frame crosses from the connection's task to the exchange's before it is looked at. What counts
//! is when its bytes were read: that is noted here, one load and one store away from the tap.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use weir_core::timeline::Stamp;

use crate::clock::monotonic;

/// When a socket was last read.
#[derive(Clone, Debug, Default)]
pub(super) struct LastRead(Arc<AtomicU64>);

impl LastRead {
    pub(super) fn stamp(&self) -> Stamp {
        Stamp(self.0.load(Relaxed))
    }
}

#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    last_read: LastRead,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> (Self, LastRead) {
        let last_read = LastRead::default();
        (Self { stream, last_read: last_read.clone() }, last_read)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.last_read.0.store(monotonic().0, Relaxed);
        }
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
