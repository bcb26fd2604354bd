//! OTLP as protobuf in HTTP requests.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use reqwest::redirect;

use super::super::config::Signal;
use crate::clock::wall;

use super::{ANSWER_LIMIT, Kind, Sent, TlsError, cut, retry_after, taken};

/// A client of one URL.
#[derive(Debug)]
pub(in crate::otlp) struct Http {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    gzip: bool,
    kind: Kind,
}

impl Http {
    pub(super) fn new(signal: &Signal, kind: Kind) -> Result<Self, TlsError> {
        let mut headers = signal.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        if signal.gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(signal.tls.client_config(signal.url.starts_with("https:"))?)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(signal.timeout)
            .user_agent(super::super::AGENT)
            .build()
            .map_err(TlsError::of)?;
        Ok(Self { client, url: signal.url.clone(), headers, gzip: signal.gzip, kind })
    }

    pub(super) async fn send(&self, request: Bytes) -> Sent {
        let body = if self.gzip { packed(&request) } else { request };
        let sent = self.client.post(&self.url).headers(self.headers.clone()).body(body).send().await;
        match sent {
            Ok(answer) => self.answered(answer).await,
            Err(error) if error.is_builder() => Sent::Refused("not a URL that can be sent to".to_owned()),
            // Only then is it certain that nothing has arrived.
            Err(error) if error.is_connect() => Sent::Later { after: None, why: because(&error) },
            Err(error) => Sent::Unknown(because(&error)),
        }
    }

    async fn answered(&self, answer: reqwest::Response) -> Sent {
        let status = answer.status();
        if status.is_success() {
            return taken(self.kind, &body(answer).await);
        }
        let why = format!("status {}", status.as_u16());
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                Sent::Later { after: header.and_then(|value| retry_after::of_header(value, wall())), why }
            }
            _ => Sent::Refused(why),
        }
    }
}

/// What was answered, as far as it is read.
async fn body(mut answer: reqwest::Response) -> Vec<u8> {
    let mut read = Vec::new();
    while let Ok(Some(part)) = answer.chunk().await {
        read.extend_from_slice(&part);
        if read.len() > ANSWER_LIMIT {
            return Vec::new();
        }
    }
    read
}

/// Writing to memory cannot fail.
fn packed(request: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let _ = encoder.write_all(request);
    encoder.finish().map(Bytes::from).unwrap_or_default()
}

/// The last of the causes is the one that says something. The URL stays out: it may hold a secret.
pub(crate) fn because(error: &reqwest::Error) -> String {
    let what = if error.is_timeout() { "timed out" } else { "not answered" };
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match std::error::Error::source(error) {
        Some(_) => cut(&format!("{what}: {cause}")),
        None => what.to_owned(),
    }
}
