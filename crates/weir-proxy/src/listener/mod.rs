//! Where clients connect.

mod connection;
mod framing;
mod guard;
mod opening;
mod streams;

pub(crate) use connection::Open;
pub(crate) use guard::Conflict;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use weir_core::tally::Tally;

use crate::config::{Config, ListenConfig};
use crate::drain::Drain;
use crate::proxy::{Proxy, Service, Wiring};

use connection::{Connection, Multiplexed, Stage};
use guard::guarded;
use opening::{Socket, Version};
use streams::Streams;

/// The most headers that a request may have.
const MAX_HEADERS: usize = 256;

/// The most bytes of headers that an HTTP/2 request may have, by that protocol's own count.
const MAX_HEADER_LIST: u32 = 64 * 1024;

/// Bytes of a request body that an HTTP/2 client may send ahead of being read.
const STREAM_WINDOW: u32 = 256 * 1024;

/// Bytes of an answer that wait for an HTTP/2 client to take them.
const SEND_BUFFER: usize = 64 * 1024;

/// How long to let things be after accepting failed, for want of file descriptors, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A peer that vanished without a word is asked for after this long.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A data path that is bound to its address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    clients: Arc<Clients>,
    certificate: Option<watch::Receiver<Arc<ServerConfig>>>,
}

/// What each client's connection is made with.
#[derive(Debug)]
struct Clients {
    limits: ListenConfig,
    proxy: Arc<Proxy>,
    tally: Arc<Tally>,
    drain: Drain,
}

impl Server {
    /// Binds the address. Must be called within a tokio runtime.
    pub fn bind(config: Config, wiring: Wiring) -> io::Result<Self> {
        let listener = listen(config.listen.address)?;
        let (tally, drain) = (Arc::clone(&wiring.tally), wiring.drain.clone());
        let limits = config.listen.clone();
        let certificate = limits.tls.clone().map(|tls| {
            let (current, seen) = watch::channel(tls.config());
            let (tally, ending) = (Arc::clone(&tally), drain.clone());
            drain.spawn(async move {
                tokio::select! {
                    () = tls.follow(current, tally) => {}
                    () = ending.begun() => {}
                }
            });
            seen
        });
        let proxy = Arc::new(Proxy::new(config, wiring));
        Ok(Self { listener, clients: Arc::new(Clients { limits, proxy, tally, drain }), certificate })
    }

    /// The address it is bound to.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the shutdown begins. What runs then is the shutdown's to wait for.
    pub async fn run(self) {
        let clients = &self.clients;
        let places = Arc::new(Semaphore::new(clients.limits.max_connections));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.listener, &places) => accepted,
                () = clients.drain.begun() => return,
            };
            match accepted {
                Ok((socket, client, place)) => {
                    let tls = self.certificate.as_ref().map(|seen| TlsAcceptor::from(seen.borrow().clone()));
                    clients.drain.spawn_connection(connection(clients, socket, tls, client, place));
                }
                Err(error) => {
                    clients.tally.accept_errors.fetch_add(1, Relaxed);
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// One client's connection, ready to be run.
fn connection(
    clients: &Arc<Clients>,
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
    client: SocketAddr,
    place: OwnedSemaphorePermit,
) -> Connection {
    let open = Arc::new(Open::new(&clients.tally, place));
    let (held, watcher) = (Arc::clone(&open), clients.drain.watcher());
    let clients = Arc::clone(clients);
    let opening = async move {
        let secure = tls.is_some();
        let (socket, version) =
            opening::open(socket, tls, &clients.limits, Arc::clone(&clients.tally)).await?;
        let client = Peer { address: client, secure, open: held };
        Some(match version {
            Version::Http1 => clients.http1(socket, client),
            Version::Http2 => clients.http2(socket, client),
        })
    };
    Connection::new(opening, watcher, open)
}

/// Who is at the other end of a connection.
struct Peer {
    address: SocketAddr,
    secure: bool,
    open: Arc<Open>,
}

impl Clients {
    fn http1(&self, socket: Socket, peer: Peer) -> Stage {
        let (socket, conflict) = guarded(socket);
        let service = self.service(peer, conflict);
        let connection = http1::Builder::new()
            .preserve_header_case(true)
            .auto_date_header(false)
            .max_headers(MAX_HEADERS)
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .serve_connection(TokioIo::new(socket), service)
            .with_upgrades();
        Stage::Http1(Box::new(connection))
    }

    fn http2(&self, socket: Socket, peer: Peer) -> Stage {
        // The framing of HTTP/2 states each length once.
        let service = self.service(peer, Conflict::default());
        let streams = Streams::new(self.drain.clone());
        let connection = http2::Builder::new(streams.clone())
            .timer(TokioTimer::new())
            .auto_date_header(false)
            .max_concurrent_streams(self.limits.max_streams)
            .max_header_list_size(MAX_HEADER_LIST)
            .initial_stream_window_size(STREAM_WINDOW)
            .max_send_buf_size(SEND_BUFFER)
            .serve_connection(TokioIo::new(socket), service);
        Stage::Http2(Box::new(Multiplexed::new(connection, streams, self.limits.head_timeout)))
    }

    fn service(&self, peer: Peer, conflict: Conflict) -> TowerToHyperService<Service> {
        let Peer { address, secure, open } = peer;
        TowerToHyperService::new(Service::new(&self.proxy, address.ip(), secure, conflict, open))
    }
}

type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> io::Result<Accepted> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (socket, client) = listener.accept().await?;
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    Ok((socket, client, place))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    const BACKLOG: i32 = 4096;
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
