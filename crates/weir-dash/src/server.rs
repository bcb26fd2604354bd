//! The admin listener, apart from the data path's address.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::AdminConfig;
use crate::guard::Guard;
use crate::handles::AdminHandles;
use crate::rendered::Rendered;
use crate::routes;

/// How many connections may be open. Further ones wait in the kernel's backlog.
const MAX_CONNECTIONS: usize = 64;

/// How many may look on at a stream of snapshots. Half of the connections are left to all else.
const MAX_VIEWERS: usize = 32;

/// How long a request head may take, and a connection stay unused.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest request head, and as much of an answer as may wait for a client that reads slowly.
const MAX_BUFFERED: usize = 32 * 1024;

/// After this long a connection ends with the request that it is at, and a stream of snapshots as well.
/// Scrapers and browsers open another.
const MAX_AGE: Duration = Duration::from_secs(300);

/// How long a connection that should end may still take, for a client that does not read.
const GRACE: Duration = Duration::from_secs(3);

/// How long to wait when a connection could not be accepted, for lack of file descriptors say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound listener that does not serve yet.
#[derive(Debug)]
pub struct Admin {
    listener: TcpListener,
    surface: Arc<Surface>,
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Surface {
    pub(crate) handles: AdminHandles,
    pub(crate) guard: Guard,
    pub(crate) rendered: Rendered,
    /// Places for those who look on.
    pub(crate) viewers: Arc<Semaphore>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) surface: Arc<Surface>,
    /// Cancelled when the connection should end.
    pub(crate) closing: CancellationToken,
    pub(crate) tracker: TaskTracker,
}

impl Admin {
    /// Binds the address.
    pub async fn bind(config: AdminConfig, handles: AdminHandles) -> io::Result<Self> {
        let listener = TcpListener::bind(config.listen).await?;
        let guard = Guard::new(config.token, listener.local_addr()?);
        let rendered = Rendered::new(handles.snapshot.clone());
        let viewers = Arc::new(Semaphore::new(MAX_VIEWERS));
        Ok(Self { listener, surface: Arc::new(Surface { handles, guard, rendered, viewers }) })
    }

    /// The address that was bound.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves on `tracker` until `stop`: then no connection is accepted any more, and those that
    /// are open end with the request they are at, within a few seconds.
    pub fn serve(self, stop: CancellationToken, tracker: &TaskTracker) {
        let connections = tracker.clone();
        tracker.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.accept(&stop, &connections) => {}
            }
        });
    }

    async fn accept(&self, stop: &CancellationToken, tracker: &TaskTracker) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        // Nobody closes this semaphore.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let visit = Visit {
                        surface: Arc::clone(&self.surface),
                        closing: stop.child_token(),
                        tracker: tracker.clone(),
                    };
                    tracker.spawn(serve_connection(stream, visit, place));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept an admin connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Serves one connection. How it ends is of no interest: its client knows.
async fn serve_connection(stream: TcpStream, visit: Visit, _place: OwnedSemaphorePermit) {
    let service = service_fn(|request| routes::respond(request, &visit));
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(MAX_BUFFERED)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        _ = connection.as_mut() => return,
        () = visit.closing.cancelled() => {}
        () = sleep(MAX_AGE) => {}
    }
    visit.closing.cancel();
    connection.as_mut().graceful_shutdown();
    let _ = timeout(GRACE, connection).await;
}
