//! The upstream: a pool of kept connections, and the sending of one request.

mod connect;
mod pool;
mod socket;
mod stream;

pub(crate) use stream::Stream;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::timeout;
use weir_core::tally::Tally;
use weir_core::timeline::Mark;

use crate::config::{Timeouts, UpstreamConfig};
use crate::drain::Drain;
use crate::error::ProxyError;
use crate::tap::{Record, RequestBody};

use pool::{Lease, Pool};

/// One upstream.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) config: UpstreamConfig,
    timeouts: Timeouts,
    pool: Arc<Pool>,
    tally: Arc<Tally>,
    drain: Drain,
}

impl Upstream {
    pub(crate) fn new(config: UpstreamConfig, timeouts: Timeouts, tally: Arc<Tally>, drain: Drain) -> Self {
        let pool = Arc::new(Pool::new(config.max_idle, config.idle_timeout));
        Self { config, timeouts, pool, tally, drain }
    }

    /// Sends a request and waits for the response head. The body that comes back holds its
    /// connection until it is kept or dropped.
    pub(crate) async fn send(
        &self,
        request: Request<RequestBody>,
        record: &mut Record,
    ) -> Result<Response<Stream>, ProxyError> {
        let mut request = request;
        loop {
            let (mut lease, kept) = self.connection().await?;
            record.mark(Mark::Connected);
            record.mark(Mark::Dispatched);
            let answer = timeout(self.timeouts.response_head, lease.sender().try_send_request(request));
            let error = match answer.await {
                Ok(Ok(response)) => return Ok(self.answered(response, lease)),
                Ok(Err(error)) => error,
                Err(_elapsed) => return Err(ProxyError::HeadTimeout),
            };
            // Hyper gives the request back only if nothing of it was written: then, and only then,
            // can nothing of it have been processed.
            let (error, unsent) = into_parts(error);
            match unsent {
                Some(unsent) if kept => {
                    self.tally.upstream_retries.fetch_add(1, Relaxed);
                    request = unsent;
                }
                _ if error.is_user() => return Err(ProxyError::RequestBody),
                _ => return Err(ProxyError::NoAnswer),
            }
        }
    }

    /// A connection that stands ready, and whether it had been kept from an earlier request.
    async fn connection(&self) -> Result<(Lease, bool), ProxyError> {
        if let Some(lease) = self.pool.take() {
            return Ok((lease, true));
        }
        let opened = timeout(self.timeouts.connect, connect::open(&self.config.url, &self.pool, &self.drain));
        match opened.await {
            Ok(Ok(lease)) => {
                self.tally.upstream_connects.fetch_add(1, Relaxed);
                Ok((lease, false))
            }
            failed => {
                self.tally.upstream_connect_errors.fetch_add(1, Relaxed);
                Err(if failed.is_err() { ProxyError::ConnectTimeout } else { ProxyError::Unreachable })
            }
        }
    }

    fn answered(&self, response: Response<Incoming>, lease: Lease) -> Response<Stream> {
        response.map(|body| Stream::new(body, lease, self.drain.clone(), Arc::clone(&self.tally)))
    }
}

type SendError = hyper::client::conn::TrySendError<Request<RequestBody>>;

fn into_parts(mut error: SendError) -> (hyper::Error, Option<Request<RequestBody>>) {
    let unsent = error.take_message();
    (error.into_error(), unsent)
}
