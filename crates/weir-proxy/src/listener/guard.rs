//! A client's socket that is read under watch.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::framing::Framing;

/// Which request of a connection contradicts itself, counted from 1; 0 for none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conflict(Arc<AtomicU64>);

impl Conflict {
    /// Whether it is the `ordinal`th request.
    pub(crate) fn is_in(&self, ordinal: u64) -> bool {
        self.0.load(Relaxed) == ordinal
    }
}

/// The socket of one client.
#[derive(Debug)]
pub(super) struct Guarded {
    socket: TcpStream,
    framing: Framing,
    heads: u64,
    conflict: Conflict,
}

impl Guarded {
    pub(super) fn new(socket: TcpStream) -> (Self, Conflict) {
        let conflict = Conflict::default();
        let guarded = Self { socket, framing: Framing::new(), heads: 0, conflict: conflict.clone() };
        (guarded, conflict)
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.socket).poll_read(cx, buf);
        let Self { framing, heads, conflict, .. } = this;
        framing.read(&buf.filled()[before..], |conflicting| {
            *heads += 1;
            if conflicting {
                conflict.0.store(*heads, Relaxed);
            }
        });
        polled
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
