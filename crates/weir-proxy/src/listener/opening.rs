//! From a fresh socket to a connection that speaks HTTP: the TLS handshake, if there is one, and
//! which version the client speaks.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutWriter;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use weir_core::tally::Tally;

use crate::config::ListenConfig;
use crate::tls::H2;

/// A socket on which a client that takes no bytes is not waited for without end.
type Patient = Pin<Box<TimeoutWriter<TcpStream>>>;

/// A client's socket, in the clear or not.
pub(super) type Socket = Either<Patient, Box<TlsStream<Patient>>>;

/// The version that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// What a client that knows beforehand that we speak HTTP/2 begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long to wait for the rest of a preface that came in pieces.
const PIECE: Duration = Duration::from_millis(2);

/// Opens a client's connection. `None` if it came to nothing.
pub(super) async fn open(
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
    limits: &ListenConfig,
    tally: Arc<Tally>,
) -> Option<(Socket, Version)> {
    let limit = limits.head_timeout;
    match tls {
        None => {
            let version = timeout(limit, spoken(&socket)).await.ok()?.ok()?;
            Some((Either::Left(patient(socket, limits.send_timeout)), version))
        }
        Some(acceptor) => {
            let socket = patient(socket, limits.send_timeout);
            let Ok(Ok(stream)) = timeout(limit, acceptor.accept(socket)).await else {
                tally.tls_handshake_errors.fetch_add(1, Relaxed);
                return None;
            };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(H2);
            let version = if http2 { Version::Http2 } else { Version::Http1 };
            Some((Either::Right(Box::new(stream)), version))
        }
    }
}

fn patient(socket: TcpStream, limit: Duration) -> Patient {
    let mut writer = TimeoutWriter::new(socket);
    writer.set_timeout(Some(limit));
    Box::pin(writer)
}

/// Looks at the first bytes without taking them. No request of HTTP/1 begins like the preface.
async fn spoken(socket: &TcpStream) -> io::Result<Version> {
    let mut seen = [0; PREFACE.len()];
    loop {
        let read = socket.peek(&mut seen).await?;
        if read == 0 || seen[..read] != PREFACE[..read] {
            return Ok(Version::Http1);
        }
        if read == PREFACE.len() {
            return Ok(Version::Http2);
        }
        // The socket counts as readable all along, so that there is nothing to be woken by.
        tokio::time::sleep(PIECE).await;
    }
}
