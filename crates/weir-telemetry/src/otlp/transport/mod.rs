//! Gets a request to its destination, and says what became of it.

mod grpc;
mod http;
pub(crate) mod retry_after;
mod tls;

pub(crate) use http::because;
pub use tls::{Tls, TlsError};

use std::time::Duration;

use bytes::Bytes;

use super::config::{Protocol, Signal};

/// Answers longer than this are not read.
const ANSWER_LIMIT: usize = 64 * 1024;

/// The two kinds of telemetry that are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Traces,
    Metrics,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was taken, but for so much that was rejected.
    Taken { rejected: u64, why: String },
    /// It was not taken, and asking again is of no use.
    Refused(String),
    /// It was not taken. It may be by and by, though not before this time has passed.
    Later { after: Option<Duration>, why: String },
    /// It may have been taken or not.
    Unknown(String),
}

/// A connection to a destination, made when it is first needed and again when it is lost.
#[derive(Debug)]
pub(super) enum Transport {
    Grpc(Box<grpc::Grpc>),
    Http(http::Http),
}

impl Transport {
    /// Makes ready to send. Belongs into the runtime that will send.
    pub(super) fn new(signal: &Signal, kind: Kind) -> Result<Self, TlsError> {
        Ok(match signal.protocol {
            Protocol::Grpc => Self::Grpc(Box::new(grpc::Grpc::new(signal, kind)?)),
            Protocol::HttpProtobuf => Self::Http(http::Http::new(signal, kind)?),
        })
    }

    /// Sends an encoded request once.
    pub(super) async fn send(&mut self, request: Bytes) -> Sent {
        match self {
            Self::Grpc(grpc) => grpc.send(request).await,
            Self::Http(http) => http.send(request).await,
        }
    }
}

/// What an answer says of what was not taken.
fn taken(kind: Kind, answer: &[u8]) -> Sent {
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
    use prost::Message;

    // An answer that cannot be read says that it was taken, by its status.
    let (rejected, why) = match kind {
        Kind::Traces => {
            let partial = ExportTraceServiceResponse::decode(answer).ok().and_then(|it| it.partial_success);
            partial.map(|it| (it.rejected_spans, it.error_message)).unwrap_or_default()
        }
        Kind::Metrics => {
            let partial = ExportMetricsServiceResponse::decode(answer).ok().and_then(|it| it.partial_success);
            partial.map(|it| (it.rejected_data_points, it.error_message)).unwrap_or_default()
        }
    };
    Sent::Taken { rejected: u64::try_from(rejected).unwrap_or(0), why: cut(&why) }
}

/// What others say goes into the log: bounded, and on one line.
pub(crate) fn cut(text: &str) -> String {
    const LIMIT: usize = 200;
    text[..text.floor_char_boundary(LIMIT)].replace(char::is_control, " ")
}
