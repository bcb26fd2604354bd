//! One client's connection as a task: polled for every event, so that it is written by hand and
//! holds nothing twice.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};
use weir_core::tally::Tally;

use super::guard::Guarded;
use super::opening::Socket;
use super::streams::{Seen, Streams};
use crate::drain::{Phase, Watcher};
use crate::proxy::Service;

pub(super) type Http1 = http1::UpgradeableConnection<TokioIo<Guarded<Socket>>, TowerToHyperService<Service>>;
type Http2 = http2::Connection<TokioIo<Socket>, TowerToHyperService<Service>, Streams>;

/// Serves a client until it leaves; once the shutdown begins, to the end of its exchanges; and until
/// it is cut.
pub(super) struct Connection {
    /// Dropped when the shutdown cuts: what it holds writes its record then.
    stage: Option<Stage>,
    watcher: Watcher,
    told: bool,
    open: Arc<Open>,
}

/// How far a connection has come.
pub(super) enum Stage {
    /// It is not yet known what is spoken. `None` comes of it when nothing is.
    Opening(Pin<Box<dyn Future<Output = Option<Stage>> + Send>>),
    Http1(Box<Http1>),
    Http2(Box<Multiplexed>),
}

/// A connection that carries any number of exchanges at once.
pub(super) struct Multiplexed {
    http: Http2,
    streams: Streams,
    /// What was seen when the timer last rang.
    seen: Seen,
    timer: Pin<Box<Sleep>>,
    limit: Duration,
    /// The client was told that the connection ends.
    ending: bool,
}

impl Connection {
    pub(super) fn new(
        opening: impl Future<Output = Option<Stage>> + Send + 'static,
        watcher: Watcher,
        open: Arc<Open>,
    ) -> Self {
        Self { stage: Some(Stage::Opening(Box::pin(opening))), watcher, told: false, open }
    }
}

impl Multiplexed {
    /// A connection that is ended once it has had no stream for between `limit` and twice that.
    pub(super) fn new(http: Http2, streams: Streams, limit: Duration) -> Self {
        let seen = streams.seen();
        Self { http, streams, seen, timer: Box::pin(sleep(limit)), limit, ending: false }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let seen = self.streams.seen();
            if seen.idle_since(self.seen) {
                if std::mem::replace(&mut self.ending, true) {
                    // It had as long again to answer, and need not be waited for.
                    return Poll::Ready(Ok(()));
                }
                Pin::new(&mut self.http).graceful_shutdown();
            }
            self.seen = seen;
            self.timer.as_mut().reset(Instant::now() + self.limit);
        }
        Pin::new(&mut self.http).poll(cx)
    }
}

impl Stage {
    fn begin_shutdown(&mut self) {
        match self {
            Self::Opening(_) => {}
            Self::Http1(http) => Pin::new(&mut **http).graceful_shutdown(),
            Self::Http2(multiplexed) => Pin::new(&mut multiplexed.http).graceful_shutdown(),
        }
    }
}

impl Future for Connection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let phase = this.watcher.phase(cx);
        // A client that has said nothing yet has nothing to lose.
        let unspoken = matches!(this.stage, Some(Stage::Opening(_)));
        if phase == Phase::Cut || (phase == Phase::Begun && unspoken) {
            this.stage = None;
        }
        loop {
            let Some(stage) = &mut this.stage else { return Poll::Ready(()) };
            if phase == Phase::Begun && !std::mem::replace(&mut this.told, true) {
                stage.begin_shutdown();
            }
            let ended = match stage {
                Stage::Opening(opening) => {
                    this.stage = ready!(opening.as_mut().poll(cx));
                    continue;
                }
                Stage::Http1(http) => ready!(Pin::new(&mut **http).poll(cx)),
                Stage::Http2(multiplexed) => ready!(multiplexed.poll(cx)),
            };
            if ended.is_err_and(|error| error.is_parse()) {
                this.open.tally.malformed_requests.fetch_add(1, Relaxed);
            }
            return Poll::Ready(());
        }
    }
}

/// Counts a connection, and holds its place, while it is open: a tunnel outlives the HTTP on it.
#[derive(Debug)]
pub(crate) struct Open {
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
