//! One client's connection as a task: polled for every event, so that it is written by hand and
//! holds nothing twice.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::sync::OwnedSemaphorePermit;
use weir_core::tally::Tally;

use super::guard::Guarded;
use crate::drain::{Phase, Watcher};
use crate::proxy::Service;

type Http = http1::Connection<TokioIo<Guarded>, TowerToHyperService<Service>>;

/// Serves a client until it leaves; once the shutdown begins, to the end of its exchange; and until
/// it is cut.
pub(super) struct Connection {
    /// Dropped when the shutdown cuts: what it holds writes its record then.
    http: Option<Http>,
    watcher: Watcher,
    told: bool,
    open: Open,
}

impl Connection {
    pub(super) fn new(http: Http, watcher: Watcher, open: Open) -> Self {
        Self { http: Some(http), watcher, told: false, open }
    }
}

impl Future for Connection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let phase = this.watcher.phase(cx);
        if phase == Phase::Cut {
            this.http = None;
        }
        let Some(http) = &mut this.http else { return Poll::Ready(()) };
        if phase == Phase::Begun && !std::mem::replace(&mut this.told, true) {
            Pin::new(&mut *http).graceful_shutdown();
        }
        Pin::new(http).poll(cx).map(|ended| {
            if ended.is_err_and(|error| error.is_parse()) {
                this.open.tally.malformed_requests.fetch_add(1, Relaxed);
            }
        })
    }
}

/// Counts a connection, and holds its place, while it is open.
pub(super) struct Open {
    tally: Arc<Tally>,
    _place: OwnedSemaphorePermit,
}

impl Open {
    pub(super) fn new(tally: &Arc<Tally>, place: OwnedSemaphorePermit) -> Self {
        tally.connections_accepted.fetch_add(1, Relaxed);
        tally.connections_open.fetch_add(1, Relaxed);
        Self { tally: Arc::clone(tally), _place: place }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.tally.connections_open.fetch_sub(1, Relaxed);
    }
}
