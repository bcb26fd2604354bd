//! Opens one connection to the upstream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::poll_fn;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use super::pool;
use super::shared;
use super::socket::{LastRead, Socket, stamped};
use crate::config::UpstreamConfig;
use crate::drain::{Drain, UpstreamTasks};
use crate::tls::{H2, Offer};

/// The exact size of reads from the upstream: an event is a few hundred bytes, and a stream's
/// buffer is held as long as the stream.
const READ_SIZE: usize = 2 * 1024;

/// The most headers that a response may have, and the most bytes of them by HTTP/2's own count.
const MAX_HEADERS: usize = 256;
const MAX_HEADER_LIST: u32 = 64 * 1024;

/// Bytes of an answer in HTTP/2 that wait for a client that is slower than the engine.
const STREAM_WINDOW: u32 = 128 * 1024;
/// The same of all answers on one connection: no bound beside the one above, so that stalled clients do
/// not hold up the others. The library measures by it, too, how many small frames may wait to be read,
/// which is what tokens come in, before it takes them for an attack and ends the connection.
const CONNECTION_WINDOW: u32 = 1 << 30;

/// A server that vanished without a word is asked for after this long.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A fresh connection, by what it speaks.
pub(super) enum Opened {
    Http1(pool::Connection),
    Http2(shared::Connection),
}

/// Connects, and speaks one of the versions offered.
pub(super) async fn open(config: &UpstreamConfig, offer: Offer, drain: &Drain) -> io::Result<Opened> {
    let socket = TcpStream::connect((config.url.host(), config.url.port())).await?;
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    let (socket, last_read) = stamped(socket);
    let Some(tls) = &config.tls else {
        // In the clear nothing is negotiated: HTTP/2 is spoken only when that is known beforehand.
        return speak(offer == Offer::Http2, socket, last_read, drain).await;
    };
    let stream = tls.connector(offer).connect(tls.name(), socket).await?;
    let agreed = stream.get_ref().1.alpn_protocol() == Some(H2);
    if offer == Offer::Http2 && !agreed {
        return Err(io::Error::other("the server does not speak HTTP/2"));
    }
    speak(agreed, stream, last_read, drain).await
}

async fn speak(two: bool, socket: impl Socket, last_read: LastRead, drain: &Drain) -> io::Result<Opened> {
    if two { http2(socket, last_read, drain).await } else { http1(socket, last_read, drain).await }
}

async fn http1(socket: impl Socket, last_read: LastRead, drain: &Drain) -> io::Result<Opened> {
    let handshake = http1::Builder::new()
        .preserve_header_case(true)
        .max_headers(MAX_HEADERS)
        .read_buf_exact_size(Some(READ_SIZE))
        .handshake(TokioIo::new(socket));
    let (sender, connection) = handshake.await.map_err(io::Error::other)?;
    // How it ends is told to whoever waits for an answer on it.
    let task = drain.spawn_upstream(connection.with_upgrades().map(drop));
    Ok(Opened::Http1(pool::Connection::new(sender, task, last_read)))
}

async fn http2(socket: impl Socket, last_read: LastRead, drain: &Drain) -> io::Result<Opened> {
    let handshake = http2::Builder::new(UpstreamTasks::new(drain))
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_HEADER_LIST)
        .handshake(TokioIo::new(socket));
    let (sender, mut connection) = handshake.await.map_err(io::Error::other)?;
    let room = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
    let told = Arc::clone(&room);
    let task = drain.spawn_upstream(poll_fn(move |cx| {
        let polled = Pin::new(&mut connection).poll(cx).map(drop);
        told.store(connection.current_max_send_streams(), Relaxed);
        polled
    }));
    Ok(Opened::Http2(shared::Connection::new(sender, task, last_read, room)))
}
