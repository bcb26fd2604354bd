//! Where notifications go.

use std::fmt;
use std::time::Duration;

use http::HeaderMap;
use reqwest::Url;

use super::payload::Payload;
use super::secret::Secret;
use super::{NotifyOptions, payload};

/// One place to tell.
#[derive(Clone, PartialEq)]
pub struct Target {
    /// Its name, which stands in the log, in metrics and in payloads as the receiver.
    pub name: Box<str>,
    /// Where to: `http` or `https`. A name and password in it are sent as basic authentication.
    pub url: String,
    /// What is sent.
    pub format: Format,
    /// The key of the signature, if there is to be one.
    pub secret: Option<Secret>,
    /// Headers to send; a content type among them takes the place of `application/json`.
    pub headers: HeaderMap,
    /// How long an attempt may take.
    pub timeout: Duration,
    /// How often it is tried again.
    pub max_retries: u32,
    /// Whether it is told when an alert is resolved. An Alertmanager always is.
    pub send_resolved: bool,
}

/// What a target is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// What an Alertmanager sends to its webhooks, version 4.
    AlertmanagerWebhook,
    /// What an Alertmanager takes from a Prometheus: its API, version 2.
    AlertmanagerPush,
    /// What an incoming webhook of Slack takes.
    Slack,
    /// The notification as it is.
    Json,
    /// What a template of Jinja makes of it.
    Template(String),
}

/// Why a target cannot be sent to.
#[derive(Debug, PartialEq, Eq)]
pub struct TargetError(String);

impl Target {
    /// Tries what can be tried without sending: the URL and the template.
    ///
    /// # Errors
    ///
    /// When nothing could ever be sent.
    pub fn check(&self) -> Result<(), TargetError> {
        self.endpoint()?;
        Payload::new(self, &NotifyOptions::default()).map(drop)
    }

    /// Where requests go. What it says of a bad URL holds nothing of it: there may be secrets in it.
    pub(super) fn endpoint(&self) -> Result<Url, TargetError> {
        let mut url = Url::parse(&self.url).map_err(|error| self.error(format!("not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(self.error("allowed are URLs of http and https".to_owned()));
        }
        if self.format == Format::AlertmanagerPush {
            if url.query().is_some() || url.fragment().is_some() {
                return Err(self.error("the URL of an Alertmanager ends with its path".to_owned()));
            }
            let path = format!("{}{}", url.path().trim_end_matches('/'), payload::PUSH_PATH);
            url.set_path(&path);
        }
        Ok(url)
    }

    pub(super) fn error(&self, why: String) -> TargetError {
        TargetError(format!("notifications to {}: {why}", self.name))
    }
}

impl fmt::Debug for Target {
    /// Without what may be secret: all of the URL but its host, and the values of headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(Url::host_str);
        f.debug_struct("Target")
            .field("name", &self.name)
            .field("host", &host)
            .field("format", &self.format)
            .field("secret", &self.secret)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("timeout", &self.timeout)
            .field("max_retries", &self.max_retries)
            .field("send_resolved", &self.send_resolved)
            .finish()
    }
}

impl TargetError {
    pub(super) fn twice(name: &str) -> Self {
        Self(format!("notifications to {name}: there are two targets of that name"))
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TargetError {}
