//! The HTTP/1.1 client of the bench: hyper's connections, each polled by the request that uses it.
//!
//! A client with a task for each connection, as reqwest and hyper-util have it, wakes two tasks for every event
//! of a paced stream. Here the task that reads the events reads the socket.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use reqwest::Url;

pub(in crate::bench::run) use self::answer::Answer;
use self::link::Link;
use self::wire::Door;
use super::config::{BenchError, Target};
use super::sample::{End, Failure};

mod answer;
mod link;
mod trust;
mod wire;

/// Sends requests to one URL. Connections are kept open and never wait for each other.
#[derive(Clone)]
pub(super) struct Client {
    door: Door,
    uri: Uri,
    headers: HeaderMap,
    idle: Arc<Mutex<Vec<Link>>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("uri", &self.uri).finish_non_exhaustive()
    }
}

/// What kept an answer from coming.
#[derive(Debug)]
pub(super) enum Lost {
    /// There was no connection to be had; why.
    Connect(String),
    /// The connection broke, or does not speak HTTP; how.
    Broken(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Connect(why) | Lost::Broken(why) => f.write_str(why),
        }
    }
}

impl From<hyper::Error> for Lost {
    /// The first cause says more than the message that wraps it.
    fn from(error: hyper::Error) -> Self {
        Lost::Broken(first_cause(&error))
    }
}

impl From<Lost> for End {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Connect(why) => End::Failed(Failure::Connect, super::short(why)),
            Lost::Broken(why) => End::Failed(Failure::Broken, super::short(why)),
        }
    }
}

impl Client {
    /// For requests to `url`, with `headers` in each.
    ///
    /// # Errors
    ///
    /// When the URL has no host, or the certificates to trust cannot be read.
    pub(super) fn new(target: &Target, url: &Url, mut headers: HeaderMap) -> Result<Self, BenchError> {
        let wrong = |says: &str| BenchError::Url(url.to_string(), says.to_owned());
        let host = url.host().ok_or_else(|| wrong("it names no host"))?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_string(),
        };
        let authority = HeaderValue::try_from(authority).map_err(|_| wrong("its host cannot be sent"))?;
        headers.entry(HOST).or_insert(authority);
        if !url.username().is_empty() && !headers.contains_key(AUTHORIZATION) {
            let login = STANDARD.encode(format!("{}:{}", url.username(), url.password().unwrap_or("")));
            let value = HeaderValue::try_from(format!("Basic {login}"));
            headers.insert(AUTHORIZATION, value.map_err(|_| wrong("its login cannot be sent"))?);
        }
        let uri = match url.query() {
            Some(query) => format!("{}?{query}", url.path()).parse(),
            None => url.path().parse(),
        };
        Ok(Client {
            door: Door::new(target, url)?,
            uri: uri.map_err(|_| wrong("its path cannot be sent"))?,
            headers,
            idle: Arc::default(),
        })
    }

    /// Asks without a body.
    pub(super) async fn get(&self) -> Result<Answer, Lost> {
        self.send(self.request(Method::GET, Bytes::new())).await
    }

    /// Sends `body` with the request id `id`, and gives the answer as soon as its head is there.
    pub(super) async fn post(&self, id: &str, body: Vec<u8>) -> Result<Answer, Lost> {
        let mut request = self.request(Method::POST, body.into());
        let id = HeaderValue::try_from(id).map_err(|error| Lost::Broken(error.to_string()))?;
        request.headers_mut().insert("x-request-id", id);
        self.send(request).await
    }

    fn request(&self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Answer, Lost> {
        loop {
            let mut link = match self.take() {
                Some(link) => link,
                None => Link::over(self.door.open().await?).await?,
            };
            let is_fresh = link.is_fresh();
            match link.send(request).await {
                Ok(response) => return Ok(Answer::new(response, link, Arc::clone(&self.idle))),
                // The server closed an idle connection just now, and has seen nothing of the request.
                Err((_, Some(unsent))) if !is_fresh => request = unsent,
                Err((error, _)) => return Err(error.into()),
            }
        }
    }

    /// An idle connection that is still open.
    fn take(&self) -> Option<Link> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // The one that was used last is the one that the server closes last.
        while let Some(mut link) = idle.pop() {
            if link.is_ready() {
                return Some(link);
            }
        }
        None
    }
}

/// What lies at the bottom of an error.
fn first_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::bench::backend::Backend;

    #[tokio::test]
    async fn a_connection_that_was_closed_while_idle_is_not_used_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let client = Target { base_url, ..Target::default() }.client(Backend::Chat).unwrap();
        for round in 0..3 {
            let serve = async {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut bytes = [0; 1024];
                assert!(socket.read(&mut bytes).await.unwrap() > 0);
                socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
                socket
            };
            let ask = async {
                let mut answer = client.post("id", b"{}".to_vec()).await.unwrap();
                answer.read_at_most(100).await.unwrap()
            };
            let (socket, body) = tokio::join!(serve, ask);
            assert_eq!(body, b"ok", "round {round}");
            drop(socket);
            // Until the end of the connection is known here.
            while let Some(link) = client.take() {
                client.idle.lock().unwrap().push(link);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    #[test]
    fn a_url_that_cannot_be_asked_is_refused() {
        let target = Target { base_url: "https://exa_mple..com".into(), ..Target::default() };
        assert!(matches!(target.client(Backend::Chat), Err(BenchError::Url(..))));
        let target = Target {
            base_url: "https://a".into(),
            trusted: b"-----BEGIN CERTIFICATE-----\nx\n".to_vec(),
            ..Target::default()
        };
        assert!(matches!(target.client(Backend::Chat), Err(BenchError::Tls(_))));
    }
}
