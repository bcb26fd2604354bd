//! One connection.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use super::wire::Wire;

/// A connection that is polled by whoever waits for something on it, and by nobody while it is idle.
pub(super) struct Link {
    sender: SendRequest<Full<Bytes>>,
    connection: Pin<Box<Connection<TokioIo<Wire>, Full<Bytes>>>>,
    is_fresh: bool,
    is_over: bool,
}

/// Why a request has no response, and the request, if nothing of it was sent.
pub(super) type Unanswered = (hyper::Error, Option<Request<Full<Bytes>>>);

impl Link {
    /// HTTP/1.1 over an open connection.
    pub(super) async fn over(wire: Wire) -> hyper::Result<Self> {
        let (sender, connection) = Builder::new().handshake(TokioIo::new(wire)).await?;
        Ok(Link { sender, connection: Box::pin(connection), is_fresh: true, is_over: false })
    }

    /// Whether no request was sent over it yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Whether it can take a request now. Reads first what the server has sent meanwhile: its end, above all.
    pub(super) fn is_ready(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.is_over && self.sender.is_ready()
    }

    /// Sends a request and gives the response's head.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        self.is_fresh = false;
        let mut answered = pin!(self.sender.try_send_request(request));
        poll_fn(|cx| {
            if !self.is_over {
                self.is_over = self.connection.as_mut().poll(cx).is_ready();
            }
            answered.as_mut().poll(cx)
        })
        .await
        .map_err(|mut error| {
            let request = error.take_message();
            (error.into_error(), request)
        })
    }

    /// The next part of the body of the response.
    pub(super) async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        // The body changes only while the connection is polled, which is here: it need not wake anybody.
        poll_fn(|cx| {
            let mut silent = Context::from_waker(Waker::noop());
            if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(&mut silent) {
                return Poll::Ready(frame);
            }
            self.drive(cx);
            Pin::new(&mut *body).poll_frame(&mut silent)
        })
        .await
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        if !self.is_over {
            // Its error, if it has one, is also that of the body or of the response.
            self.is_over = self.connection.as_mut().poll(cx).is_ready();
        }
    }
}
