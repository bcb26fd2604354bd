//! Why a request to the API is refused, in the shape of OpenAI's errors.

use std::fmt;

use http::header::{ALLOW, HeaderValue, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use serde_json::json;
use weir_analysis::api::CommandError;

use crate::handles::Unanswered;
use crate::reply::{Body, reply};

/// Why a request to the API is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The token is not shown, or another one.
    Unauthorized,
    /// There is no token, and the port can be reached from elsewhere.
    NeedsToken,
    /// The `Host` is none of this machine's.
    ForeignHost,
    /// A page of somebody else asks.
    ForeignOrigin,
    /// The URI is too long.
    LongUri,
    /// The body is not declared as JSON.
    NotJson,
    /// The body is too long.
    LongBody,
    /// The body takes too long, or breaks off.
    LateBody,
    /// The body does not say what it should; this is what is wrong.
    Body(String),
    /// A parameter of the query is wrong; this is what.
    Parameter(String),
    /// A parameter of the query that is not known; this is what to say.
    UnknownParameter(String),
    /// There is nothing at this path.
    NotFound,
    /// Another method is asked for; these are allowed.
    Method(&'static str),
    /// A command could not be carried out.
    Command(CommandError),
    /// As many look on as may.
    TooManyViewers,
    /// Whoever should answer does not.
    Unanswered(Unanswered),
    /// The answer cannot be written; this is why.
    Unwritable(String),
}

impl Refusal {
    /// Status, type and code.
    const fn row(&self) -> (StatusCode, &'static str, &'static str) {
        const ASKED: &str = "invalid_request_error";
        const UNAVAILABLE: &str = "unavailable_error";
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "authentication_error", "invalid_token"),
            Self::NeedsToken => (StatusCode::FORBIDDEN, "permission_error", "token_required"),
            Self::ForeignHost => (StatusCode::FORBIDDEN, "permission_error", "foreign_host"),
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "permission_error", "foreign_origin"),
            Self::LongUri => (StatusCode::URI_TOO_LONG, ASKED, "uri_too_long"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, ASKED, "not_json"),
            Self::LongBody => (StatusCode::PAYLOAD_TOO_LARGE, ASKED, "body_too_large"),
            Self::LateBody => (StatusCode::REQUEST_TIMEOUT, ASKED, "body_timeout"),
            Self::Body(_) => (StatusCode::BAD_REQUEST, ASKED, "invalid_body"),
            Self::Parameter(_) => (StatusCode::BAD_REQUEST, ASKED, "invalid_parameter"),
            Self::UnknownParameter(_) => (StatusCode::BAD_REQUEST, ASKED, "unknown_parameter"),
            Self::NotFound => (StatusCode::NOT_FOUND, ASKED, "not_found"),
            Self::Method(_) => (StatusCode::METHOD_NOT_ALLOWED, ASKED, "method_not_allowed"),
            Self::Command(CommandError::UnknownAlert) => (StatusCode::NOT_FOUND, ASKED, "unknown_alert"),
            Self::Command(CommandError::NotFiring) => (StatusCode::CONFLICT, ASKED, "not_firing"),
            Self::TooManyViewers => (StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, "too_many_viewers"),
            Self::Unanswered(_) => (StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, "no_answer"),
            Self::Unwritable(_) => (StatusCode::INTERNAL_SERVER_ERROR, "server_error", "unwritable"),
        }
    }

    /// The answer that says so.
    pub(crate) fn response(&self) -> Response<Body> {
        let (status, kind, code) = self.row();
        let body = json!({ "error": { "message": self.to_string(), "type": kind, "code": code } });
        let mut response = reply(status, "application/json", body.to_string().into());
        match self {
            Self::Unauthorized => {
                let value = HeaderValue::from_static("Bearer realm=\"weir\"");
                response.headers_mut().insert(WWW_AUTHENTICATE, value);
            }
            Self::Method(allowed) => {
                response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            }
            _ => {}
        }
        response
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unauthorized => "the token has to be shown: `Authorization: Bearer …`",
            Self::NeedsToken => {
                "the API is closed: the admin port listens on more than this machine; set `admin.token`"
            }
            Self::ForeignHost => {
                "without a token the API is for this machine alone: ask by `localhost` or a loopback address, \
                 or set `admin.token`"
            }
            Self::ForeignOrigin => "a page of another origin may not ask without a token",
            Self::LongUri => "the URI is longer than 8 KiB",
            Self::NotJson => "the body has to be declared as `content-type: application/json`",
            Self::LongBody => "the body is longer than 16 KiB",
            Self::LateBody => "the body did not come in time",
            Self::Body(wrong) | Self::Parameter(wrong) | Self::UnknownParameter(wrong) => wrong,
            Self::NotFound => {
                "not found; there are /api/snapshot, /api/exchanges, /api/inflight, /api/slo, /api/alerts, \
                 /api/stream and /api/schema"
            }
            Self::Method(allowed) => return write!(f, "only {allowed}"),
            Self::Command(error) => return error.fmt(f),
            Self::TooManyViewers => "as many as may look on do; come back later",
            Self::Unanswered(Unanswered::Gone) => "nobody is there to answer: starting or shutting down",
            Self::Unanswered(Unanswered::Slow) => "the pipeline is too slow",
            Self::Unwritable(error) => return write!(f, "the answer cannot be written: {error}"),
        })
    }
}
