//! OTLP in gRPC.

use std::error::Error;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use http::uri::PathAndQuery;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use super::super::config::Signal;
use super::{ANSWER_LIMIT, Kind, Sent, TlsError, cut, retry_after, taken};

const TRACES: PathAndQuery =
    PathAndQuery::from_static("/opentelemetry.proto.collector.trace.v1.TraceService/Export");
const METRICS: PathAndQuery =
    PathAndQuery::from_static("/opentelemetry.proto.collector.metrics.v1.MetricsService/Export");

/// A client of one service.
#[derive(Debug)]
pub(in crate::otlp) struct Grpc {
    client: tonic::client::Grpc<Channel>,
    headers: MetadataMap,
    timeout: Duration,
    kind: Kind,
}

impl Grpc {
    pub(super) fn new(signal: &Signal, kind: Kind) -> Result<Self, TlsError> {
        let endpoint = Endpoint::from_shared(signal.url.clone()).map_err(TlsError::of)?;
        let endpoint = endpoint.connect_timeout(signal.timeout).timeout(signal.timeout);
        let endpoint = endpoint.user_agent(super::super::AGENT).map_err(TlsError::of)?;
        let endpoint = match endpoint.uri().scheme_str() {
            Some("https") => endpoint.tls_config(signal.tls.grpc()).map_err(TlsError::of)?,
            _ => endpoint,
        };
        let client = tonic::client::Grpc::new(endpoint.connect_lazy());
        let client = client.max_decoding_message_size(ANSWER_LIMIT);
        let client = if signal.gzip { client.send_compressed(CompressionEncoding::Gzip) } else { client };
        let headers = MetadataMap::from_headers(signal.headers.clone());
        Ok(Self { client, headers, timeout: signal.timeout, kind })
    }

    pub(super) async fn send(&mut self, body: Bytes) -> Sent {
        let timed = tokio::time::timeout(self.timeout, self.call(body)).await;
        match timed {
            Ok(Ok(answer)) => taken(self.kind, &answer),
            Ok(Err(status)) => told(&status),
            Err(_elapsed) => Sent::Unknown("timed out".to_owned()),
        }
    }

    async fn call(&mut self, body: Bytes) -> Result<Bytes, Status> {
        // A connection that is being made waits here, one that cannot be made fails in the call.
        self.client.ready().await.map_err(|error| Status::from_error(Box::new(error)))?;
        let mut request = Request::new(body);
        *request.metadata_mut() = self.headers.clone();
        let path = if self.kind == Kind::Traces { TRACES } else { METRICS };
        Ok(self.client.unary(request, path, Raw).await?.into_inner())
    }
}

/// What a status means: which of them may be tried again is what OTLP says.
fn told(status: &Status) -> Sent {
    let why = cut(&format!("{:?}: {}", status.code(), cause(status)));
    // A status that the server has sent has no cause on our side.
    if let Some(source) = status.source() {
        return match is_connect(source) {
            true => Sent::Later { after: None, why },
            false => Sent::Unknown(why),
        };
    }
    let after = retry_after::of_details(status.details());
    match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => Sent::Later { after, why },
        Code::ResourceExhausted if after.is_some() => Sent::Later { after, why },
        _ => Sent::Refused(why),
    }
}

/// The last of the causes is the one that says something.
fn cause(status: &Status) -> String {
    let mut cause = match status.source() {
        Some(source) => source,
        None => return status.message().to_owned(),
    };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Whether there was no connection, so that nothing can have arrived.
fn is_connect(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        if error.is::<tonic::ConnectError>() {
            return true;
        }
        at = error.source();
    }
    false
}

/// Messages that are encoded already, and answers as they came.
#[derive(Clone, Copy, Debug)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
