//! Where connections come from.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use reqwest::Url;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Lost, first_cause, trust};
use crate::bench::run::config::{BenchError, Target};

/// Opens connections to one host.
#[derive(Clone)]
pub(super) struct Door {
    /// A name, or an address without brackets.
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A connection, with TLS or without.
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Door {
    /// To the host of `url`.
    pub(super) fn new(target: &Target, url: &Url) -> Result<Self, BenchError> {
        let wrong = |says: &str| BenchError::Url(url.to_string(), says.to_owned());
        let host = url.host_str().ok_or_else(|| wrong("it names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = url.port_or_known_default().ok_or_else(|| wrong("it names no port"))?;
        let tls = if url.scheme() == "https" {
            let name =
                ServerName::try_from(host.clone()).map_err(|_| wrong("no certificate has such a name"))?;
            Some((trust::connector(target)?, name))
        } else {
            None
        };
        Ok(Door { host, port, tls })
    }

    /// A new connection.
    pub(super) async fn open(&self) -> Result<Wire, Lost> {
        let failed = |error: io::Error| Lost::Connect(first_cause(&error));
        let socket = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        let Some((connector, name)) = &self.tls else {
            return Ok(Wire::Plain(socket));
        };
        let secured = connector.connect(name.clone(), socket).await.map_err(failed)?;
        Ok(Wire::Tls(Box::new(secured)))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Wire::Tls(socket) => Pin::new(socket).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Wire::Tls(socket) => Pin::new(socket).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Wire::Tls(socket) => Pin::new(socket).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Wire::Tls(socket) => Pin::new(socket).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, parts),
            Wire::Tls(socket) => Pin::new(socket).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Wire::Plain(socket) => socket.is_write_vectored(),
            Wire::Tls(socket) => socket.is_write_vectored(),
        }
    }
}
