//! From a request's path to what answers it, and how a response is put together.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use super::Shared;
use super::api::{Endpoint, allowed};
use super::call::Call;
use super::link::Link;
use super::playback::Broken;
use super::refusal::{ErrorShape, Refusal};
use super::{completion, compute, pages};

/// The body of a response.
pub(crate) type Answer = UnsyncBoxBody<Bytes, Broken>;

/// Answers one request, or breaks the connection instead.
pub(crate) async fn respond(
    shared: Arc<Shared>,
    link: Arc<Link>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Broken> {
    let path = request.uri().path();
    let endpoint = match Endpoint::of(request.method(), path) {
        Ok(Endpoint::Show(page)) => return Ok(pages::answer(&shared, page, path).await),
        Ok(endpoint) => endpoint,
        Err(refusal) => return Ok(unserved(&refusal, path)),
    };
    let traced = shared.tracing.as_ref().map(|tracing| tracing.begin(request.headers(), path));
    let response = answer(shared, link, request, endpoint).await?;
    Ok(match traced {
        Some(traced) => traced.answered(response),
        None => response,
    })
}

/// Answers what is no page.
async fn answer(
    shared: Arc<Shared>,
    link: Arc<Link>,
    request: Request<Incoming>,
    endpoint: Endpoint,
) -> Result<Response<Answer>, Broken> {
    let call = match Call::receive(&shared, link, request).await {
        Ok(call) => call.before_head().await,
        Err(answered) => return answered,
    };
    match (call, endpoint) {
        (Ok(call), Endpoint::Generate(api)) => Ok(completion::answer(&shared, call, api).await),
        (Ok(call), Endpoint::Compute(compute)) => Ok(compute::answer(&shared, call, compute).await),
        (Ok(call), Endpoint::Show(_)) => Ok(refuse(&Refusal::unknown_path(), call.shape)),
        (Err(answered), _) => answered,
    }
}

/// What a web framework answers before any API is reached.
fn unserved(refusal: &Refusal, path: &str) -> Response<Answer> {
    let mut response = refuse(refusal, ErrorShape::Framework);
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED
        && let Ok(methods) = HeaderValue::try_from(allowed(path))
    {
        response.headers_mut().insert(ALLOW, methods);
    }
    response
}

/// A response that is complete from the start.
pub(crate) fn whole_body(
    status: StatusCode,
    media: &'static str,
    bytes: impl Into<Bytes>,
) -> Response<Answer> {
    let body = Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync();
    response(status, media, body)
}

/// A refusal in the shape of the API that was asked.
pub(crate) fn refuse(refusal: &Refusal, shape: ErrorShape) -> Response<Answer> {
    whole_body(refusal.status_in(shape), "application/json", refusal.body(shape))
}

/// A response with its content type.
pub(crate) fn response(status: StatusCode, media: &'static str, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}
