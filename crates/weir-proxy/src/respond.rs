//! The only place that makes up a response. Upstream errors never come through here.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use weir_core::dialect::ErrorShape;
use weir_core::queueing::retry_after;

use crate::error::ProxyError;
use crate::tap::ProxyBody;

/// Says that it was Weir that answered, and why.
const WEIR_ERROR: HeaderName = HeaderName::from_static("weir-error");

/// The answer to a request that is not relayed, in the shape that its dialect's clients understand.
pub(crate) fn refusal(error: ProxyError, shape: ErrorShape) -> Response<ProxyBody> {
    let status = error.status();
    let class = error.error_type().as_str();
    let body = body(shape, status, error.message(), class);
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

fn body(shape: ErrorShape, status: StatusCode, message: &str, class: &str) -> Value {
    let status = status.as_u16();
    match shape {
        ErrorShape::OpenAi => json!({
            "error": { "message": message, "type": openai_type(status), "param": null, "code": class }
        }),
        ErrorShape::Anthropic => json!({
            "type": "error", "error": { "type": anthropic_type(status), "message": message }
        }),
        ErrorShape::Ollama => json!({ "error": message }),
        ErrorShape::Tgi => json!({ "error": message, "error_type": tgi_type(status) }),
    }
}

fn openai_type(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// TGI's clients raise what the word says: `overloaded` is worth a retry, `validation` is not.
fn tgi_type(status: u16) -> &'static str {
    match status {
        429 | 503 => "overloaded",
        500.. => "generation",
        _ => "validation",
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::Value;
    use weir_core::dialect::ErrorShape;

    use super::{anthropic_type, refusal};
    use crate::config::FullStatus;
    use crate::error::ProxyError;

    const SHAPES: [ErrorShape; 4] =
        [ErrorShape::OpenAi, ErrorShape::Anthropic, ErrorShape::Ollama, ErrorShape::Tgi];

    /// Each cause with the type words of OpenAI, Anthropic and TGI.
    fn causes() -> Vec<(ProxyError, [&'static str; 3])> {
        let full = |answer| ProxyError::QueueFull { answer, wait: None };
        let bad = ["invalid_request_error", "invalid_request_error", "validation"];
        let down = ["server_error", "api_error", "generation"];
        let late = ["server_error", "timeout_error", "generation"];
        let busy = ["server_error", "overloaded_error", "overloaded"];
        vec![
            (ProxyError::ConflictingLengths, bad),
            (ProxyError::Host, bad),
            (ProxyError::Path, bad),
            (ProxyError::RequestBody, bad),
            (ProxyError::BodyTimeout, bad),
            (ProxyError::Connect, down),
            (full(FullStatus::TooManyRequests), ["rate_limit_error", "rate_limit_error", "overloaded"]),
            (full(FullStatus::ServiceUnavailable), busy),
            (ProxyError::QueueTimeout { wait: None }, busy),
            (ProxyError::Draining, busy),
            (ProxyError::Unreachable, down),
            (ProxyError::ConnectTimeout, late),
            (ProxyError::NoAnswer, down),
            (ProxyError::HeadTimeout, late),
            (ProxyError::UnexpectedUpgrade, down),
        ]
    }

    async fn answer(error: ProxyError, shape: ErrorShape) -> Value {
        let (head, body) = refusal(error, shape).into_parts();
        assert_eq!(head.status, error.status(), "{error:?}");
        assert_eq!(head.headers["content-type"], "application/json");
        assert_eq!(head.headers["weir-error"], error.error_type().as_str());
        assert_eq!(head.headers.contains_key("retry-after"), error.retry_after().is_some(), "{error:?}");
        assert_eq!(head.headers.contains_key("connection"), error.closes(), "{error:?}");
        let body = body.collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }

    #[tokio::test]
    async fn each_cause_is_told_in_each_shape() {
        for (error, [openai, anthropic, tgi]) in causes() {
            for shape in SHAPES {
                let body = answer(error, shape).await;
                let (message, kind) = match shape {
                    ErrorShape::OpenAi => {
                        assert_eq!(keys(&body), ["error"]);
                        assert_eq!(keys(&body["error"]), ["code", "message", "param", "type"]);
                        assert_eq!(body["error"]["code"], error.error_type().as_str());
                        assert!(body["error"]["param"].is_null());
                        (&body["error"]["message"], Some((&body["error"]["type"], openai)))
                    }
                    ErrorShape::Anthropic => {
                        assert_eq!((keys(&body), &body["type"]), (vec!["error", "type"], &"error".into()));
                        assert_eq!(keys(&body["error"]), ["message", "type"]);
                        (&body["error"]["message"], Some((&body["error"]["type"], anthropic)))
                    }
                    ErrorShape::Ollama => {
                        assert_eq!(keys(&body), ["error"]);
                        (&body["error"], None)
                    }
                    ErrorShape::Tgi => {
                        assert_eq!(keys(&body), ["error", "error_type"]);
                        (&body["error"], Some((&body["error_type"], tgi)))
                    }
                };
                assert_eq!(message, error.message(), "{error:?} {shape:?}");
                if let Some((kind, expected)) = kind {
                    assert_eq!(kind, expected, "{error:?} {shape:?}");
                }
            }
        }
    }

    #[test]
    fn anthropic_has_a_word_for_each_status() {
        for (status, word) in [
            (400, "invalid_request_error"),
            (401, "authentication_error"),
            (403, "permission_error"),
            (404, "not_found_error"),
            (413, "request_too_large"),
            (429, "rate_limit_error"),
            (500, "api_error"),
            (503, "overloaded_error"),
            (504, "timeout_error"),
            (529, "overloaded_error"),
        ] {
            assert_eq!(anthropic_type(status), word, "{status}");
        }
    }
}
