//! A served admin port, with this side of its channels.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_analysis::api::{AlertCommand, CommandError, ExchangeFilter, ExchangeSummary};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;
use weir_core::page::PageFormat;
use weir_dash::{Admin, AdminConfig, AdminHandles, Token};

pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) pages: mpsc::Receiver<(PageFormat, oneshot::Sender<String>)>,
    pub(crate) exchanges: mpsc::Receiver<(ExchangeFilter, oneshot::Sender<Vec<ExchangeSummary>>)>,
    pub(crate) alerts: mpsc::Receiver<(AlertCommand, oneshot::Sender<Result<(), CommandError>>)>,
    pub(crate) snapshot: watch::Sender<Arc<Snapshot>>,
    pub(crate) ready: watch::Sender<bool>,
    pub(crate) stop: CancellationToken,
    pub(crate) tracker: TaskTracker,
}

/// On a loopback address, without a token.
pub(crate) async fn house() -> House {
    house_at((Ipv4Addr::LOCALHOST, 0).into(), None).await
}

pub(crate) async fn house_at(listen: SocketAddr, token: Option<&str>) -> House {
    let (asking, pages) = mpsc::channel(4);
    let (wanting, exchanges) = mpsc::channel(4);
    let (commanding, alerts) = mpsc::channel(4);
    let (snapshot, seen) = watch::channel(Arc::new(Snapshot::empty(Moment(1), Moment(0))));
    let (ready, readiness) = watch::channel(true);
    let handles = AdminHandles {
        pages: asking,
        exchanges: wanting,
        alerts: commanding,
        snapshot: seen,
        ready: readiness,
    };
    let config = AdminConfig { listen, token: token.map(|token| Token::new(token).unwrap()) };
    let admin = Admin::bind(config, handles).await.unwrap();
    let port = admin.local_addr().unwrap().port();
    let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
    admin.serve(stop.clone(), &tracker);
    let address = (Ipv4Addr::LOCALHOST, port).into();
    House { address, pages, exchanges, alerts, snapshot, ready, stop, tracker }
}

/// A snapshot of this time.
pub(crate) fn snapshot(at: u64) -> Arc<Snapshot> {
    Arc::new(Snapshot::empty(Moment(at), Moment(0)))
}

/// One request on a connection of its own; the whole answer.
pub(crate) async fn ask(address: SocketAddr, line: &str) -> String {
    send(address, &format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).await
}

/// A POST of JSON.
pub(crate) async fn post(address: SocketAddr, path: &str, body: &str) -> String {
    let head = "host: localhost\r\ncontent-type: application/json\r\nconnection: close";
    let length = body.len();
    send(address, &format!("POST {path} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}")).await
}

/// These bytes on a connection of their own; the whole answer.
pub(crate) async fn send(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A server that does not read all of a request may reset the connection behind its answer.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

pub(crate) fn json(answer: &str) -> Value {
    assert!(answer.contains("content-type: application/json\r\n"), "{answer}");
    assert!(answer.contains("cache-control: no-store\r\n"), "{answer}");
    serde_json::from_str(body(answer)).unwrap()
}

/// The code of an error, which has OpenAI's shape.
pub(crate) fn code(answer: &str) -> String {
    let json = json(answer);
    let error = &json["error"];
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    assert!(error["type"].as_str().is_some_and(|kind| kind.ends_with("_error")), "{answer}");
    error["code"].as_str().unwrap().to_owned()
}
