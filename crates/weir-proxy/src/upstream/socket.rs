//! The upstream's socket, which remembers when it was last read.
//!
//! A frame crosses from the connection's task to the exchange's before it is looked at. What counts
//! is when its bytes were read: that is noted here, one load and one store away from the tap.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::io::InspectReader;
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

/// What a connection runs on.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Socket for S {}

/// The same socket, and when it was last read.
pub(super) fn stamped(socket: TcpStream) -> (impl Socket, LastRead) {
    let last_read = LastRead::default();
    let stamp = Arc::clone(&last_read.0);
    let socket = InspectReader::new(socket, move |bytes: &[u8]| {
        if !bytes.is_empty() {
            stamp.store(monotonic().0, Relaxed);
        }
    });
    (socket, last_read)
}
