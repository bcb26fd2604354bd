//! A collector of OpenTelemetry, over HTTP and gRPC, that does as it is told.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What a collector does with a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mood {
    Takes,
    /// Takes it but for so many spans.
    TakesMost(i64),
    /// An HTTP status, or the gRPC status that belongs to it.
    Status(u16, Option<&'static str>),
    /// Takes it and says nothing.
    Hangs,
    /// Takes it and closes the connection.
    Resets,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Bytes,
    /// Whether it was taken, whatever was answered.
    pub(crate) taken: bool,
}

#[derive(Debug, Default)]
struct State {
    moods: Vec<Mood>,
    came: Vec<Came>,
}

/// A running collector, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    _server: JoinSet<()>,
}

impl Collector {
    /// One that is in these moods, one request after the other; in the last of them for ever.
    pub(crate) async fn start(moods: impl Into<Vec<Mood>>) -> Self {
        Self::bind("127.0.0.1:0".parse().unwrap(), moods, None).await
    }

    pub(crate) async fn bind(at: SocketAddr, moods: impl Into<Vec<Mood>>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { moods: moods.into(), came: Vec::new() }));
        let mut server = JoinSet::new();
        let shared = Arc::clone(&state);
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(connection(stream, tls.clone(), Arc::clone(&shared)));
            }
        });
        Self { address, state, _server: server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes its mood.
    pub(crate) fn mood(&self, mood: Mood) {
        self.state.lock().unwrap().moods = vec![mood];
    }

    /// What came so far.
    pub(crate) fn came(&self) -> Vec<Came> {
        self.state.lock().unwrap().came.clone()
    }

    /// The traces that came and were taken: their ids.
    pub(crate) fn traces(&self) -> BTreeSet<Vec<u8>> {
        self.spans().into_iter().map(|span| span.trace_id).collect()
    }

    /// The spans that came and were taken.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.came().into_iter().filter(|came| came.taken && is_traces(&came.path));
        requests
            .flat_map(|came| ExportTraceServiceRequest::decode(came.message).unwrap().resource_spans)
            .flat_map(|all| all.scope_spans)
            .flat_map(|all| all.spans)
            .collect()
    }

    /// The requests with metrics that came and were taken.
    pub(crate) fn metrics(&self) -> Vec<ExportMetricsServiceRequest> {
        let requests = self.came().into_iter().filter(|came| came.taken && !is_traces(&came.path));
        requests.map(|came| ExportMetricsServiceRequest::decode(came.message).unwrap()).collect()
    }

    /// Waits until `is` holds.
    pub(crate) async fn until(&self, is: impl Fn(&Self) -> bool) {
        tokio::time::timeout(Duration::from_secs(20), async {
            while !is(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("waited in vain; {} requests came", self.came().len()));
    }
}

fn is_traces(path: &str) -> bool {
    path.ends_with("/v1/traces") || path.ends_with("TraceService/Export")
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, state: Arc<Mutex<State>>) {
    let service = service_fn(move |request| answer(request, Arc::clone(&state)));
    let mut preface = [0; 3];
    match tls {
        Some(acceptor) => {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let io = TokioIo::new(stream);
            if http2 {
                let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(io, service)
                    .await;
            } else {
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
            }
        }
        None => {
            if stream.peek(&mut preface).await.is_err() {
                return;
            }
            let io = TokioIo::new(stream);
            if &preface == b"PRI" {
                let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(io, service)
                    .await;
            } else {
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
            }
        }
    }
}

type Body = http_body_util::combinators::BoxBody<Bytes, Infallible>;

/// An error here is how a connection is closed without an answer.
async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
) -> Result<Response<Body>, &'static str> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Err("broken off") };
    let grpc =
        head.headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let message = if grpc { unframed(&body.to_bytes()) } else { unpacked(&head.headers, body.to_bytes()) };
    let mood = {
        let mut state = state.lock().unwrap();
        let mood = if state.moods.len() > 1 { state.moods.remove(0) } else { state.moods[0].clone() };
        let taken = !matches!(mood, Mood::Status(..));
        state.came.push(Came { path: head.uri.path().to_owned(), headers: head.headers, message, taken });
        mood
    };
    match mood {
        Mood::Resets => return Err("reset"),
        Mood::Hangs => std::future::pending().await,
        _ => {}
    }
    let rejected = if let Mood::TakesMost(spans) = mood { spans } else { 0 };
    let partial = ExportTracePartialSuccess { rejected_spans: rejected, error_message: "told to".into() };
    let said =
        ExportTraceServiceResponse { partial_success: (rejected > 0).then_some(partial) }.encode_to_vec();
    Ok(match mood {
        Mood::Status(status, after) if grpc => grpc_status(status, after),
        Mood::Status(status, after) => {
            let mut response = Response::new(Full::new(Bytes::new()).boxed());
            *response.status_mut() = status.try_into().unwrap();
            if let Some(after) = after {
                response.headers_mut().insert("retry-after", HeaderValue::from_static(after));
            }
            response
        }
        _ if grpc => grpc_message(&said),
        _ => Response::new(Full::new(Bytes::from(said)).boxed()),
    })
}

