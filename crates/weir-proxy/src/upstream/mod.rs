//! The upstream: its connections, and the sending of one request.

mod connect;
mod lease;
mod pool;
mod shared;
mod socket;
mod stream;

pub(crate) use stream::Stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use http::uri::Scheme;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::sync::Mutex;
use tokio::time::timeout;
use weir_core::tally::Tally;
use weir_core::timeline::Mark;

use crate::config::{Timeouts, UpstreamConfig, UpstreamHttp};
use crate::drain::Drain;
use crate::error::ProxyError;
use crate::tap::{Record, RequestBody};
use crate::tls::Offer;

use connect::Opened;
use lease::{Failed, Lease};
use pool::Pool;
use shared::Shared;

/// A request that was given back unsent goes out anew at most so often: each time, a connection has
/// died.
const MOST_RETRIES: usize = 16;

/// A server that has not begun with a request is asked again so often.
const MOST_REFUSALS: usize = 2;

/// One upstream.
#[derive(Debug)]
pub(crate) struct Upstream {
    config: UpstreamConfig,
    timeouts: Timeouts,
    pool: Arc<Pool>,
    shared: Arc<Shared>,
    /// Held while a connection is opened that many may share, so that they do not open one each.
    opening: Mutex<()>,
    /// The server was offered both versions, and chose the older one.
    chose_http1: AtomicBool,
    /// The last attempt to connect failed.
    unreachable: AtomicBool,
    tally: Arc<Tally>,
    drain: Drain,
}

impl Upstream {
    pub(crate) fn new(config: UpstreamConfig, timeouts: Timeouts, tally: Arc<Tally>, drain: Drain) -> Self {
        let pool = Arc::new(Pool::new(config.max_idle, config.idle_timeout));
        let shared = Arc::new(Shared::new(config.idle_timeout));
        let (opening, chose_http1, unreachable) = (Mutex::default(), false.into(), false.into());
        Self { config, timeouts, pool, shared, opening, chose_http1, unreachable, tally, drain }
    }

    /// Sends a request and waits for the response head. The body that comes back holds its
    /// connection until it is kept or dropped. One that asks for an upgrade goes over HTTP/1.1,
    /// which alone has it.
    pub(crate) async fn send(
        &self,
        request: Request<RequestBody>,
        upgrade: bool,
        record: &mut Record,
    ) -> Result<Response<Stream>, ProxyError> {
        let mut request = request;
        let offer = match (self.config.http, self.config.url.is_secure()) {
            _ if upgrade => Offer::Http1,
            (UpstreamHttp::Http1, _) | (UpstreamHttp::Auto, false) => Offer::Http1,
            (UpstreamHttp::Http2, _) => Offer::Http2,
            (UpstreamHttp::Auto, true) => Offer::Either,
        };
        let mut refusals = 0;
        for _ in 0..MOST_RETRIES {
            let (mut lease, kept) = self.connection(offer).await?;
            record.mark(Mark::Connected);
            record.mark(Mark::Dispatched);
            let answer = timeout(self.timeouts.response_head, lease.send(request, self.scheme()));
            let Failed { error, unsent, refused } = match answer.await {
                Ok(Ok(response)) => return Ok(self.answered(response, lease)),
                Ok(Err(failed)) => failed,
                Err(_elapsed) => return Err(ProxyError::HeadTimeout),
            };
            // It comes back only if nothing of it was written, or if the server says that it has not
            // begun with it: then, and only then, can nothing of it have been processed.
            refusals += usize::from(refused);
            match unsent {
                Some(unsent) if (kept || refused) && refusals <= MOST_REFUSALS => {
                    self.tally.upstream_retries.fetch_add(1, Relaxed);
                    request = unsent;
                }
                _ if error.is_user() => return Err(ProxyError::RequestBody),
                _ => {
                    if kept {
                        self.pool.closed_under_a_request();
                    }
                    return Err(ProxyError::NoAnswer);
                }
            }
        }
        Err(ProxyError::NoAnswer)
    }

    /// A connection that stands ready, and whether it had been there before.
    async fn connection(&self, offer: Offer) -> Result<(Lease, bool), ProxyError> {
        if let Some(lease) = self.kept(offer) {
            return Ok((lease, true));
        }
        // Boxed, so that what few requests need is not carried along by each.
        match timeout(self.timeouts.connect, Box::pin(self.open(offer))).await {
            Ok(Ok(ready)) => {
                if self.unreachable.swap(false, Relaxed) {
                    tracing::info!(upstream = %self.config.name, "the upstream can be reached again");
                }
                Ok(ready)
            }
            Ok(Err(error)) => {
                self.cannot_connect(&error);
                Err(ProxyError::Unreachable)
            }
            Err(elapsed) => {
                self.cannot_connect(&elapsed);
                Err(ProxyError::ConnectTimeout)
            }
        }
    }

    /// Counted each time, and told once until it works again.
    fn cannot_connect(&self, why: &dyn std::fmt::Display) {
        self.tally.upstream_connect_errors.fetch_add(1, Relaxed);
        if !self.unreachable.swap(true, Relaxed) {
            tracing::warn!(upstream = %self.config.name, %why, "the upstream cannot be reached");
        }
    }

    fn kept(&self, offer: Offer) -> Option<Lease> {
        let shared = || (offer != Offer::Http1).then(|| self.shared.take().map(Lease::Place)).flatten();
        let own = || (offer != Offer::Http2).then(|| self.pool.take().map(Lease::Own)).flatten();
        shared().or_else(own)
    }

    async fn open(&self, offer: Offer) -> std::io::Result<(Lease, bool)> {
        let alone = offer == Offer::Http1 || (offer == Offer::Either && self.chose_http1.load(Relaxed));
        let _opening = if alone { None } else { Some(self.opening.lock().await) };
        // Another may have opened one that has room, while this one waited to do so.
        if let Some(lease) = (!alone).then(|| self.kept(offer)).flatten() {
            return Ok((lease, true));
        }
        let opened = connect::open(&self.config, offer, &self.drain).await?;
        self.tally.upstream_connects.fetch_add(1, Relaxed);
        if offer == Offer::Either {
            self.chose_http1.store(matches!(opened, Opened::Http1(_)), Relaxed);
        }
        let lease = match opened {
            Opened::Http1(connection) => Lease::Own(self.pool.lease(connection)),
            Opened::Http2(connection) => Lease::Place(self.shared.add(connection)),
        };
        Ok((lease, false))
    }

    fn scheme(&self) -> &'static Scheme {
        if self.config.url.is_secure() { &Scheme::HTTPS } else { &Scheme::HTTP }
    }

    fn answered(&self, response: Response<Incoming>, lease: Lease) -> Response<Stream> {
        response.map(|body| Stream::new(body, lease, self.drain.clone(), Arc::clone(&self.tally)))
    }
}
