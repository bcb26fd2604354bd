//! Gets a body to its target, and says what became of it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use reqwest::{Url, redirect};

use super::secret::Secret;
use super::target::{Target, TargetError};
use crate::clock::wall;
use crate::otlp::{AGENT, Tls, because, cut, retry_after};

/// No more is read of an answer.
const ANSWER_LIMIT: usize = 4 * 1024;

const TIMESTAMP: HeaderName = HeaderName::from_static("x-weir-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("x-weir-signature");

/// What became of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Taken,
    /// Trying again is of no use.
    Refused(String),
    /// It may be taken by and by, though not before this time has passed.
    Later {
        after: Option<Duration>,
        why: String,
    },
}

/// A client of one target.
#[derive(Debug)]
pub(super) struct Http {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    secret: Option<Secret>,
}

impl Http {
    pub(super) fn new(target: &Target) -> Result<Self, TargetError> {
        let url = target.endpoint()?;
        let mut headers = target.headers.clone();
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let tls = Tls::default().client_config(url.scheme() == "https");
        let tls = tls.map_err(|error| target.error(error.to_string()))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(target.timeout)
            .user_agent(AGENT)
            .build()
            .map_err(|error| target.error(because(&error)))?;
        Ok(Self { client, url, headers, secret: target.secret.clone() })
    }

    /// Sends a body once, signed with the time at which it is sent.
    pub(super) async fn send(&self, body: Bytes) -> Sent {
        let mut headers = self.headers.clone();
        if let Some(secret) = &self.secret {
            let now_s = wall().0 / 1_000_000_000;
            let signature = secret.signature(now_s, &body).map(|hex| format!("sha256={hex}"));
            headers.insert(TIMESTAMP, HeaderValue::from(now_s));
            if let Some(value) = signature.and_then(|text| HeaderValue::from_str(&text).ok()) {
                headers.insert(SIGNATURE, value);
            }
        }
        let sent = self.client.post(self.url.clone()).headers(headers).body(body).send().await;
        match sent {
            Ok(answer) => answered(answer).await,
            Err(error) if error.is_builder() => Sent::Refused("not a request that can be sent".to_owned()),
            Err(error) => Sent::Later { after: None, why: because(&error) },
        }
    }
}

async fn answered(answer: reqwest::Response) -> Sent {
    let status = answer.status();
    let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = header.and_then(|value| retry_after::of_header(value, wall()));
    let said = said(answer).await;
    if status.is_success() {
        return Sent::Taken;
    }
    let why = cut(&format!("status {}: {said}", status.as_u16()));
    match status {
        StatusCode::TOO_MANY_REQUESTS => Sent::Later { after, why },
        _ if status.is_server_error() => Sent::Later { after, why },
        _ => Sent::Refused(why),
    }
}

/// The beginning of an answer.
async fn said(mut answer: reqwest::Response) -> String {
    let mut read = Vec::new();
    while let Ok(Some(part)) = answer.chunk().await {
        read.extend_from_slice(&part[..part.len().min(ANSWER_LIMIT - read.len())]);
        if read.len() >= ANSWER_LIMIT {
            break;
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}
