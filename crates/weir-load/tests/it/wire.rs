//! A client that speaks HTTP/1.1 by hand, so that it sees what is really on the wire.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_load::clock::monotonic_ns;
use weir_load::engine::{Behaviour, Engine, EngineConfig, Stats};

/// A test that waits this long waits for ever.
const GUARD: Duration = Duration::from_secs(60);

/// An engine that does not make tests wait.
pub(crate) fn config() -> EngineConfig {
    EngineConfig {
        behaviour: Behaviour { ttft: Duration::ZERO, tps: f64::INFINITY, ..Behaviour::default() },
        ..EngineConfig::default()
    }
}

pub(crate) async fn engine(config: EngineConfig) -> Engine {
    Engine::bind(config, SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap()
}

/// Waits until the engine's counters satisfy `is`.
pub(crate) async fn until(engine: &Engine, is: impl Fn(&Stats) -> bool) -> Stats {
    guarded(async {
        loop {
            let stats = engine.stats();
            if is(&stats) {
                return stats;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
}

pub(crate) async fn guarded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(GUARD, future).await.expect("the test hangs")
}

/// How the other side closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Fin,
    Reset,
}

/// A connection that is being read.
pub(crate) struct Connection {
    stream: TcpStream,
    pub(crate) bytes: Vec<u8>,
    /// When each read returned, with the number of bytes there were after it.
    pub(crate) reads: Vec<(u64, usize)>,
}

impl Connection {
    pub(crate) async fn open(engine: &Engine) -> Self {
        let stream = TcpStream::connect(engine.addr()).await.unwrap();
        Connection { stream, bytes: Vec::new(), reads: Vec::new() }
    }

    pub(crate) async fn send(&mut self, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut request = format!("POST {path} HTTP/1.1\r\nhost: sim\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    /// Reads until the bytes satisfy `enough`.
    pub(crate) async fn read_until(&mut self, enough: impl Fn(&[u8]) -> bool) {
        guarded(async {
            while !enough(&self.bytes) {
                assert!(self.read().await.unwrap() > 0, "closed early: {}", self.text());
            }
        })
        .await;
    }

    /// Reads until the other side closes.
    pub(crate) async fn read_to_close(&mut self) -> Close {
        guarded(async {
            loop {
                match self.read().await {
                    Ok(0) => return Close::Fin,
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                        return Close::Reset;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        })
        .await
    }

    async fn read(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 16 * 1024];
        let read = self.stream.read(&mut buffer).await?;
        self.bytes.extend_from_slice(&buffer[..read]);
        self.reads.push((monotonic_ns(), self.bytes.len()));
        Ok(read)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A response as it was on the wire.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// The body as it was, packed or not.
    pub(crate) bytes: Vec<u8>,
    /// Whether the body ended as its framing says: by the terminal chunk or by its length.
    pub(crate) complete: bool,
    pub(crate) close: Close,
}

impl Answer {
    pub(crate) fn parse(bytes: &[u8], close: Close) -> Self {
        let (head, rest) = split(bytes, b"\r\n\r\n").expect("a response head");
        let head = String::from_utf8(head.to_vec()).unwrap().to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let (body, complete) = if head.contains("transfer-encoding: chunked") {
            dechunk(rest)
        } else {
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            (rest.to_vec(), rest.len() == length)
        };
        let text = String::from_utf8_lossy(&body).into_owned();
        Answer { status, head, body: text, bytes: body, complete, close }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The data of each event; the body must consist of nothing else.
    pub(crate) fn events(&self) -> Vec<&str> {
        let mut events: Vec<&str> = self.body.split("\n\n").collect();
        assert_eq!(events.pop(), Some(""), "an event is not finished");
        events.into_iter().map(|event| event.strip_prefix("data: ").unwrap()).collect()
    }

    /// The events as JSON, without `[DONE]`, which must be the last.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let mut events = self.events();
        assert_eq!(events.pop(), Some("[DONE]"));
        events.into_iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}

/// Sends one request on a connection of its own and reads everything that comes.
pub(crate) async fn post(engine: &Engine, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut connection = Connection::open(engine).await;
    let headers = [headers, &[("connection", "close")]].concat();
    connection.send(path, &headers, body).await;
    let close = connection.read_to_close().await;
    Answer::parse(&connection.bytes, close)
}

/// A chat stream; of a body without messages, with none.
pub(crate) async fn chat(engine: &Engine, headers: &[(&str, &str)], body: Value) -> Answer {
    let mut body = body;
    body["stream"] = Value::Bool(true);
    if body["messages"].is_null() {
        body["messages"] = Value::Array(Vec::new());
    }
    post(engine, "/v1/chat/completions", headers, &body.to_string()).await
}

/// Takes a chunked body apart; tells whether its terminal chunk came.
fn dechunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some((size, after)) = split(rest, b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(size).unwrap(), 16).unwrap();
        if size == 0 {
            assert_eq!(after, b"\r\n", "bytes after the terminal chunk");
            return (body, true);
        }
        body.extend_from_slice(&after[..size]);
        rest = after[size..].strip_prefix(b"\r\n").unwrap();
    }
    assert!(rest.is_empty(), "half a chunk");
    (body, false)
}

fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    Some((&bytes[..at], &bytes[at + mark.len()..]))
}

/// How many events are complete. A head has no line end that is not CRLF, so it holds none.
pub(crate) fn events(bytes: &[u8]) -> usize {
    count(bytes, "\n\n")
}

/// How many times `mark` is in `bytes`.
pub(crate) fn count(bytes: &[u8], mark: &str) -> usize {
    bytes.windows(mark.len()).filter(|window| *window == mark.as_bytes()).count()
}
