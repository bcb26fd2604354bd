//! The resolved configuration of the data path. It cannot be half-valid: every value is of a type
//! that holds only what is allowed.

use std::net::SocketAddr;
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{HeaderName, StatusCode};
use weir_core::content::CaptureLimit;
use weir_core::draft::Watch;
use weir_core::prompt_hash::PromptKey;

use crate::headers::ApiKey;
use crate::tls::{ClientTls, ServerTls};

/// Everything that the data path is told.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where clients connect to.
    pub listen: ListenConfig,
    /// Where requests go.
    pub upstream: UpstreamConfig,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// What a full queue answers.
    pub full_status: FullStatus,
    /// What happens to headers beyond what HTTP asks for.
    pub headers: HeaderRules,
    /// Whether exchanges belong to traces, and on whose behalf they are made.
    pub context: ContextRules,
    /// What to watch for in streams.
    pub watch: Watch,
    /// How much of a request body is read before admission, in bytes.
    pub request_buffer: usize,
}

/// The client side.
#[derive(Clone, Debug)]
pub struct ListenConfig {
    /// The address to listen on; port 0 takes any free one.
    pub address: SocketAddr,
    /// How many client connections may be open. Further ones wait in the kernel's backlog.
    pub max_connections: usize,
    /// How long a client may take to send a request head, or the TLS handshake before it.
    pub head_timeout: Duration,
    /// How long a client may pause while it sends a request body that is waited for.
    pub body_timeout: Duration,
    /// How long a client may take no bytes of what is sent to it.
    pub send_timeout: Duration,
    /// How many exchanges a client may run at once on one HTTP/2 connection.
    pub max_streams: u32,
    /// The certificate to show; in the clear without one.
    pub tls: Option<ServerTls>,
}

/// The engine side.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Its name in records and labels.
    pub name: Box<str>,
    /// Where it is.
    pub url: UpstreamUrl,
    /// Which version of HTTP to speak to it.
    pub http: UpstreamHttp,
    /// Whom to trust; present exactly when the URL is `https`.
    pub tls: Option<ClientTls>,
    /// The key to send to it.
    pub api_key: Option<ApiKey>,
    /// Unused connections kept for later requests.
    pub max_idle: usize,
    /// How long an unused connection is kept. Below the server's own limit, or it dies in our hands.
    pub idle_timeout: Duration,
}

/// Which version of HTTP the upstream is spoken to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamHttp {
    /// What the server chooses in the TLS handshake; HTTP/1.1 in the clear.
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, in the clear too.
    Http2,
}

/// How long to wait for what. There is no limit on a whole exchange.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// For a connection to the upstream.
    pub connect: Duration,
    /// From handing over the request to the response head.
    pub response_head: Duration,
    /// From one byte of the response body to the next; any byte starts it anew.
    pub idle: Duration,
}

/// The status that a full queue answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullStatus {
    /// 429, which clients take as "slow down".
    TooManyRequests,
    /// 503, which load balancers take as "try another".
    ServiceUnavailable,
}

impl FullStatus {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            FullStatus::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            FullStatus::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// Headers that Weir adds or keeps only when told to.
#[derive(Clone, Debug, Default)]
pub struct HeaderRules {
    /// Send the client's `Host` on, instead of the upstream's.
    pub keep_host: bool,
    /// Add `Via` both ways.
    pub via: bool,
    /// Add `X-Forwarded-For`, `-Proto` and `-Host` to requests.
    pub forwarded: bool,
}

/// What is told of an exchange beyond itself.
#[derive(Clone, Debug, Default)]
pub struct ContextRules {
    /// Whether it belongs to a trace.
    pub trace: TraceRule,
    /// The header that names the session.
    pub session_header: Option<HeaderName>,
    /// The header that names the end user.
    pub user_header: Option<HeaderName>,
    /// How much of what both sides say is kept; nothing without it.
    pub capture: Option<CaptureLimit>,
    /// With what the heads of prompts are hashed; they are not without it.
    pub prompt_key: Option<PromptKey>,
}

/// Whether exchanges belong to traces (W3C Trace Context).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceRule {
    /// They do not, and the client's headers pass as they came.
    #[default]
    Ignore,
    /// Each continues the client's trace or begins one; the client's headers pass as they came.
    Join,
    /// The same, and the upstream is told of our span in place of the client's.
    Continue,
}

