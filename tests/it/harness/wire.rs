//! One end of a connection. It writes bytes as they are given and keeps every byte that comes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::body::Body;
use super::message::{Head, Message, chat};
use super::{SOON, guarded, now};

/// Who takes nothing for this long takes nothing.
const HELD: Duration = Duration::from_millis(300);

/// How the other side closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Fin,
    Reset,
}

/// One end of a connection.
pub(crate) struct Wire {
    stream: TcpStream,
    /// Every byte that came, as it came.
    pub(crate) raw: Vec<u8>,
    /// How much of it belongs to messages that were read.
    at: usize,
    body: Body,
    closed: Option<Close>,
    forgets: bool,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        Self { stream, raw: Vec::new(), at: 0, body: Body::default(), closed: None, forgets: false }
    }

    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::new(guarded(TcpStream::connect(address)).await.unwrap())
    }

    /// The bare socket.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Keeps no bytes but those of the message at hand: for bodies that are large.
    pub(crate) fn forget(&mut self) {
        self.forgets = true;
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        guarded(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Writes to a side that may have closed.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        guarded(self.stream.write_all(bytes.as_ref())).await
    }

    /// Writes as much as the socket takes at once, waiting for it to take any.
    pub(crate) async fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes).await
    }

    /// Writes the same bytes again and again until none are taken for a while, or `limit` were;
    /// returns how many that was.
    pub(crate) async fn send_until_held(&mut self, unit: &[u8], limit: usize) -> usize {
        let mut taken = 0;
        while taken < limit {
            let sent = self.send_some(&unit[taken % unit.len()..]);
            match tokio::time::timeout(HELD, sent).await {
                Ok(part) => taken += part.unwrap(),
                Err(_) => break,
            }
        }
        taken
    }

    /// Sends a request for a chat completion.
    pub(crate) async fn ask(&mut self, body: impl AsRef<[u8]>) {
        self.send(chat(body)).await;
    }

    /// Closes with a reset.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// Reads once. False when the connection is closed.
    pub(crate) async fn more(&mut self) -> bool {
        if self.closed.is_some() {
            return false;
        }
        if self.forgets {
            self.raw.drain(..self.at);
            self.at = 0;
        }
        self.closed = match guarded(self.stream.read_buf(&mut self.raw)).await {
            Ok(0) => Some(Close::Fin),
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Some(Close::Reset),
            Err(error) => panic!("reading failed: {error}"),
        };
        self.closed.is_none()
    }

    /// Reads until the other side closes, and says how it did.
    pub(crate) async fn closed(&mut self) -> Close {
        while self.more().await {}
        self.closed.unwrap()
    }

    /// Waits until the other side closes, which it must do soon; returns how long that took.
    pub(crate) async fn closed_soon(&mut self) -> Duration {
        let begun = now();
        self.closed().await;
        let taken = Duration::from_nanos(now() - begun);
        assert!(taken < SOON, "closed only after {taken:?}");
        taken
    }

    /// Whether nothing is there to be read, and the connection is open.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let pause = Duration::from_millis(30);
        self.at == self.raw.len() && tokio::time::timeout(pause, self.stream.peek(&mut byte)).await.is_err()
    }

    /// Reads a head; `None` if the connection closes before one has begun.
    pub(crate) async fn maybe_head(&mut self) -> Option<Head> {
        loop {
            let fresh = &self.raw[self.at..];
            if let Some(end) = fresh.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = Head::parse(&fresh[..end]);
                self.at += end + 4;
                return Some(head);
            }
            if !self.more().await {
                assert_eq!(self.at, self.raw.len(), "cut off inside a head");
                return None;
            }
        }
    }

    async fn head(&mut self) -> Head {
        let head = self.maybe_head().await;
        head.unwrap_or_else(|| panic!("closed ({:?}) before a head came", self.closed))
    }

    /// Reads a request.
    pub(crate) async fn request(&mut self) -> Message {
        let head = self.request_head().await;
        self.rest(head).await
    }

    /// Reads a request; `None` if the connection closes before one has begun.
    pub(crate) async fn maybe_request(&mut self) -> Option<Message> {
        let head = self.maybe_head().await?;
        self.body = Body::of_request(&head);
        Some(self.rest(head).await)
    }

    /// Reads a request's head; its body is read on demand.
    pub(crate) async fn request_head(&mut self) -> Head {
        let head = self.head().await;
        self.body = Body::of_request(&head);
        head
    }

    /// Reads a response's head; its body is read on demand.
    pub(crate) async fn response_head(&mut self) -> Head {
        let head = self.head().await;
        self.body = Body::of_response(&head, false);
        head
    }

    /// Reads a response.
    pub(crate) async fn response(&mut self) -> Message {
        let head = self.response_head().await;
        self.rest(head).await
    }

    /// Reads the response to a HEAD request.
    pub(crate) async fn response_to_head(&mut self) -> Message {
        let head = self.head().await;
        self.body = Body::of_response(&head, true);
        self.rest(head).await
    }

    async fn rest(&mut self, head: Head) -> Message {
        assert!(self.body_to_end().await, "the body was cut off: {head:?}");
        let body = std::mem::take(&mut self.body);
        Message { head, body: body.bytes, trailers: body.trailers }
    }

    /// The body of the message at hand, as much as was read.
    pub(crate) fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body.bytes
    }

    /// Reads until the body at hand has `length` bytes in all.
    pub(crate) async fn body_of(&mut self, length: usize) {
        while self.body.bytes.len() < length {
            assert!(self.body_more().await, "the body ended after {} bytes", self.body.bytes.len());
        }
    }

    /// Reads the body at hand to its end: true if it is whole, false if it was cut off.
    pub(crate) async fn body_to_end(&mut self) -> bool {
        while self.body_more().await {}
        self.body.is_done() || (self.body.ends_with_connection() && self.closed == Some(Close::Fin))
    }

    /// Reads on in the body at hand. False at its end, or when it was cut off.
    pub(crate) async fn body_more(&mut self) -> bool {
        loop {
            if self.body.is_done() {
                return false;
            }
            let taken = self.body.take(&self.raw[self.at..]);
            self.at += taken;
            if taken > 0 {
                return true;
            }
            if !self.more().await {
                return false;
            }
        }
    }
}
