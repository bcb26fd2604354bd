//! Both ends of HTTP/2 by hand, frame by frame as far as that matters.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream, client, server};
use http::{HeaderMap, Request, Response, response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::guarded;
use super::upstream::Upstream;

/// A client's connection.
pub(crate) struct Client2 {
    sender: SendRequest<Bytes>,
    connection: JoinSet<Result<(), h2::Error>>,
}

/// A request under way.
pub(crate) struct Asked2 {
    pub(crate) upload: SendStream<Bytes>,
    response: ResponseFuture,
}

impl Client2 {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = guarded(TcpStream::connect(address)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        // The library has a bound, in proportion to this window, for small frames that were not read.
        Self::over(stream, client::Builder::new().initial_connection_window_size(64 << 20)).await
    }

    /// A connection on a socket of one's own, with settings of one's own.
    pub(crate) async fn over(
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        builder: &mut client::Builder,
    ) -> Self {
        let (sender, connection) = guarded(builder.handshake(socket)).await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(connection);
        Self { sender, connection: tasks }
    }

    /// Sends a request with a whole body.
    pub(crate) async fn send(&mut self, request: Request<()>, body: impl Into<Bytes>) -> Asked2 {
        let body = body.into();
        let mut asked = self.begin(request, body.is_empty()).await;
        if !body.is_empty() {
            asked.upload.send_data(body, true).unwrap();
        }
        asked
    }

    /// Sends a request's head.
    pub(crate) async fn begin(&mut self, request: Request<()>, whole: bool) -> Asked2 {
        let mut ready = guarded(self.sender.clone().ready()).await.unwrap();
        let (response, upload) = ready.send_request(request, whole).unwrap();
        Asked2 { upload, response }
    }

    /// Sends a request for a chat completion.
    pub(crate) async fn ask(&mut self, body: &'static str) -> Asked2 {
        self.send(chat2(), body).await
    }

    /// The same, unless the connection takes no more requests.
    pub(crate) async fn try_ask(&mut self, body: &'static str) -> Option<Asked2> {
        let mut ready = guarded(self.sender.clone().ready()).await.ok()?;
        let (response, mut upload) = ready.send_request(chat2(), false).ok()?;
        upload.send_data(body.into(), true).ok()?;
        Some(Asked2 { upload, response })
    }

    /// Waits until the other side has ended the connection, and says how.
    pub(crate) async fn closed(mut self) -> Result<(), h2::Error> {
        drop(self.sender);
        guarded(self.connection.join_next()).await.unwrap().unwrap()
    }
}

/// The head of a request for a chat completion.
pub(crate) fn chat2() -> Request<()> {
    Request::post("http://weir.test/v1/chat/completions")
        .header("content-type", "application/json")
        .body(())
        .unwrap()
}

impl Asked2 {
    pub(crate) async fn answer(self) -> Answer2 {
        self.try_answer().await.unwrap()
    }

    pub(crate) async fn try_answer(self) -> Result<Answer2, h2::Error> {
        let (head, stream) = guarded(self.response).await?.into_parts();
        // The upload goes along: dropped before its end, it would reset the stream.
        Ok(Answer2 { head, bytes: Vec::new(), stream, upload: self.upload })
    }

    /// Cancels it.
    pub(crate) fn reset(mut self) {
        self.upload.send_reset(Reason::CANCEL);
    }
}

/// An answer under way.
pub(crate) struct Answer2 {
    pub(crate) head: response::Parts,
    /// What came of its body.
    pub(crate) bytes: Vec<u8>,
    pub(crate) stream: RecvStream,
    upload: SendStream<Bytes>,
}

impl Answer2 {
    pub(crate) fn status(&self) -> u16 {
        self.head.status.as_u16()
    }

    /// Reads until the body has `length` bytes in all.
    pub(crate) async fn body_of(&mut self, length: usize) {
        while self.bytes.len() < length {
            assert!(self.more().await.unwrap(), "the body ended after {} bytes", self.bytes.len());
        }
    }

    /// Reads one frame of the body. False at its end.
    pub(crate) async fn more(&mut self) -> Result<bool, h2::Error> {
        let Some(data) = guarded(self.stream.data()).await.transpose()? else { return Ok(false) };
        self.stream.flow_control().release_capacity(data.len()).unwrap();
        self.bytes.extend_from_slice(&data);
        Ok(true)
    }

    /// Reads the body to its end, and the trailers behind it.
    pub(crate) async fn end(&mut self) -> Result<Option<HeaderMap>, h2::Error> {
        while self.more().await? {}
        guarded(self.stream.trailers()).await
    }

    /// Cancels it.
    pub(crate) fn reset(mut self) {
        self.upload.send_reset(Reason::CANCEL);
    }
}

/// An upstream's connection: what is asked on it, one by one.
pub(crate) struct Engine2 {
    asked: mpsc::Receiver<(Request<RecvStream>, SendResponse<Bytes>)>,
    leave: mpsc::Sender<()>,
    connection: JoinSet<Result<(), h2::Error>>,
}

impl Upstream {
    /// Accepts a connection that speaks HTTP/2.
    pub(crate) async fn accept2(&self) -> Engine2 {
        self.accept2_with(&server::Builder::new()).await
    }

    /// The same with settings of one's own.
    pub(crate) async fn accept2_with(&self, builder: &server::Builder) -> Engine2 {
        Engine2::over(self.accept().await.into_stream(), builder).await
    }
}

impl Engine2 {
    pub(crate) async fn over(
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        builder: &server::Builder,
    ) -> Self {
        let mut connection = guarded(builder.handshake::<_, Bytes>(socket)).await.unwrap();
        let (pass, asked) = mpsc::channel(64);
        let (leave, mut leaving) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                tokio::select! {
                    accepted = connection.accept() => match accepted {
                        Some(accepted) => {
                            let _ = pass.send(accepted?).await;
                        }
                        None => return Ok(()),
                    },
                    Some(()) = leaving.recv() => connection.graceful_shutdown(),
                }
            }
        });
        Self { asked, leave, connection: tasks }
    }

    /// The next request with its body, and where to answer it.
    pub(crate) async fn asked(&mut self) -> (Request<Vec<u8>>, SendResponse<Bytes>) {
        let (request, respond) = guarded(self.asked.recv()).await.expect("the connection has ended");
        let (head, mut stream) = request.into_parts();
        let mut body = Vec::new();
        while let Some(data) = guarded(stream.data()).await {
            let data = data.unwrap();
            stream.flow_control().release_capacity(data.len()).unwrap();
            body.extend_from_slice(&data);
        }
        (Request::from_parts(head, body), respond)
    }

    /// Announces that it takes no more (GOAWAY); what runs goes on.
    pub(crate) async fn leave(&self) {
        self.leave.send(()).await.unwrap();
    }

    /// Waits until the connection has ended.
    pub(crate) async fn closed(mut self) {
        let _ = guarded(self.connection.join_next()).await;
    }
}

/// Begins an event stream.
pub(crate) fn stream2(respond: &mut SendResponse<Bytes>) -> SendStream<Bytes> {
    let head = Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
    respond.send_response(head, false).unwrap()
}

/// Waits until the other side resets a stream, and says why.
pub(crate) async fn reset2(stream: &mut SendStream<Bytes>) -> Reason {
    guarded(std::future::poll_fn(|cx| stream.poll_reset(cx))).await.unwrap()
}
