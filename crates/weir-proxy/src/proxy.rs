//! The life of a request.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use tokio::sync::watch;
use weir_core::dialect::{Dialect, RequestHead};
use weir_core::draft::{Draft, End, Opening};
use weir_core::exchange::{Caller, ExchangeId, HttpVersion};
use weir_core::inflight::Inflight;
use weir_core::lanes::Lanes;
use weir_core::policy::Policy;
use weir_core::reader::ResponseHead;
use weir_core::tally::Tally;
use weir_core::timeline::Mark;
use weir_core::trace::TracePlace;

use crate::admission::{Admission, Rejection};
use crate::clock::{monotonic, wall};
use crate::config::{Config, TraceRule};
use crate::drain::Drain;
use crate::error::ProxyError;
use crate::headers::{self, Came, Upgrade};
use crate::listener::{Conflict, Open};
use crate::outlet::Outlet;
use crate::respond::refusal;
use crate::tap::{self, ProxyBody, Record, RequestBody, Tap};
use crate::tunnel::{Ends, Tunnel};
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
            Ok(Answer::Body(response)) => response
                .map(|stream| ProxyBody::Tap(Box::new(Tap::new(record, stream, self.config.timeouts.idle)))),
            Ok(Answer::Switched(head, tunnel)) => {
                self.wiring.drain.spawn(tunnel.run(record));
                head.map(|()| ProxyBody::whole(Bytes::new()))
            }
            Err(error) => {
                if let Some(draft) = record.draft() {
                    draft.refused(error.status().as_u16());
                }
                record.close(End::Refused(error.outcome(), error.error_type()));
                refusal(error, dialect.error_shape())
            }
        }
    }

    async fn relay(
        &self,
        mut request: Request<Incoming>,
        dialect: Dialect,
        client: Client,
        record: &mut Record,
    ) -> Result<Answer, ProxyError> {
        let switched = hyper::upgrade::on(&mut request);
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
        if parts.version == Version::HTTP_2 {
            headers::from_http2(&mut parts, &body);
        }
        let upgrade = Upgrade::asked(&parts);
        let chunked = parts.headers.contains_key(TRANSFER_ENCODING);
        let body = match dialect {
            Dialect::Other => self.pass(body, chunked, record),
            _ => self.admit(body, chunked, &asked(dialect, &parts), record).await?,
        };
        record.mark(Mark::Admitted);
        let came = Came {
            client: client.address,
            secure: client.secure,
            upgrade: upgrade.as_ref(),
            trace: record.trace().filter(|_| self.config.context.trace == TraceRule::Continue),
        };
        headers::to_upstream(&mut parts, &self.config.upstream, &self.config.headers, &came);
        let request = Request::from_parts(parts, body);
        let mut response = self.upstream.send(request, upgrade.is_some(), record).await?;
        if let Some(draft) = record.draft() {
            let came = response.body().last_read().unwrap_or_else(monotonic);
            draft.answered(&head(&response), came);
        }
        let upstream = hyper::upgrade::on(&mut response);
        let (mut parts, stream) = response.into_parts();
        headers::to_client(&mut parts, &self.config.headers);
        if parts.status != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Answer::Body(Response::from_parts(parts, stream)));
        }
        if !upgrade.is_some_and(|asked| asked.includes(&parts.headers)) {
            return Err(ProxyError::UnexpectedUpgrade);
        }
        client.conflict.release();
        let ends = Ends { client: switched, upstream, stream };
        let tunnel = Tunnel::new(ends, client.open, self.config.timeouts.idle);
        Ok(Answer::Switched(Response::from_parts(parts, ()), tunnel))
    }

    /// Reads the body of a request that needs leave, and waits for that.
    async fn admit(
        &self,
        body: Incoming,
        chunked: bool,
        head: &RequestHead<'_>,
        record: &mut Record,
    ) -> Result<RequestBody, ProxyError> {
        let limits = (self.config.request_buffer, self.config.listen.body_timeout);
        let read = tap::read(body, limits, chunked).await?;
        let mut peek = read.body.peek(head);
        let key = self.config.context.prompt_key.as_ref();
        peek.prompt_hash = key.and_then(|key| key.hash(head.dialect, read.body.seen()));
        let model = peek.model.clone();
        record.follow(read.passing);
        if let Some(draft) = record.draft() {
            draft.request_bytes(read.bytes);
            draft.peeked(peek, read.waited);
            if let Some(limit) = self.config.context.capture {
                draft.capture(limit, read.body.seen());
            }
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
            trace: self.place(request.headers()),
            received: wall(),
            received_mono,
            method: cut(request.method().as_str(), METHOD_LIMIT).into(),
            http: version(request.version()),
            caller: self.caller(request.headers()),
            path: cut(request.uri().path(), PATH_LIMIT).into(),
            dialect,
            upstream: self.config.upstream.name.clone(),
        };
        let live = self.wiring.inflight.enter(ExchangeId(id), received_mono, dialect);
        let draft = Draft::open(opening, live, &self.config.watch);
        Record::new(draft, self.wiring.outlet.clone(), self.wiring.drain.clone())
    }

    fn place(&self, headers: &HeaderMap) -> Option<Box<TracePlace>> {
        let joins = self.config.context.trace != TraceRule::Ignore;
        joins.then(|| Box::new(headers::trace::place(headers)))
    }

    fn caller(&self, headers: &HeaderMap) -> Caller {
        let named = |header: &Option<HeaderName>| {
            let text = headers.get(header.as_ref()?)?.to_str().ok()?;
            (!text.is_empty()).then(|| cut(text, CALLER_LIMIT).into())
        };
        let rules = &self.config.context;
        Caller { session: named(&rules.session_header), user: named(&rules.user_header) }
    }

    fn request_id(&self, headers: &HeaderMap, id: u64) -> Box<str> {
        const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
        match headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty()) {
            Some(text) => cut(text, REQUEST_ID_LIMIT).into(),
            None => format!("weir-{:x}-{id:x}", self.id_prefix).into(),
        }
    }
}

