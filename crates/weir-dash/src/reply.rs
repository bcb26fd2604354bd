//! How answers are made up.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode};
use http_body_util::{Either, Full};
use serde::Serialize;

use crate::refusal::Refusal;
use crate::stream::Events;

/// The body of an answer: whole, or events as they come.
pub(crate) type Body = Either<Full<Bytes>, Events>;

/// A whole answer.
pub(crate) fn reply(status: StatusCode, media: &'static str, body: Bytes) -> Response<Body> {
    respond(status, media, Either::Left(Full::new(body)))
}

/// Events as they come.
pub(crate) fn events(events: Events) -> Response<Body> {
    respond(StatusCode::OK, "text/event-stream", Either::Right(events))
}

/// An answer in JSON that is written already.
pub(crate) fn json(body: Bytes) -> Response<Body> {
    reply(StatusCode::OK, "application/json", body)
}

/// An answer in JSON.
pub(crate) fn written(answer: &impl Serialize) -> Result<Response<Body>, Refusal> {
    let body = serde_json::to_vec(answer).map_err(|error| Refusal::Unwritable(error.to_string()))?;
    Ok(json(body.into()))
}

/// Done, and nothing to say of it.
pub(crate) fn done() -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::default()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn respond(status: StatusCode, media: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Names in an answer are the clients' own: no browser is to take them for a page.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
