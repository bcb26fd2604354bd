//! The pages for scrapers and probes, open to whoever reaches the port: `/metrics`, `/healthz`, `/readyz`.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue, VARY};
use http::{Response, StatusCode};

use crate::accept;
use crate::handles::{AdminHandles, Unanswered, ask};
use crate::reply::{Body, reply};

/// A page in the format that the client prefers.
pub(crate) async fn metrics(headers: &HeaderMap, handles: &AdminHandles) -> Response<Body> {
    let format = accept::preferred(headers);
    match ask(&handles.pages, format).await {
        Ok(page) => {
            let mut response = reply(StatusCode::OK, format.media_type(), page.into());
            response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
            response
        }
        Err(Unanswered::Gone) => plain(StatusCode::SERVICE_UNAVAILABLE, "no metrics: shutting down\n"),
        Err(Unanswered::Slow) => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "no metrics: the pipeline is too slow\n")
        }
    }
}

/// Whether new requests are welcome.
pub(crate) fn readiness(ready: bool) -> Response<Body> {
    match ready {
        true => plain(StatusCode::OK, "ready\n"),
        false => plain(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
    }
}

/// A line for people.
pub(crate) fn plain(status: StatusCode, body: &'static str) -> Response<Body> {
    reply(status, "text/plain; charset=utf-8", Bytes::from_static(body.as_bytes()))
}
