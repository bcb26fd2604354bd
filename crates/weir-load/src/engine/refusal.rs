//! Answers that say no, in the error shape of the API that was asked.

use http::StatusCode;

use super::generation::quote;

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    /// OpenAI's word for it, where it has one; otherwise the code is the status, as in vLLM.
    pub(crate) code: Option<&'static str>,
    /// The member of the request that is at fault.
    pub(crate) param: Option<String>,
    pub(crate) message: String,
}

/// The shape of an API's errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorShape {
    /// An object under `error`, as vLLM fills it.
    OpenAi,
    /// Anthropic's typed object.
    Anthropic,
    /// A text under `error`.
    Ollama,
    /// A text under `error` with an `error_type`.
    Tgi,
    /// A text under `detail`, as a web framework answers what it has no endpoint for.
    Framework,
}

impl Refusal {
    /// The request itself is at fault.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Refusal {
            status: StatusCode::BAD_REQUEST,
            kind: "BadRequestError",
            code: None,
            param: None,
            message: message.into(),
        }
    }

    /// A member of the request has a value that cannot be served.
    pub(crate) fn of_value(name: &str, value: &str, says: &str) -> Self {
        Refusal {
            param: Some(name.to_owned()),
            ..Refusal::invalid(format!("{says} (parameter={name}, value={value})"))
        }
    }

    /// A member of the request is missing or has the wrong type.
    pub(crate) fn of_field(kind: &str, at: &str, says: &str) -> Self {
        let message = format!("1 validation error:\n  {{'type': '{kind}', 'loc': '{at}', 'msg': '{says}'}}");
        Refusal { kind: "Bad Request", param: Some(at.to_owned()), ..Refusal::invalid(message) }
    }

    /// The body is larger than the engine reads.
    pub(crate) fn too_large() -> Self {
        Refusal {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            kind: "Request Entity Too Large",
            ..Refusal::invalid("The request body is too large.")
        }
    }

    /// Nothing is served at that path.
    pub(crate) fn unknown_path() -> Self {
        Refusal { status: StatusCode::NOT_FOUND, kind: "Not Found", ..Refusal::invalid("Not Found") }
    }

    /// That path has no such method.
    pub(crate) fn wrong_method() -> Self {
        Refusal {
            status: StatusCode::METHOD_NOT_ALLOWED,
            kind: "Method Not Allowed",
            ..Refusal::invalid("Method Not Allowed")
        }
    }

    /// The engine does not have that model.
    pub(crate) fn model_not_found(model: &str) -> Self {
        Refusal {
            status: StatusCode::NOT_FOUND,
            kind: "NotFoundError",
            param: Some("model".to_owned()),
            ..Refusal::invalid(format!("The model `{model}` does not exist."))
        }
    }

    /// A fault of the engine's own. vLLM never answers 429, so that one is OpenAI's.
    pub(crate) fn simulated(status: StatusCode) -> Self {
        let (kind, code) = match status.as_u16() {
            429 => ("rate_limit_error", Some("rate_limit_exceeded")),
            401 => ("AuthenticationError", None),
            403 => ("PermissionDeniedError", None),
            404 => ("NotFoundError", None),
            422 => ("UnprocessableEntityError", None),
            501 => ("NotImplementedError", None),
            503 | 529 => ("ServiceUnavailableError", None),
            500.. => ("InternalServerError", None),
            _ => ("BadRequestError", None),
        };
        Refusal { status, kind, code, ..Refusal::invalid(SIMULATED) }
    }

    /// The response body.
    pub(crate) fn body(&self, shape: ErrorShape) -> String {
        let message = quote(&self.message);
        // Written by hand, so that the members stand in the order that each API has.
        match shape {
            ErrorShape::OpenAi => format!(
                r#"{{"error":{{"message":{message},"type":{},"param":{},"code":{}}}}}"#,
                quote(self.kind),
                self.param.as_deref().map_or_else(|| "null".to_owned(), quote),
                self.code.map_or_else(|| self.status.as_str().to_owned(), quote),
            ),
            ErrorShape::Anthropic => format!(
                r#"{{"type":"error","error":{{"type":"{}","message":{message}}}}}"#,
                anthropic_type(self.status)
            ),
            ErrorShape::Ollama => format!(r#"{{"error":{message}}}"#),
            ErrorShape::Tgi => {
                format!(r#"{{"error":{message},"error_type":"{}"}}"#, tgi_type(self.status))
            }
            ErrorShape::Framework => format!(r#"{{"detail":{message}}}"#),
        }
    }

    /// The status as an API has it: what TGI cannot validate is 422.
    pub(crate) fn status_in(&self, shape: ErrorShape) -> StatusCode {
        match shape {
            ErrorShape::Tgi if self.status == StatusCode::BAD_REQUEST => StatusCode::UNPROCESSABLE_ENTITY,
            _ => self.status,
        }
    }
}

/// What a fault of the engine says.
pub(crate) const SIMULATED: &str = "simulated failure";

fn anthropic_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        402 => "billing_error",
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

fn tgi_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        429 | 503 => "overloaded",
        500.. => "generation",
        _ => "validation",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_api_has_its_own_shape() {
        let refusal = Refusal::of_value("n", "0", "n must be between 1 and 128");
        for (shape, body) in [
            (
                ErrorShape::OpenAi,
                r#"{"error":{"message":"n must be between 1 and 128 (parameter=n, value=0)","type":"BadRequestError","param":"n","code":400}}"#,
            ),
            (
                ErrorShape::Anthropic,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"n must be between 1 and 128 (parameter=n, value=0)"}}"#,
            ),
            (ErrorShape::Ollama, r#"{"error":"n must be between 1 and 128 (parameter=n, value=0)"}"#),
            (
                ErrorShape::Tgi,
                r#"{"error":"n must be between 1 and 128 (parameter=n, value=0)","error_type":"validation"}"#,
            ),
        ] {
            assert_eq!(refusal.body(shape), body);
        }
        assert_eq!(refusal.status_in(ErrorShape::Tgi), 422);
        assert_eq!(refusal.status_in(ErrorShape::Ollama), 400);
        assert_eq!(Refusal::unknown_path().body(ErrorShape::Framework), r#"{"detail":"Not Found"}"#);
    }

    #[test]
    fn simulated_statuses_have_their_types() {
        let types = |status: u16| {
            let refusal = Refusal::simulated(StatusCode::from_u16(status).unwrap());
            (refusal.kind, refusal.code, anthropic_type(refusal.status), tgi_type(refusal.status))
        };
        assert_eq!(
            types(429),
            ("rate_limit_error", Some("rate_limit_exceeded"), "rate_limit_error", "overloaded")
        );
        assert_eq!(types(500), ("InternalServerError", None, "api_error", "generation"));
        assert_eq!(types(503), ("ServiceUnavailableError", None, "overloaded_error", "overloaded"));
        assert_eq!(types(529), ("ServiceUnavailableError", None, "overloaded_error", "generation"));
        assert_eq!(types(400), ("BadRequestError", None, "invalid_request_error", "validation"));
    }
}
