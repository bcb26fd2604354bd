//! Where clients connect.

mod connection;
mod framing;
mod guard;

pub(crate) use guard::Conflict;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_core::tally::Tally;

use crate::config::{Config, ListenConfig};
use crate::drain::Drain;
use crate::proxy::{Proxy, Service, Wiring};

use connection::{Connection, Open};
use guard::guarded;

/// The most headers that a request may have.
const MAX_HEADERS: usize = 256;

/// How long to let things be after accepting failed, for want of file descriptors, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A peer that vanished without a word is asked for after this long.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A data path that is bound to its address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
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
        Ok(Self { listener, limits, proxy: Arc::new(Proxy::new(config, wiring)), tally, drain })
    }

    /// The address it is bound to.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the shutdown begins. What runs then is the shutdown's to wait for.
    pub async fn run(self) {
        let places = Arc::new(Semaphore::new(self.limits.max_connections));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.listener, &places) => accepted,
                () = self.drain.begun() => return,
            };
            match accepted {
                Ok((socket, client, place)) => {
                    self.drain.spawn_connection(self.connection(socket, client, place));
                }
                Err(error) => {
                    self.tally.accept_errors.fetch_add(1, Relaxed);
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// One client's connection, ready to be run.
    fn connection(&self, socket: TcpStream, client: SocketAddr, place: OwnedSemaphorePermit) -> Connection {
        let (socket, conflict) = guarded(socket);
        let service = Service::new(&self.proxy, client.ip(), conflict);
        let connection = http1::Builder::new()
            .preserve_header_case(true)
            .auto_date_header(false)
            .max_headers(MAX_HEADERS)
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service));
        Connection::new(connection, self.drain.watcher(), Open::new(&self.tally, place))
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
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
