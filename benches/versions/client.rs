//! The clients' side: all streams at once, each read to its end.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::tls::Authority;
use crate::{EVENTS, STREAMS, Wire};

/// How many events came.
pub(crate) fn load(proxy: SocketAddr, wire: Wire, authority: &Authority) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut streams = JoinSet::new();
        if wire.client_http2 {
            let (sender, connection) =
                http2::handshake(TokioExecutor::new(), connect(proxy, wire, authority).await).await.unwrap();
            streams.spawn(async move {
                let _ = connection.await;
                0
            });
            for _ in 0..STREAMS {
                let mut sender = sender.clone();
                streams.spawn(async move { read(sender.send_request(request(proxy)).await.unwrap()).await });
            }
            drop(sender);
        } else {
            for _ in 0..STREAMS {
                let (mut sender, connection) =
                    http1::handshake(connect(proxy, wire, authority).await).await.unwrap();
                streams.spawn(async move {
                    let _ = connection.await;
                    0
                });
                streams.spawn(async move { read(sender.send_request(request(proxy)).await.unwrap()).await });
            }
        }
        let mut events = 0;
        while let Some(came) = streams.join_next().await {
            events += came.unwrap();
        }
        assert_eq!(events, STREAMS * (EVENTS + 2), "events were lost");
        events
    })
}

fn request(proxy: SocketAddr) -> Request<Full<Bytes>> {
    Request::post(format!("http://{proxy}/v1/chat/completions"))
        .header("host", proxy.to_string())
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(b"{\"model\":\"m\",\"stream\":true}")))
        .unwrap()
}

async fn read(response: http::Response<Incoming>) -> usize {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    memchr::memmem::find_iter(&body, b"data: ").count()
}

trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket for S {}

async fn connect(proxy: SocketAddr, wire: Wire, authority: &Authority) -> TokioIo<Box<dyn Socket>> {
    let socket = TcpStream::connect(proxy).await.unwrap();
    socket.set_nodelay(true).unwrap();
    if !wire.tls {
        return TokioIo::new(Box::new(socket));
    }
    let (connector, name) = authority.connector(wire.client_http2);
    TokioIo::new(Box::new(connector.connect(name, socket).await.unwrap()))
}
