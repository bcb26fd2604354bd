//! What a run is told.

use std::fmt;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;

use super::client::Client;
use crate::bench::backend::{Backend, BodyOptions};
use crate::bench::schedule::Schedule;

/// How long `vllm bench serve` waits for one answer.
const PATIENCE: Duration = Duration::from_secs(6 * 60 * 60);

/// A run.
#[derive(Clone, Debug)]
pub struct BenchConfig {
    /// Where requests go.
    pub target: Target,
    /// The API.
    pub backend: Backend,
    /// What every request asks for.
    pub body: BodyOptions,
    /// When requests are due, where the data set does not say.
    pub schedule: Schedule,
    /// What ends the run, and what holds requests back.
    pub limits: Limits,
    /// Comes before the number of a request in its `x-request-id`.
    pub id_prefix: String,
    /// Whether the texts of answers are kept.
    pub keeps_text: bool,
}

/// Where requests go.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Scheme, host and port, and a path before that of the API, if any.
    pub base_url: String,
    /// The path, in the place of the API's own.
    pub endpoint: Option<String>,
    /// Sent as `Authorization: Bearer …`.
    pub api_key: Option<String>,
    /// Further headers; they take the place of ours.
    pub headers: Vec<(String, String)>,
    /// Certificates to trust besides those of the system, in PEM.
    pub trusted: Vec<u8>,
    /// Whether any certificate is taken.
    pub trusts_all: bool,
}

/// What ends a run, and what holds requests back.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most requests; `None`: as many as the data set has.
    pub requests: Option<usize>,
    /// No request is sent after that time; `None`: no end.
    pub duration: Option<Duration>,
    /// How long requests in flight may go on after that time; `None`: to their end.
    pub drain: Option<Duration>,
    /// The most requests at once. One that waits for its turn is late.
    pub max_concurrency: Option<usize>,
    /// Requests before the run that do not count: all of them the first of the data set.
    pub warmups: usize,
    /// How long one answer may take.
    pub timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            requests: None,
            duration: None,
            drain: None,
            max_concurrency: None,
            warmups: 0,
            timeout: PATIENCE,
        }
    }
}

/// What makes a run impossible.
#[derive(Debug)]
pub enum BenchError {
    /// The URL, and what is wrong with it.
    Url(String, String),
    /// A header that cannot be sent.
    Header(String),
    /// TLS cannot be set up; why.
    Tls(String),
    /// The data set is empty.
    NoRequests,
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Url(url, error) => write!(f, "{url}: {error}"),
            BenchError::Header(name) => write!(f, "the header {name} cannot be sent"),
            BenchError::Tls(error) => write!(f, "TLS: {error}"),
            BenchError::NoRequests => f.write_str("the data set has no requests"),
        }
    }
}

impl std::error::Error for BenchError {}

impl Target {
    /// Where the requests of `backend` go.
    pub fn url(&self, backend: Backend) -> Result<Url, BenchError> {
        let path = self.endpoint.as_deref().unwrap_or_else(|| backend.path());
        let url = format!("{}/{}", self.base_url.trim_end_matches('/'), path.trim_start_matches('/'));
        match Url::parse(&url) {
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(parsed),
            Ok(_) => Err(BenchError::Url(url, "it must begin with http:// or https://".into())),
            Err(error) => Err(BenchError::Url(url, error.to_string())),
        }
    }

    /// The headers of every request.
    pub(super) fn headers(&self, backend: Backend) -> Result<HeaderMap, BenchError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.api_key {
            let bearer = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut bearer = bearer.map_err(|_| BenchError::Header("authorization".into()))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        if backend == Backend::Messages {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        for (name, value) in &self.headers {
            let refused = |_| BenchError::Header(name.clone());
            let key =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| BenchError::Header(name.clone()))?;
            headers.insert(key, HeaderValue::from_str(value).map_err(refused)?);
        }
        Ok(headers)
    }

    /// A client for the requests of `backend`.
    pub(super) fn client(&self, backend: Backend) -> Result<Client, BenchError> {
        Client::new(self, &self.url(backend)?, self.headers(backend)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_base_and_path() {
        let target = Target { base_url: "http://host:1/".into(), ..Target::default() };
        assert_eq!(target.url(Backend::Chat).unwrap().as_str(), "http://host:1/v1/chat/completions");
        let target = Target { endpoint: Some("/x".into()), ..target };
        assert_eq!(target.url(Backend::Chat).unwrap().as_str(), "http://host:1/x");
        for base_url in ["host:1", "", "ftp://host"] {
            let target = Target { base_url: base_url.into(), ..Target::default() };
            assert!(target.url(Backend::Chat).is_err(), "{base_url}");
        }
    }

    #[test]
    fn headers_of_the_run_go_before_ours() {
        let target = Target {
            api_key: Some("k".into()),
            headers: vec![("Content-Type".into(), "application/other".into())],
            ..Target::default()
        };
        let headers = target.headers(Backend::Messages).unwrap();
        assert_eq!((&headers["authorization"], headers.len()), (&HeaderValue::from_static("Bearer k"), 3));
        assert_eq!(headers["content-type"], "application/other");
        let target = Target { headers: vec![("a b".into(), String::new())], ..Target::default() };
        assert!(matches!(target.headers(Backend::Chat), Err(BenchError::Header(name)) if name == "a b"));
    }
}
