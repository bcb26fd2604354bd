//! The life of a request.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::sync::watch;
use weir_core::dialect::Dialect;
use weir_core::draft::{Draft, End, Opening};
use weir_core::exchange::ExchangeId;
use weir_core::inflight::Inflight;
use weir_core::lanes::Lanes;
use weir_core::policy::Policy;
use weir_core::reader::ResponseHead;
use weir_core::tally::Tally;
use weir_core::timeline::Mark;

use crate::admission::{Admission, Rejection};
use crate::clock::{monotonic, wall};
use crate::config::Config;
use crate::drain::Drain;
use crate::error::ProxyError;
use crate::headers;
use crate::listener::Conflict;
use crate::outlet::Outlet;
use crate::respond::refusal;
use crate::tap::{self, ProxyBody, Record, RequestBody, Tap};
use crate::upstream::{Stream, Upstream};

/// What connects the data path with the rest of the process.
#[derive(Clone, Debug)]
pub struct Wiring {
    /// The limits in force; the only thing that comes from outside while it runs.
    pub policy: watch::Receiver<Policy>,
    /// Where records go.
    pub outlet: Outlet,
    /// Where exchanges in flight are listed.
    pub inflight: Arc<Inflight>,
    /// Where lanes show their gauges.
    pub lanes: Arc<Lanes>,
    /// What the data path counts about itself.
    pub tally: Arc<Tally>,
    /// How it is shut down.
    pub drain: Drain,
}

/// The proxy: one for all connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    config: Config,
    wiring: Wiring,
    admission: Arc<Admission>,
    upstream: Upstream,
    ids: AtomicU64,
    /// Begins the request ids that are made here; differs from process to process.
    id_prefix: u64,
}

impl Proxy {
    pub(crate) fn new(config: Config, wiring: Wiring) -> Self {
        let admission = Arc::new(Admission::new(&wiring.policy.borrow(), Arc::clone(&wiring.lanes)));
        let upstream = Upstream::new(
            config.upstream.clone(),
            config.timeouts.clone(),
            Arc::clone(&wiring.tally),
            wiring.drain.clone(),
        );
        follow_policy(&admission, &wiring);
        Self { config, wiring, admission, upstream, ids: AtomicU64::new(1), id_prefix: wall().0 }
    }

    /// Answers one request. However it ends, and if it is dropped, one record is written.
    pub(crate) async fn handle(&self, request: Request<Incoming>, client: Client) -> Response<ProxyBody> {
        let dialect = Dialect::of(request.method().as_str(), request.uri().path());
        let mut record = self.open(&request, dialect);
        match self.relay(request, dialect, client, &mut record).await {
            Ok(response) => response
                .map(|stream| ProxyBody::Tap(Box::new(Tap::new(record, stream, self.config.timeouts.idle)))),
            Err(error) => {
                if let Some(draft) = record.draft() {
                    draft.refused(error.status().as_u16());
                }
                record.close(End::Refused(error.outcome(), error.error_type()));
                refusal(error)
            }
        }
    }

