//! A connection as one exchange has it.

use std::error::Error;

use h2::Reason;
use http::uri::Scheme;
use http::{Request, Response};
use hyper::body::Incoming;
use weir_core::timeline::Stamp;

use super::pool::Behind;
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
    /// The request, if it is certain that nothing of it was processed.
    pub(super) unsent: Option<Request<RequestBody>>,
    /// It was the server that said so.
    pub(super) refused: bool,
}

impl Lease {
    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        mut request: Request<RequestBody>,
        scheme: &Scheme,
    ) -> Result<Response<Incoming>, Failed> {
        match self {
            Self::Own(lease) => {
                headers::for_http1(&mut request);
                lease.sender().try_send_request(request).await.map_err(|mut error| {
                    let unsent = error.take_message();
                    Failed { error: error.into_error(), unsent, refused: false }
                })
            }
            // Boxed, so that requests over HTTP/1.1 do not carry room for it along.
            Self::Place(place) => Box::pin(send_on(place, request, scheme)).await,
        }
    }

    /// When bytes of the connection were last read.
    pub(super) fn last_read(&self) -> Stamp {
        match self {
            Self::Own(lease) => lease.last_read(),
            Self::Place(place) => place.last_read(),
        }
    }

    /// The answer was read to its end.
    pub(super) fn keep(self, behind: Behind) {
        if let Self::Own(lease) = self {
            lease.keep(behind);
        }
    }
}

async fn send_on(
    place: &mut shared::Place,
    mut request: Request<RequestBody>,
    scheme: &Scheme,
) -> Result<Response<Incoming>, Failed> {
    headers::for_http2(&mut request, scheme);
    let spare = spare(&request);
    place.sender().try_send_request(request).await.map_err(|mut error| {
        let unsent = error.take_message();
        let error = error.into_error();
        let refusal = Refusal::of(&error);
        if unsent.is_some() || refusal == Some(Refusal::Leaving) {
            place.retire();
        }
        let unsent = unsent.or(spare.filter(|_| refusal.is_some()));
        Failed { error, unsent, refused: refusal.is_some() }
    })
}

/// The same request once more, if its body was read whole. Its bytes are shared.
fn spare(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    let mut again = Request::new(request.body().again()?);
    *again.method_mut() = request.method().clone();
    *again.uri_mut() = request.uri().clone();
    *again.headers_mut() = request.headers().clone();
    Some(again)
}

/// How a server of HTTP/2 says that it has not begun with a request (RFC 9113, section 8.7).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// It takes no request more on this connection, and this one came too late.
    Leaving,
    /// It does not take this one now.
    Stream,
}

impl Refusal {
    fn of(error: &hyper::Error) -> Option<Self> {
        let mut source = error.source();
        let error = loop {
            match source?.downcast_ref::<h2::Error>() {
                Some(error) => break error,
                None => source = source?.source(),
            }
        };
        match error.reason() {
            _ if !error.is_remote() => None,
            Some(Reason::NO_ERROR) if error.is_go_away() => Some(Self::Leaving),
            Some(Reason::REFUSED_STREAM) if error.is_reset() => Some(Self::Stream),
            _ => None,
        }
    }
}