/// The address that `weir` listens on unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// How long running exchanges may take to end after a shutdown began.
pub const DEFAULT_DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            address: DEFAULT_LISTEN,
            max_connections: 16_384,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            send_timeout: Duration::from_secs(60),
            max_streams: 256,
            tls: None,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            response_head: Duration::from_secs(600),
            idle: Duration::from_secs(300),
        }
    }
}

/// An upstream's address: `http://HOST[:PORT][/BASE]`, or the same with `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamUrl {
    secure: bool,
    authority: Authority,
    base: Box<str>,
}

/// Why a text is no [`UpstreamUrl`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamUrlError {
    /// It does not parse as an absolute URL.
    Malformed,
    /// Its scheme is neither `http` nor `https`.
    Scheme,
    /// It carries a user or a password.
    Credentials,
    /// It carries a query.
    Query,
}

impl std::fmt::Display for UpstreamUrlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a URL; allowed: http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE]",
            Self::Scheme => "the scheme must be http or https",
            Self::Credentials => "a user or password in the URL would be sent nowhere; leave it out",
            Self::Query => "a query is not allowed; a base path is",
        })
    }
}

impl std::error::Error for UpstreamUrlError {}

impl std::str::FromStr for UpstreamUrl {
    type Err = UpstreamUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.parse::<Uri>().map_err(|_| UpstreamUrlError::Malformed)?.into_parts();
        let secure = match &parts.scheme {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(_) => return Err(UpstreamUrlError::Scheme),
            None => return Err(UpstreamUrlError::Malformed),
        };
        let authority = parts.authority.ok_or(UpstreamUrlError::Malformed)?;
        if authority.as_str().contains('@') {
            return Err(UpstreamUrlError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(UpstreamUrlError::Malformed);
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if path.query().is_some() {
            return Err(UpstreamUrlError::Query);
        }
        Ok(Self { secure, authority, base: path.path().trim_end_matches('/').into() })
    }
}

impl UpstreamUrl {
    /// HOST or HOST:PORT, as requests' `Host` gives it.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The host name or address, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port; 80 unless the URL names one, or 443 for `https`.
    pub fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.secure { 443 } else { 80 })
    }

    /// Whether it is spoken to under TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The base path without a slash at its end; empty when there is none.
    pub fn base(&self) -> &str {
        &self.base
    }
}

impl std::fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::{UpstreamUrl, UpstreamUrlError};

    #[test]
    fn urls_with_and_without_a_base() {
        let url: UpstreamUrl = "http://127.0.0.1:8000".parse().unwrap();
        assert_eq!((url.host(), url.port(), url.base()), ("127.0.0.1", 8000, ""));
        let url: UpstreamUrl = "http://[::1]/engines/a/".parse().unwrap();
        assert_eq!((url.host(), url.port(), url.base()), ("::1", 80, "/engines/a"));
        assert_eq!(url.to_string(), "http://[::1]/engines/a");
        let url: UpstreamUrl = "https://api.example/v1".parse().unwrap();
        assert_eq!((url.is_secure(), url.port(), url.base()), (true, 443, "/v1"));
        assert_eq!(url.to_string(), "https://api.example/v1");
    }

    #[test]
    fn what_is_no_upstream_is_refused_with_its_reason() {
        for (text, error) in [
            ("127.0.0.1:8000", UpstreamUrlError::Malformed),
            ("not a url", UpstreamUrlError::Malformed),
            ("ftp://x", UpstreamUrlError::Scheme),
            ("http://u:p@x", UpstreamUrlError::Credentials),
            ("http://x/v1?a=b", UpstreamUrlError::Query),
        ] {
            assert_eq!(text.parse::<UpstreamUrl>(), Err(error), "{text}");
        }
    }
}
