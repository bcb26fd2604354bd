//! Why Weir answers by itself: one table of causes, statuses and error types.

use std::time::Duration;

use http::StatusCode;
use weir_core::outcome::{ErrorType, Outcome};

use crate::config::FullStatus;

/// Where a failure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The client, or its request.
    Downstream,
    /// Weir's own limits.
    Admission,
    /// The upstream.
    Upstream,
}

/// Why a request cannot be relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyError {
    /// The request's framing contradicts itself.
    ConflictingLengths,
    /// The request names no host, or several: whose it is could be read in two ways.
    Host,
    /// The request's target is not a path.
    Path,
    /// The request body broke off or is not framed as HTTP asks.
    RequestBody,
    /// The request body did not go on for too long.
    BodyTimeout,
    /// `CONNECT` asks for a tunnel, which a reverse proxy does not give.
    Connect,
    /// The bounded queue is full.
    QueueFull { answer: FullStatus, wait: Option<Duration> },
    /// The wait for admission took too long.
    QueueTimeout { wait: Option<Duration> },
    /// Weir is shutting down.
    Draining,
    /// No connection to the upstream.
    Unreachable,
    /// No connection to the upstream in time.
    ConnectTimeout,
    /// The upstream closed, or answered with what is not HTTP, before a response head.
    NoAnswer,
    /// No response head in time.
    HeadTimeout,
    /// The upstream switched protocols, which nobody asked for.
    UnexpectedUpgrade,
}

/// What one cause means: a row of the table.
struct Row {
    origin: Origin,
    status: StatusCode,
    outcome: Outcome,
    error_type: ErrorType,
    message: &'static str,
}

impl ProxyError {
    fn row(self) -> Row {
        use ErrorType as T;
        use Origin::{Admission, Downstream, Upstream};
        use Outcome as O;
        use StatusCode as S;
        let (origin, status, outcome, error_type, message) = match self {
            Self::ConflictingLengths => (
                Downstream,
                S::BAD_REQUEST,
                O::Refused,
                T::ClientRequest,
                "The request states its length in two ways that contradict each other.",
            ),
            Self::Host => (
                Downstream,
                S::BAD_REQUEST,
                O::Refused,
                T::ClientRequest,
                "The request has no Host header, or more than one.",
            ),
            Self::Path => (
                Downstream,
                S::BAD_REQUEST,
                O::Refused,
                T::ClientRequest,
                "The request's target is not a path.",
            ),
            Self::BodyTimeout => (
                Downstream,
                S::REQUEST_TIMEOUT,
                O::Refused,
                T::ClientRequest,
                "The request body did not go on for too long.",
            ),
            Self::RequestBody => (
                Downstream,
                S::BAD_REQUEST,
                O::Refused,
                T::ClientRequest,
                "The request body broke off, or is not framed as HTTP asks.",
            ),
            Self::Connect => (
                Downstream,
                S::NOT_IMPLEMENTED,
                O::Refused,
                T::ClientRequest,
                "CONNECT is not supported: this is a reverse proxy.",
            ),
            Self::QueueFull { answer, .. } => (
                Admission,
                answer.status(),
                O::QueueFull,
                T::ProxyQueueFull,
                "Too many requests are waiting already. Retry after the time in Retry-After.",
            ),
            Self::QueueTimeout { .. } => (
                Admission,
                S::SERVICE_UNAVAILABLE,
                O::Timeout,
                T::ProxyQueueTimeout,
                "The request waited too long for a place at the model server.",
            ),
            Self::Draining => (
                Admission,
                S::SERVICE_UNAVAILABLE,
                O::Refused,
                T::ProxyShutdown,
                "The proxy is shutting down.",
            ),
            Self::Unreachable => (
                Upstream,
                S::BAD_GATEWAY,
                O::UpstreamUnreachable,
                T::UpstreamConnect,
                "The model server cannot be reached.",
            ),
            Self::ConnectTimeout => (
                Upstream,
                S::GATEWAY_TIMEOUT,
                O::UpstreamUnreachable,
                T::UpstreamConnect,
                "The model server did not accept a connection in time.",
            ),
            Self::NoAnswer => (
                Upstream,
                S::BAD_GATEWAY,
                O::UpstreamUnreachable,
                T::UpstreamReset,
                "The model server closed the connection, or broke HTTP, before it answered.",
            ),
            Self::HeadTimeout => (
                Upstream,
                S::GATEWAY_TIMEOUT,
                O::Timeout,
                T::UpstreamTimeoutHeaders,
                "The model server did not begin to answer in time.",
            ),
            Self::UnexpectedUpgrade => (
                Upstream,
                S::BAD_GATEWAY,
                O::UpstreamUnreachable,
                T::UpstreamReset,
                "The model server switched protocols without being asked to.",
            ),
        };
        Row { origin, status, outcome, error_type, message }
    }

