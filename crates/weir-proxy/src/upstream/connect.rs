//! Opens one connection to the upstream.

use std::io;
use std::sync::Arc;

use futures_util::FutureExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::pool::{Lease, Pool};
use super::socket::stamped;
use crate::config::UpstreamUrl;
use crate::drain::Drain;

/// The exact size of reads from the upstream: an event is a few hundred bytes, and a stream's
/// buffer is held as long as the stream.
const READ_SIZE: usize = 2 * 1024;

/// The most headers that a response may have.
const MAX_HEADERS: usize = 256;

pub(super) async fn open(url: &UpstreamUrl, pool: &Arc<Pool>, drain: &Drain) -> io::Result<Lease> {
    let socket = TcpStream::connect((url.host(), url.port())).await?;
    socket.set_nodelay(true)?;
    let (socket, last_read) = stamped(socket);
    let handshake = http1::Builder::new()
        .preserve_header_case(true)
        .max_headers(MAX_HEADERS)
        .read_buf_exact_size(Some(READ_SIZE))
        .handshake(TokioIo::new(socket));
    let (sender, connection) = handshake.await.map_err(io::Error::other)?;
    // How it ends is told to whoever waits for an answer on it.
    let task = drain.spawn_upstream(connection.map(drop));
    Ok(Lease::new(sender, task, last_read, pool))
}