    async fn relay(
        &self,
        request: Request<Incoming>,
        dialect: Dialect,
        client: Client,
        record: &mut Record,
    ) -> Result<Response<Stream>, ProxyError> {
        let (mut parts, body) = request.into_parts();
        if client.conflicting {
            return Err(ProxyError::ConflictingLengths);
        }
        if let Some(error) = headers::refuse(&parts) {
            return Err(error);
        }
        if self.wiring.drain.has_begun() {
            return Err(ProxyError::Draining);
        }
        let chunked = parts.headers.contains_key(TRANSFER_ENCODING);
        let body = match dialect {
            Dialect::Other => self.pass(body, chunked, record),
            _ => self.admit(body, chunked, record).await?,
        };
        record.mark(Mark::Admitted);
        headers::to_upstream(&mut parts, &self.config.upstream.url, &self.config.headers, client.address);
        let response = self.upstream.send(Request::from_parts(parts, body), record).await?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(ProxyError::UnexpectedUpgrade);
        }
        let (mut parts, stream) = response.into_parts();
        if let Some(draft) = record.draft() {
            let came = stream.last_read().unwrap_or_else(monotonic);
            draft.answered(&head(&parts.status, &parts.headers), came);
        }
        headers::to_client(&mut parts, &self.config.headers);
        Ok(Response::from_parts(parts, stream))
    }

    /// Reads the body of a request that needs leave, and waits for that.
    async fn admit(
        &self,
        body: Incoming,
        chunked: bool,
        record: &mut Record,
    ) -> Result<RequestBody, ProxyError> {
        let read = tap::read(body, self.config.request_buffer, chunked).await;
        let read = read.map_err(|_| ProxyError::RequestBody)?;
        let peek = read.body.peek();
        let model = peek.model.clone();
        record.follow(read.passing);
        if let Some(draft) = record.draft() {
            draft.request_bytes(read.bytes);
            draft.peeked(peek, read.waited);
        }
        record.mark(Mark::Queued);
        let permit = self.admission.admit(model.as_deref()).await.map_err(|rejection| match rejection {
            Rejection::Full(wait) => ProxyError::QueueFull { answer: self.config.full_status, wait },
            Rejection::TimedOut(wait) => ProxyError::QueueTimeout { wait },
        })?;
        record.hold(permit);
        Ok(read.body)
    }

    /// Lets the body of any other request pass as it comes.
    fn pass(&self, body: Incoming, chunked: bool, record: &mut Record) -> RequestBody {
        let (body, passing) = RequestBody::passing(body, chunked);
        record.follow(Some(passing));
        record.mark(Mark::Queued);
        body
    }

    fn open(&self, request: &Request<Incoming>, dialect: Dialect) -> Record {
        let received_mono = monotonic();
        let id = self.ids.fetch_add(1, Relaxed);
        let opening = Opening {
            id: ExchangeId(id),
            request_id: self.request_id(request.headers(), id),
            received: wall(),
            received_mono,
            method: request.method().as_str().into(),
            path: cut(request.uri().path(), PATH_LIMIT).into(),
            dialect,
            upstream: self.config.upstream.name.clone(),
        };
        let live = self.wiring.inflight.enter(ExchangeId(id), received_mono, dialect);
        let draft = Draft::open(opening, live, &self.config.watch);
        Record::new(draft, self.wiring.outlet.clone(), self.wiring.drain.clone())
    }

    fn request_id(&self, headers: &HeaderMap, id: u64) -> Box<str> {
        const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
        match headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty()) {
            Some(text) => cut(text, REQUEST_ID_LIMIT).into(),
            None => format!("weir-{:x}-{id:x}", self.id_prefix).into(),
        }
    }
}

/// Paths and request ids are cut to this many bytes in records: clients choose them.
const PATH_LIMIT: usize = 256;
const REQUEST_ID_LIMIT: usize = 128;

/// The longest beginning of `text` within `limit` bytes.
fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

fn head<'a>(status: &StatusCode, headers: &'a HeaderMap) -> ResponseHead<'a> {
    ResponseHead {
        status: status.as_u16(),
        content_type: headers.get(CONTENT_TYPE).map(|value| value.as_bytes()),
        content_encoding: headers.get(CONTENT_ENCODING).map(|value| value.as_bytes()),
    }
}

/// Goes by each new policy from the moment it is published.
fn follow_policy(admission: &Arc<Admission>, wiring: &Wiring) {
    let (admission, mut policy, drain) = (Arc::clone(admission), wiring.policy.clone(), wiring.drain.clone());
    wiring.drain.spawn(async move {
        loop {
            tokio::select! {
                changed = policy.changed() => match changed {
                    Ok(()) => admission.apply(&policy.borrow_and_update()),
                    Err(_) => return,
                },
                () = drain.begun() => return,
            }
        }
    });
}

/// The proxy as one client's connection sees it.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    proxy: Arc<Proxy>,
    address: IpAddr,
    conflict: Conflict,
    requests: Arc<AtomicU64>,
}

/// What is known of a request beside what stands in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    address: IpAddr,
    /// Its head states its length in two ways.
    conflicting: bool,
}

impl Service {
    pub(crate) fn new(proxy: &Arc<Proxy>, address: IpAddr, conflict: Conflict) -> Self {
        Self { proxy: Arc::clone(proxy), address, conflict, requests: Arc::default() }
    }
}

impl tower::Service<Request<Incoming>> for Service {
    type Response = Response<ProxyBody>;
    type Error = Infallible;
    // Boxed, so that the connection does not carry the handler's state through the whole stream.
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let (proxy, address) = (Arc::clone(&self.proxy), self.address);
        let ordinal = self.requests.fetch_add(1, Relaxed) + 1;
        let conflicting = self.conflict.is_in(ordinal);
        Box::pin(async move { Ok(proxy.handle(request, Client { address, conflicting }).await) })
    }
}
