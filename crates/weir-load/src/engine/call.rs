//! One API request from its arrival to the head of its response: what came, what was drawn for it,
//! and the faults that strike before a head is sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use rand::Rng;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::Shared;
use super::config::Behaviour;
use super::faults::Fault;
use super::http::{Answer, refuse};
use super::link::{Farewell, Link};
use super::overrides::Steering;
use super::playback::Broken;
use super::refusal::{ErrorShape, Refusal};
use super::stats::{Ending, Visit};
use crate::{clock, draw};

/// The largest body that is read.
const MAX_BODY: usize = 32 << 20;

/// A request that has been read.
pub(crate) struct Call {
    pub(crate) link: Arc<Link>,
    pub(crate) visit: Visit,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The shape of the errors of the API that was asked.
    pub(crate) shape: ErrorShape,
    pub(crate) behaviour: Behaviour,
    pub(crate) fault: Option<Fault>,
    pub(crate) draw: Draw,
    /// `CLOCK_MONOTONIC` when the first read returned and when the body was complete.
    pub(crate) received_ns: (u64, u64),
}

/// The random part of a request. It depends on the seed and on the request's key alone.
pub(crate) struct Draw {
    /// The request's `x-request-id`, or one made up.
    pub(crate) id: String,
    /// Chooses the words.
    pub(crate) wording: u64,
    /// Draws the gaps between tokens.
    pub(crate) gaps: StdRng,
}

impl Call {
    /// Reads a request. A request that is not valid is answered here: `Err` holds the response.
    pub(crate) async fn receive(
        shared: &Shared,
        link: Arc<Link>,
        request: Request<Incoming>,
    ) -> Result<Call, Result<Response<Answer>, Broken>> {
        let ordinal = shared.ordinals.fetch_add(1, Ordering::Relaxed);
        let visit = Visit::begin(Arc::clone(&shared.counters));
        let first_byte = link.first_read();
        let (head, body) = request.into_parts();
        let shape = ErrorShape::of(head.uri.path());
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(Ok(refused(visit, &Refusal::too_large(), shape)));
            }
            // The other side left before it had said everything.
            Err(_) => return Err(Err(Broken)),
        };
        let complete = clock::monotonic_ns();
        link.forget_reads();

        let steered = Steering::read(&head.headers)
            .and_then(|steering| Ok((steering, shared.config.behaviour.steered(&head.headers)?)));
        let (steering, behaviour) = match steered {
            Ok(steered) => steered,
            Err(refusal) => return Err(Ok(refused(visit, &refusal, shape))),
        };
        let mut rng = draw::generator(shared.config.seed, steering.key.unwrap_or(ordinal));
        let drawn_fault = shared.config.faults.at(rng.random());
        Ok(Call {
            link,
            visit,
            body,
            shape,
            behaviour,
            fault: steering.fault.or(drawn_fault),
            draw: Draw::new(&head.headers, rng),
            headers: head.headers,
            received_ns: (first_byte.unwrap_or(complete), complete),
        })
    }

    /// Lets a fault strike that comes before the response's head, or passes the request on.
    pub(crate) async fn before_head(mut self) -> Result<Call, Result<Response<Answer>, Broken>> {
        match self.fault {
            Some(Fault::Drop) => {}
            Some(Fault::Garbage) => self.link.part_with(Farewell::Garbage),
            Some(Fault::Status { status, retry_after }) => {
                self.visit.end(Ending::Injected);
                let mut response = refuse(&Refusal::simulated(status), self.shape);
                if let Some(seconds) = retry_after {
                    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                }
                return Err(Ok(response));
            }
            Some(Fault::SlowHead { delay }) => {
                sleep(delay).await;
                return Ok(self);
            }
            Some(Fault::Abort { .. } | Fault::Reset { .. } | Fault::Stall { .. } | Fault::Error { .. })
            | None => return Ok(self),
        }
        self.visit.end(Ending::Injected);
        Err(Err(Broken))
    }
}

impl Draw {
    /// Everything is drawn, needed or not, so that no draw depends on what came before it.
    fn new(headers: &HeaderMap, mut rng: StdRng) -> Self {
        let made_up = format!("{:032x}", rng.random::<u128>());
        let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
        Draw { id: given.map_or(made_up, str::to_owned), wording: rng.random(), gaps: rng }
    }
}

/// Refuses a request that is not valid.
pub(crate) fn refused(mut visit: Visit, refusal: &Refusal, shape: ErrorShape) -> Response<Answer> {
    visit.end(Ending::Refused);
    refuse(refusal, shape)
}
