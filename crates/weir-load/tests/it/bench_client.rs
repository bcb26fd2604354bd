//! The bench's HTTP client, against servers that answer by hand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_load::bench::ask::Ask;
use weir_load::bench::backend::{Backend, BodyOptions};
use weir_load::bench::run::{BenchConfig, End, Failure, Limits, Sample, Target, run};
use weir_load::bench::schedule::{Rate, Schedule};

use crate::wire::guarded;

/// A stream of one token, and its end.
const STREAM: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Answers every request of every connection with the same bytes.
struct Server {
    addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: tokio::sync::mpsc::Receiver<String>,
}

async fn server(answer: String, tls: Option<TlsAcceptor>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let (seen, heads) = tokio::sync::mpsc::channel(16);
    let opened = Arc::clone(&connections);
    let tasks = TaskTracker::new();
    tasks.clone().spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            opened.fetch_add(1, Ordering::SeqCst);
            let (answer, seen, tls) = (answer.clone(), seen.clone(), tls.clone());
            tasks.spawn(async move {
                match tls {
                    // A client that does not trust the certificate is gone.
                    Some(tls) => {
                        if let Ok(socket) = tls.accept(socket).await {
                            answer_all(socket, &answer, &seen).await;
                        }
                    }
                    None => answer_all(socket, &answer, &seen).await,
                }
            });
        }
    });
    Server { addr, connections, heads }
}

/// Answers until the client closes, or after one request if the answer says so.
async fn answer_all(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    answer: &str,
    seen: &tokio::sync::mpsc::Sender<String>,
) {
    let mut bytes = Vec::new();
    loop {
        let (head, rest) = loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let length = |head: &str| {
                let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                line.map_or(0, |length| length.parse::<usize>().unwrap())
            };
            if let Some((head, body)) = text.split_once("\r\n\r\n")
                && body.len() >= length(head)
            {
                break (head.to_owned(), body.as_bytes()[length(head)..].to_vec());
            }
            if socket.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return;
            }
        };
        bytes = rest;
        let _ = seen.try_send(head);
        if socket.write_all(answer.as_bytes()).await.is_err() || answer.contains("connection: close") {
            let _ = socket.shutdown().await;
            return;
        }
    }
}

fn answer(headers: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{headers}\r\n\r\n{body}")
}

fn whole_answer(headers: &str) -> String {
    answer(&format!("content-length: {}{headers}", STREAM.len()), STREAM)
}

fn target(base_url: String) -> Target {
    Target { base_url, ..Target::default() }
}

/// Sends three requests, one after the other.
async fn three(target: Target) -> Vec<Sample> {
    let config = BenchConfig {
        target,
        backend: Backend::Chat,
        body: BodyOptions { model: "m".into(), ..BodyOptions::default() },
        schedule: Schedule::new(Rate::Unlimited, 1.0, 5).unwrap(),
        limits: Limits { max_concurrency: Some(1), timeout: Duration::from_secs(30), ..Limits::default() },
        id_prefix: "b-".into(),
        keeps_text: false,
    };
    let asks: Vec<Ask> = (0..3).map(|_| Ask::new("hi")).collect();
    guarded(run(&config, asks, &CancellationToken::new(), |_| ())).await.unwrap().samples
}

fn assert_all(samples: &[Sample], is: impl Fn(&End) -> bool) {
    assert_eq!(samples.len(), 3);
    for sample in samples {
        assert!(is(&sample.end), "{:?}", sample.end);
    }
}

#[tokio::test]
async fn a_connection_is_used_again_as_long_as_it_is_open() {
    let open = server(whole_answer(""), None).await;
    assert_all(&three(target(format!("http://{}", open.addr))).await, |end| *end == End::Complete);
    assert_eq!(open.connections.load(Ordering::SeqCst), 1);
    let closing = server(whole_answer("\r\nconnection: close"), None).await;
    assert_all(&three(target(format!("http://{}", closing.addr))).await, |end| *end == End::Complete);
    assert_eq!(closing.connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_request_is_what_the_url_and_the_headers_say() {
    let mut server = server(whole_answer(""), None).await;
    let headers = vec![("x-extra".to_owned(), "1".to_owned())];
    let url = format!("http://ann:secret@{}/under", server.addr);
    three(Target { headers, ..target(url) }).await;
    let head = server.heads.recv().await.unwrap();
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("POST /under/v1/chat/completions HTTP/1.1"));
    let lines: Vec<_> = lines.collect();
    for line in [
        format!("host: {}", server.addr),
        "authorization: Basic YW5uOnNlY3JldA==".to_owned(),
        "content-type: application/json".to_owned(),
        "x-extra: 1".to_owned(),
        "x-request-id: b-0".to_owned(),
    ] {
        assert!(lines.contains(&line.as_str()), "{line} is not in {lines:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_short_is_broken() {
    let length = answer(&format!("connection: close\r\ncontent-length: {}", STREAM.len() + 1), STREAM);
    let chunk = format!("{:x}\r\n{STREAM}\r\n", STREAM.len());
    let chunked = answer("connection: close\r\ntransfer-encoding: chunked", &chunk);
    let no_http = "hello, is this connection: close\r\n\r\n".to_owned();
    for answer in [length, chunked, no_http] {
        let server = server(answer.clone(), None).await;
        let samples = three(target(format!("http://{}", server.addr))).await;
        assert_all(&samples, |end| matches!(end, End::Failed(Failure::Broken, _)));
    }
}

#[tokio::test]
async fn an_endless_event_and_one_that_is_no_text_are_malformed() {
    for body in ["data: \u{1}".repeat(3 << 20), "data: {\"choices\":\n\n".to_owned()] {
        let server = server(answer(&format!("content-length: {}", body.len()), &body), None).await;
        let samples = three(target(format!("http://{}", server.addr))).await;
        assert_all(&samples, |end| matches!(end, End::Failed(Failure::Malformed, _)));
    }
}

#[tokio::test]
async fn only_a_trusted_server_is_asked_over_tls() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let server = server(whole_answer(""), Some(TlsAcceptor::from(Arc::new(config)))).await;
    let by_address = target(format!("https://{}", server.addr));
    let by_name = target(format!("https://localhost:{}", server.addr.port()));
    for target in [by_address, by_name] {
        let trusting = Target { trusted: cert.pem().into_bytes(), ..target.clone() };
        assert_all(&three(trusting).await, |end| *end == End::Complete);
        let careless = Target { trusts_all: true, ..target.clone() };
        assert_all(&three(careless).await, |end| *end == End::Complete);
        assert_all(&three(target).await, |end| matches!(end, End::Failed(Failure::Connect, _)));
    }
}
