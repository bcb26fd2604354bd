//! The least that a relay with the same libraries can cost: it moves frames and looks at nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::HOST;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn as client;
use hyper::server::conn as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OnceCell;
use tokio::task::spawn_local;

use crate::part::Part;
use crate::tls::Authority;
use crate::{Wire, any_port};

/// The way to the upstream: a connection for each exchange, or one for all.
struct Way {
    upstream: SocketAddr,
    two: bool,
    shared: OnceCell<client::http2::SendRequest<Incoming>>,
}

pub(crate) fn start(wire: Wire, upstream: SocketAddr, authority: &Authority) -> Part {
    let acceptor = wire.tls.then(|| authority.acceptor());
    Part::start("floor", move || async move {
        let listener = TcpListener::bind(any_port()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let way = Arc::new(Way { upstream, two: wire.upstream_http2, shared: OnceCell::new() });
        spawn_local(async move {
            loop {
                let socket = listener.accept().await.unwrap().0;
                socket.set_nodelay(true).unwrap();
                let (way, acceptor) = (Arc::clone(&way), acceptor.clone());
                spawn_local(async move {
                    match acceptor {
                        Some(acceptor) => {
                            serve(acceptor.accept(socket).await.unwrap(), wire.client_http2, way).await;
                        }
                        None => serve(socket, wire.client_http2, way).await,
                    }
                });
            }
        });
        address
    })
}

async fn serve(socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, two: bool, way: Arc<Way>) {
    let service = service_fn(move |request| Arc::clone(&way).relay(request));
    let socket = TokioIo::new(socket);
    // How it ends is the client's to know.
    if two {
        let _ = server::http2::Builder::new(TokioExecutor::new()).serve_connection(socket, service).await;
    } else {
        let _ = server::http1::Builder::new().serve_connection(socket, service).await;
    }
}

impl Way {
    async fn relay(
        self: Arc<Self>,
        mut request: Request<Incoming>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        let path = request.uri().path_and_query().unwrap().clone();
        if self.two {
            request.headers_mut().remove(HOST);
            *request.uri_mut() = format!("http://{}{path}", self.upstream).parse().unwrap();
            let shared = self.shared.get_or_init(|| self.open_shared()).await;
            return shared.clone().send_request(request).await;
        }
        request.headers_mut().insert(HOST, self.upstream.to_string().parse().unwrap());
        *request.uri_mut() = Uri::from(path);
        *request.version_mut() = http::Version::HTTP_11;
        let (mut sender, connection) =
            client::http1::Builder::new().handshake::<_, Incoming>(self.connect().await).await?;
        tokio_util::task::TaskTracker::new().spawn(connection);
        sender.send_request(request).await
    }

    async fn open_shared(&self) -> client::http2::SendRequest<Incoming> {
        let handshake = client::http2::Builder::new(TokioExecutor::new()).handshake(self.connect().await);
        let (sender, connection) = handshake.await.unwrap();
        tokio_util::task::TaskTracker::new().spawn(connection);
        sender
    }

    async fn connect(&self) -> TokioIo<TcpStream> {
        let socket = TcpStream::connect(self.upstream).await.unwrap();
        socket.set_nodelay(true).unwrap();
        TokioIo::new(socket)
    }
}
