//! What a span says of how it ended.

use opentelemetry_proto::tonic::trace::v1::Status;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;

use crate::semconv::{Side, error_type};

/// How an exchange ended, as a span tells it.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// The value of `error.type`; absent where nothing failed.
    pub(super) error_type: Option<&'static str>,
    /// One line on what happened; empty where nothing is to be said.
    pub(super) message: String,
}

impl Verdict {
    pub(super) fn of(exchange: &Exchange, side: Side) -> Self {
        let class = exchange.error_type.map(|class| class.as_str());
        let message = match (exchange.outcome, class) {
            (Outcome::Completed | Outcome::Upgraded, None) => String::new(),
            (outcome, Some(class)) if outcome.as_str() != class => format!("{outcome}: {class}"),
            (outcome, _) => outcome.to_string(),
        };
        Self { error_type: error_type(exchange, side), message }
    }

    /// The status of a span. Only an error has a message.
    pub(super) fn status(&self) -> Status {
        match self.error_type {
            Some(_) => Status { code: StatusCode::Error.into(), message: self.message.clone() },
            None => Status::default(),
        }
    }
}
