//! The only place that makes up a response. Upstream errors never come through here.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response};
use serde_json::json;
use weir_core::queueing::retry_after;

use crate::error::ProxyError;
use crate::tap::ProxyBody;

/// Says that it was Weir that answered, and why.
const WEIR_ERROR: HeaderName = HeaderName::from_static("weir-error");

/// The answer to a request that is not relayed, in OpenAI's error shape.
pub(crate) fn refusal(error: ProxyError) -> Response<ProxyBody> {
    let status = error.status();
    let class = error.error_type().as_str();
    let kind = match status.as_u16() {
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let body = json!({
        "error": { "message": error.message(), "type": kind, "param": null, "code": class }
    });
    let mut response = Response::new(ProxyBody::whole(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(WEIR_ERROR, HeaderValue::from_static(class));
    if let Some(wait) = error.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(retry_after(wait)));
    }
    if error.closes() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
