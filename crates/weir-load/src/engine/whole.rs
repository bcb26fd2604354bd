//! An answer that is sent as one body once it is complete, or in half where a fault breaks it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::faults::Fault;
use super::http::{Answer, json_body, refuse, response};
use super::link::Link;
use super::playback::{Break, Broken};
use super::refusal::Refusal;
use super::scheduler::Turn;
use super::stats::{Ending, Visit};

/// A request whose answer is not streamed.
pub(crate) struct Whole {
    pub(crate) turn: Turn,
    pub(crate) link: Arc<Link>,
    pub(crate) visit: Visit,
    pub(crate) fault: Option<Fault>,
}

impl Whole {
    /// Answers with `bytes`, so long after the request got its turn.
    pub(crate) async fn answer(mut self, bytes: Bytes, due: Duration) -> Response<Answer> {
        self.turn.held_for(due).await;
        if let Some(Fault::Error { .. }) = self.fault {
            self.visit.end(Ending::Injected);
            return refuse(&Refusal::simulated(StatusCode::INTERNAL_SERVER_ERROR));
        }
        if let Some((_, how)) = self.fault.and_then(Break::of) {
            return self.half(&bytes, how);
        }
        self.visit.end(Ending::Completed);
        json_body(StatusCode::OK, bytes)
    }

    /// The head promises the whole body; half of it comes.
    fn half(self, bytes: &Bytes, how: Break) -> Response<Answer> {
        self.link.arm();
        let length = HeaderValue::from(bytes.len());
        let half = Some(bytes.slice(..bytes.len() / 2));
        let frames = unfold((self, half), move |(mut whole, half)| async move {
            whole.link.flushed().await;
            if let Some(bytes) = half {
                whole.link.arm();
                return Some((Ok(Frame::data(bytes)), (whole, None)));
            }
            whole.visit.end(Ending::Injected);
            let broken: Broken = how.happen(&whole.link).await;
            Some((Err(broken), (whole, None)))
        });
        let body = StreamBody::new(frames).boxed_unsync();
        let mut response = response(StatusCode::OK, "application/json", body);
        response.headers_mut().insert(CONTENT_LENGTH, length);
        response
    }
}
