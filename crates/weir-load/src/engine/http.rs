//! The engine's endpoints, and the responses that need no generation.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::Shared;
use super::ask::Api;
use super::call::Call;
use super::link::Link;
use super::playback::Broken;
use super::refusal::Refusal;
use super::{completion, embeddings};

/// The body of a response.
pub(crate) type Answer = UnsyncBoxBody<Bytes, Broken>;

/// Answers one request, or breaks the connection instead.
pub(crate) async fn respond(
    shared: Arc<Shared>,
    link: Arc<Link>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Broken> {
    let api = match (request.method(), request.uri().path()) {
        (&Method::POST, "/v1/chat/completions") => Some(Api::Chat),
        (&Method::POST, "/v1/completions") => Some(Api::Completions),
        (&Method::POST, "/v1/embeddings") => None,
        (&Method::GET, "/v1/models") => {
            return Ok(json_body(StatusCode::OK, models(&shared.config.models).to_string()));
        }
        (&Method::GET, "/health") => return Ok(json_body(StatusCode::OK, "")),
        (method, path) => return Ok(refuse(&Refusal::unknown_url(method, path))),
    };
    let call = match Call::receive(&shared, link, request).await {
        Ok(call) => call.before_head().await,
        Err(answered) => return answered,
    };
    match (call, api) {
        (Ok(call), Some(api)) => Ok(completion::answer(&shared, call, api).await),
        (Ok(call), None) => Ok(embeddings::answer(&shared, call).await),
        (Err(answered), _) => answered,
    }
}

/// A response that is complete from the start.
pub(crate) fn json_body(status: StatusCode, bytes: impl Into<Bytes>) -> Response<Answer> {
    let body = Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync();
    response(status, "application/json", body)
}

/// A refusal in OpenAI's error shape.
pub(crate) fn refuse(refusal: &Refusal) -> Response<Answer> {
    json_body(refusal.status, refusal.body())
}

/// A response with its content type.
pub(crate) fn response(status: StatusCode, content_type: &'static str, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn models(names: &[String]) -> Value {
    let models: Vec<Value> = names
        .iter()
        .map(|name| json!({"id": name, "object": "model", "created": 0, "owned_by": "sim"}))
        .collect();
    json!({"object": "list", "data": models})
}