    /// Where it comes from.
    pub(crate) fn origin(self) -> Origin {
        self.row().origin
    }

    /// The status that the client gets.
    pub(crate) fn status(self) -> StatusCode {
        self.row().status
    }

    /// How the exchange is recorded.
    pub(crate) fn outcome(self) -> Outcome {
        self.row().outcome
    }

    /// The class in records, and the `code` of the answer.
    pub(crate) fn error_type(self) -> ErrorType {
        self.row().error_type
    }

    /// What the client is told.
    pub(crate) fn message(self) -> &'static str {
        self.row().message
    }

    /// The wait to advise, where advising one makes sense.
    pub(crate) fn retry_after(self) -> Option<Option<Duration>> {
        match self {
            Self::QueueFull { wait, .. } | Self::QueueTimeout { wait } => Some(wait),
            Self::Draining => Some(None),
            _ => None,
        }
    }

    /// Whether the client's connection can no longer be trusted to be in step.
    pub(crate) fn closes(self) -> bool {
        self.origin() == Origin::Downstream
    }
}

#[cfg(test)]
mod tests {
    use super::{FullStatus, Origin, ProxyError};

    #[test]
    fn each_cause_has_its_status_class_and_origin() {
        let full = |answer| ProxyError::QueueFull { answer, wait: None };
        for (error, status, class, origin) in [
            (ProxyError::ConflictingLengths, 400, "client_request", Origin::Downstream),
            (ProxyError::Host, 400, "client_request", Origin::Downstream),
            (ProxyError::Path, 400, "client_request", Origin::Downstream),
            (ProxyError::RequestBody, 400, "client_request", Origin::Downstream),
            (ProxyError::BodyTimeout, 408, "client_request", Origin::Downstream),
            (ProxyError::Connect, 501, "client_request", Origin::Downstream),
            (full(FullStatus::TooManyRequests), 429, "proxy_queue_full", Origin::Admission),
            (full(FullStatus::ServiceUnavailable), 503, "proxy_queue_full", Origin::Admission),
            (ProxyError::QueueTimeout { wait: None }, 503, "proxy_queue_timeout", Origin::Admission),
            (ProxyError::Draining, 503, "proxy_shutdown", Origin::Admission),
            (ProxyError::Unreachable, 502, "upstream_connect", Origin::Upstream),
            (ProxyError::ConnectTimeout, 504, "upstream_connect", Origin::Upstream),
            (ProxyError::NoAnswer, 502, "upstream_reset", Origin::Upstream),
            (ProxyError::HeadTimeout, 504, "upstream_timeout_headers", Origin::Upstream),
            (ProxyError::UnexpectedUpgrade, 502, "upstream_reset", Origin::Upstream),
        ] {
            assert_eq!(error.status().as_u16(), status, "{error:?}");
            assert_eq!(error.error_type().as_str(), class, "{error:?}");
            assert_eq!(error.origin(), origin, "{error:?}");
            assert_eq!(error.retry_after().is_some(), origin == Origin::Admission, "{error:?}");
            assert_eq!(error.closes(), origin == Origin::Downstream, "{error:?}");
        }
    }
}
