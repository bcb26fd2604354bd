//! Somebody who is told, over a real socket.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::LIMIT;

/// A request that came.
#[derive(Clone, Debug)]
pub(super) struct Came {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

type Requests = Arc<Mutex<Vec<Came>>>;

/// It takes everything. Ends when it is dropped.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) url: String,
    came: Requests,
    _server: JoinSet<()>,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let came = Requests::default();
        let mut server = JoinSet::new();
        let shared = Arc::clone(&came);
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let came = Arc::clone(&shared);
                let service = service_fn(move |request| answer(request, came.clone()));
                connections.spawn(async move {
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { url, came, _server: server }
    }

    pub(super) fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }

    /// Waits until so many requests have come.
    pub(super) async fn until(&self, n: usize) -> Vec<Came> {
        let waited = tokio::time::timeout(LIMIT, async {
            while self.came().len() < n {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        });
        waited.await.unwrap();
        self.came()
    }
}

async fn answer(request: Request<Incoming>, came: Requests) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap();
    came.lock().unwrap().push(Came { path: head.uri.path().to_owned(), headers: head.headers, body });
    Ok(Response::new(Full::default()))
}
