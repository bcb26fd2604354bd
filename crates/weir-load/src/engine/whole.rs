//! An answer that is sent as one body once it is complete, or in half where a fault breaks it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::faults::Fault;
use super::http::{Answer, refuse, response, whole_body};
use super::link::Link;
use super::pack::Packer;
use super::playback::{Break, Broken};
use super::refusal::{ErrorShape, Refusal};
use super::scheduler::Turn;
use super::stats::{Ending, Visit};

/// A request whose answer is not streamed.
pub(crate) struct Whole {
    pub(crate) turn: Turn,
    pub(crate) link: Arc<Link>,
    pub(crate) visit: Visit,
    pub(crate) fault: Option<Fault>,
    /// The shape of its errors.
    pub(crate) shape: ErrorShape,
    /// Its content type.
    pub(crate) media: &'static str,
    pub(crate) packer: Packer,
}

impl Whole {
    /// Answers with what `render` gives once the token of that number has been generated, which is
    /// the last.
    pub(crate) async fn answer(
        mut self,
        last_token: u32,
        render: impl FnOnce() -> Bytes,
    ) -> Response<Answer> {
        // Nobody is told of the first one, but the engine's books are.
        self.turn.token(0).await;
        self.turn.token(last_token).await;
        if let Some(Fault::Error { .. }) = self.fault {
            self.visit.end(Ending::Injected);
            return refuse(&Refusal::simulated(StatusCode::INTERNAL_SERVER_ERROR), self.shape);
        }
        let coding = self.packer.header();
        let Ok(bytes) = std::mem::take(&mut self.packer).whole(&render()) else {
            self.visit.end(Ending::Refused);
            return refuse(&Refusal::simulated(StatusCode::INTERNAL_SERVER_ERROR), self.shape);
        };
        let mut response = match self.fault.and_then(Break::of) {
            Some((_, how)) => self.half(&bytes, how),
            None => {
                self.visit.end(Ending::Completed);
                whole_body(StatusCode::OK, self.media, bytes)
            }
        };
        response.headers_mut().extend(coding.map(|coding| (CONTENT_ENCODING, coding)));
        response
    }

    /// The head promises the whole body; half of it comes.
    fn half(self, bytes: &Bytes, how: Break) -> Response<Answer> {
        self.link.arm();
        let length = HeaderValue::from(bytes.len());
        let half = Some(bytes.slice(..bytes.len() / 2));
        let media = self.media;
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
        let mut response = response(StatusCode::OK, media, body);
        response.headers_mut().insert(CONTENT_LENGTH, length);
        response
    }
}
