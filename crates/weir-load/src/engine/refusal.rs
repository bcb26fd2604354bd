//! Answers that say no, in OpenAI's error shape.

use http::StatusCode;
use serde_json::json;

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) message: String,
}

impl Refusal {
    /// The request itself is at fault.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Refusal {
            status: StatusCode::BAD_REQUEST,
            kind: "invalid_request_error",
            code: None,
            message: message.into(),
        }
    }

    /// The body is larger than the engine reads.
    pub(crate) fn too_large() -> Self {
        Refusal {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            ..Refusal::invalid("The request body is too large.")
        }
    }

    /// Nothing is served at that path with that method.
    pub(crate) fn unknown_url(method: &http::Method, path: &str) -> Self {
        Refusal {
            status: StatusCode::NOT_FOUND,
            code: Some("unknown_url"),
            ..Refusal::invalid(format!("Unknown request URL: {method} {path}."))
        }
    }

    /// The engine does not have that model.
    pub(crate) fn model_not_found(model: &str) -> Self {
        Refusal {
            status: StatusCode::NOT_FOUND,
            code: Some("model_not_found"),
            ..Refusal::invalid(format!("The model `{model}` does not exist."))
        }
    }

    /// A fault of the engine's own.
    pub(crate) fn simulated(status: StatusCode) -> Self {
        let (kind, code) = match status {
            StatusCode::TOO_MANY_REQUESTS => ("rate_limit_error", Some("rate_limit_exceeded")),
            status if status.is_server_error() => ("server_error", None),
            _ => ("invalid_request_error", None),
        };
        Refusal { status, kind, code, message: "simulated failure".to_owned() }
    }

    /// The response body.
    pub(crate) fn body(&self) -> String {
        json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": null,
            "code": self.code,
        }})
        .to_string()
    }
}
