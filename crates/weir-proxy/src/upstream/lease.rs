//! A connection as one exchange has it.

use http::{Request, Response};
use hyper::body::Incoming;
use weir_core::timeline::Stamp;

use super::{pool, shared};
use crate::headers;
use crate::tap::RequestBody;

/// Dropped, it tells the upstream that its answer is not wanted any more, unless it is kept: a
/// connection of HTTP/1.1 is closed, a stream of HTTP/2 reset.
#[derive(Debug)]
pub(super) enum Lease {
    /// A connection of its own.
    Own(pool::Lease),
    /// A place on one.
    Place(shared::Place),
}

/// A request that got no answer.
pub(super) struct Failed {
    pub(super) error: hyper::Error,
    /// The request, if nothing of it was written.
    pub(super) unsent: Option<Request<RequestBody>>,
}

impl Lease {
    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        mut request: Request<RequestBody>,
        scheme: &http::uri::Scheme,
    ) -> Result<Response<Incoming>, Failed> {
        let answer = match self {
            Self::Own(lease) => {
                headers::for_http1(&mut request);
                lease.sender().try_send_request(request).await
            }
            Self::Place(place) => {
                headers::for_http2(&mut request, scheme);
                place.sender().try_send_request(request).await
            }
        };
        answer.map_err(|mut error| {
            let unsent = error.take_message();
            if let Self::Place(place) = self
                && unsent.is_some()
            {
                place.retire();
            }
            Failed { error: error.into_error(), unsent }
        })
    }

    /// When bytes of the connection were last read.
    pub(super) fn last_read(&self) -> Stamp {
        match self {
            Self::Own(lease) => lease.last_read(),
            Self::Place(place) => place.last_read(),
        }
    }

    /// The answer was read to its end.
    pub(super) fn keep(self) {
        if let Self::Own(lease) = self {
            lease.keep();
        }
    }
}
