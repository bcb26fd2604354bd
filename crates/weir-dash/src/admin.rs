//! The admin listener: `/metrics`, `/healthz` and `/readyz`, apart from the data path's address.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_core::page::PageFormat;

use crate::accept;

/// The address to listen on unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// How many connections may be open. Further ones wait in the kernel's backlog.
const MAX_CONNECTIONS: usize = 64;

/// How long a request head may take, and a connection stay unused.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a page may take to come.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// After this long a connection ends with the request that it is at. Scrapers open another.
const MAX_AGE: Duration = Duration::from_secs(300);

/// How long a connection that should end may still take, for a client that does not read.
const GRACE: Duration = Duration::from_secs(3);

/// How long to wait when a connection could not be accepted, for lack of file descriptors say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the admin surface shows.
#[derive(Clone, Debug)]
pub struct AdminHandles {
    /// Where to ask for a metrics page, in one of its formats.
    pub pages: mpsc::Sender<(PageFormat, oneshot::Sender<String>)>,
    /// Whether new requests are welcome.
    pub ready: watch::Receiver<bool>,
}

/// A bound listener that does not serve yet.
#[derive(Debug)]
pub struct Admin {
    listener: TcpListener,
    handles: AdminHandles,
}

impl Admin {
    /// Binds the address; port 0 takes any free one.
    pub async fn bind(address: SocketAddr, handles: AdminHandles) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, handles })
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
                    let handles = self.handles.clone();
                    tracker.spawn(serve_connection(stream, handles, stop.clone(), place));
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
async fn serve_connection(
    stream: TcpStream,
    handles: AdminHandles,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
) {
    let service = service_fn(|request| respond(request, &handles));
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => {}
        () = sleep(MAX_AGE) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(GRACE, connection).await;
}

async fn respond(
    request: Request<Incoming>,
    handles: &AdminHandles,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // The server leaves out the body of an answer to HEAD.
    let method = request.method();
    if method != Method::GET && method != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(response);
    }
    Ok(match request.uri().path() {
        "/metrics" => metrics(accept::preferred(request.headers()), handles).await,
        "/healthz" => plain(StatusCode::OK, "ok\n"),
        "/readyz" if *handles.ready.borrow() => plain(StatusCode::OK, "ready\n"),
        "/readyz" => plain(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        _ => plain(StatusCode::NOT_FOUND, "not found; there are /metrics, /healthz and /readyz\n"),
    })
}

async fn metrics(format: PageFormat, handles: &AdminHandles) -> Response<Full<Bytes>> {
    let page = timeout(PAGE_TIMEOUT, async {
        let (reply, page) = oneshot::channel();
        handles.pages.send((format, reply)).await.ok()?;
        page.await.ok()
    });
    match page.await {
        Ok(Some(page)) => {
            let mut response =
                text(StatusCode::OK, HeaderValue::from_static(format.media_type()), page.into());
            response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
            response
        }
        Ok(None) => plain(StatusCode::SERVICE_UNAVAILABLE, "no metrics: shutting down\n"),
        Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "no metrics: the pipeline is too slow\n"),
    }
}

fn plain(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    text(status, media, Bytes::from_static(body.as_bytes()))
}

fn text(status: StatusCode, media: HeaderValue, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