fn unpacked(headers: &HeaderMap, body: Bytes) -> Bytes {
    match headers.get("content-encoding").map(HeaderValue::as_bytes) {
        Some(b"gzip") => gunzip(&body),
        Some(other) => panic!("{other:?}"),
        None => body,
    }
}

fn gunzip(packed: &[u8]) -> Bytes {
    let mut plain = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut plain).unwrap();
    plain.into()
}

/// The message in gRPC's frame.
fn unframed(frame: &Bytes) -> Bytes {
    let length = u32::from_be_bytes(frame[1..5].try_into().unwrap()) as usize;
    assert_eq!(frame.len(), 5 + length);
    if frame[0] == 1 { gunzip(&frame[5..]) } else { frame.slice(5..) }
}

fn grpc_message(message: &[u8]) -> Response<Body> {
    let mut frame = vec![0];
    frame.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(message);
    let trailers: HeaderMap =
        [("grpc-status".parse().unwrap(), HeaderValue::from_static("0"))].into_iter().collect();
    let frames = [Frame::data(Bytes::from(frame)), Frame::trailers(trailers)];
    let body = StreamBody::new(Frames(frames.into_iter().collect()));
    let response = Response::builder().header("content-type", "application/grpc");
    response.body(body.boxed()).unwrap()
}

/// Frames one after the other.
struct Frames(std::collections::VecDeque<Frame<Bytes>>);

impl futures_util::Stream for Frames {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.pop_front().map(Ok))
    }
}

/// The status that means what an HTTP status means, with `RetryInfo` where a wait is asked for.
fn grpc_status(status: u16, after: Option<&'static str>) -> Response<Body> {
    let code = match status {
        400 => 3,
        401 => 16,
        404 => 12,
        429 => 8,
        503 => 14,
        _ => 13,
    };
    let mut response = Response::new(Full::new(Bytes::new()).boxed());
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", code.into());
    headers.insert("grpc-message", HeaderValue::from_static("told to"));
    if let Some(seconds) = after {
        let seconds: u8 = seconds.parse().unwrap();
        let url = b"type.googleapis.com/google.rpc.RetryInfo";
        let mut any = vec![10, u8::try_from(url.len()).unwrap()];
        any.extend_from_slice(url);
        any.extend_from_slice(&[18, 4, 10, 2, 8, seconds]);
        let mut details = vec![8, code as u8, 26, u8::try_from(any.len()).unwrap()];
        details.extend_from_slice(&any);
        let encoded = base64(&details);
        headers.insert("grpc-status-details-bin", HeaderValue::from_str(&encoded).unwrap());
    }
    response
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let word =
            part.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for sign in 0..=part.len() {
            text.push(SIGNS[(word >> (18 - 6 * sign) & 63) as usize].into());
        }
    }
    text
}
