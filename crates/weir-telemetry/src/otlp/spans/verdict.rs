//! What a span says of how it ended.

use opentelemetry_proto::tonic::trace::v1::Status;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;

/// Which side of a call a span is seen from. A refusal that is the caller's own fault is an error to the
/// caller and none to who refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    ByServer,
    ByClient,
}

/// How an exchange ended, as a span tells it.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// The value of `error.type`; absent where nothing failed.
    pub(super) error_type: Option<String>,
    /// One line on what happened; empty where nothing is to be said.
    pub(super) message: String,
}

impl Verdict {
    pub(super) fn of(exchange: &Exchange, seen: Seen) -> Self {
        let failed = match exchange.outcome {
            Outcome::Completed | Outcome::Upgraded => false,
            // The caller's choice is no failure.
            Outcome::ClientGoneBeforeFirstToken | Outcome::ClientGoneMidStream => false,
            Outcome::UpstreamError | Outcome::QueueFull | Outcome::Refused => {
                seen == Seen::ByClient || exchange.status.is_none_or(|status| status >= 500)
            }
            Outcome::Truncated | Outcome::StreamError | Outcome::UpstreamUnreachable | Outcome::Timeout => {
                true
            }
        };
        let class = exchange.error_type.map(|class| class.as_str());
        let message = match (exchange.outcome, class) {
            (Outcome::Completed | Outcome::Upgraded, None) => String::new(),
            (outcome, Some(class)) if outcome.as_str() != class => format!("{outcome}: {class}"),
            (outcome, _) => outcome.to_string(),
        };
        let error_type = failed.then(|| match (seen, exchange.status) {
            (Seen::ByServer, Some(status)) if status >= 500 => status.to_string(),
            _ => class.unwrap_or(exchange.outcome.as_str()).to_owned(),
        });
        Self { error_type, message }
    }

    /// The status of a span. Only an error has a message.
    pub(super) fn status(&self) -> Status {
        match self.error_type {
            Some(_) => Status { code: StatusCode::Error.into(), message: self.message.clone() },
            None => Status::default(),
        }
    }
}