fn version(version: Version) -> HttpVersion {
    match version {
        Version::HTTP_2 => HttpVersion::Http2,
        Version::HTTP_10 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}

/// Methods, paths and request ids are cut to this many bytes in records: clients choose them.
const METHOD_LIMIT: usize = 32;
const PATH_LIMIT: usize = 256;
const REQUEST_ID_LIMIT: usize = 128;
/// Sessions and users too; trace backends take no more.
const CALLER_LIMIT: usize = 200;

/// The longest beginning of `text` within `limit` bytes.
fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// What comes of a request that reached the upstream.
enum Answer {
    /// A body that flows.
    Body(Response<Stream>),
    /// The connection goes on in another protocol.
    Switched(Response<()>, Tunnel),
}

/// What of a request's head its body is read by.
fn asked(dialect: Dialect, parts: &http::request::Parts) -> RequestHead<'_> {
    let content_type = parts.headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    RequestHead { dialect, path: parts.uri.path(), content_type }
}

fn head<B>(response: &Response<B>) -> ResponseHead<'_> {
    let headers = response.headers();
    ResponseHead {
        status: response.status().as_u16(),
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
    secure: bool,
    conflict: Conflict,
    open: Arc<Open>,
    requests: Arc<AtomicU64>,
}

/// What is known of a request beside what stands in it.
#[derive(Debug)]
pub(crate) struct Client {
    address: IpAddr,
    /// It came under TLS.
    secure: bool,
    /// Its head states its length in two ways.
    conflicting: bool,
    conflict: Conflict,
    open: Arc<Open>,
}

impl Service {
    pub(crate) fn new(
        proxy: &Arc<Proxy>,
        address: IpAddr,
        secure: bool,
        conflict: Conflict,
        open: Arc<Open>,
    ) -> Self {
        Self { proxy: Arc::clone(proxy), address, secure, conflict, open, requests: Arc::default() }
    }

    /// The next request's client.
    fn client(&self) -> Client {
        let ordinal = self.requests.fetch_add(1, Relaxed) + 1;
        Client {
            address: self.address,
            secure: self.secure,
            conflicting: self.conflict.is_in(ordinal),
            conflict: self.conflict.clone(),
            open: Arc::clone(&self.open),
        }
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
        let (proxy, client) = (Arc::clone(&self.proxy), self.client());
        Box::pin(async move { Ok(proxy.handle(request, client).await) })
    }
}
