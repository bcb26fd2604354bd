//! Who may use the API.
//!
//! With a token, whoever shows it. Without one, whoever sits at this machine: the listener has to be at a
//! loopback address, and what a browser here asks on behalf of a foreign page is refused. A page that has
//! its own name resolve to this machine (DNS rebinding) is known by the `Host`, any other one by the
//! `Origin` or by `Sec-Fetch-Site`.

use std::net::{IpAddr, SocketAddr};

use http::header::{AUTHORIZATION, AsHeaderName, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use http::request::Parts;
use http::uri::Authority;

use crate::config::Token;
use crate::refusal::Refusal;

/// Longer URIs are not looked at.
const MAX_URI: usize = 8 * 1024;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Who may use the API.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    token: Option<Token>,
    /// Whether only this machine can reach the port.
    local: bool,
}

impl Guard {
    /// Of a port at `bound`.
    pub(crate) fn new(token: Option<Token>, bound: SocketAddr) -> Self {
        Self { token, local: is_local(bound.ip()) }
    }

    /// Lets a request pass, or says why not.
    pub(crate) fn admit(&self, request: &Parts) -> Result<(), Refusal> {
        match &self.token {
            Some(token) if shows(&request.headers, token) => {}
            Some(_) => return Err(Refusal::Unauthorized),
            None if self.local => from_here(request)?,
            None => return Err(Refusal::NeedsToken),
        }
        match request.uri.path_and_query().is_some_and(|path| path.as_str().len() > MAX_URI) {
            true => Err(Refusal::LongUri),
            false => Ok(()),
        }
    }
}

/// Whether a body is declared as JSON, which no form of a foreign page can do.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let media = only(headers, CONTENT_TYPE).and_then(|value| value.split(';').next());
    media.is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}

fn shows(headers: &HeaderMap, token: &Token) -> bool {
    let shown = only(headers, AUTHORIZATION).and_then(|value| value.split_once(' '));
    shown.is_some_and(|(scheme, shown)| {
        scheme.eq_ignore_ascii_case("bearer") && token.is(shown.trim().as_bytes())
    })
}

fn from_here(request: &Parts) -> Result<(), Refusal> {
    let host = only(&request.headers, HOST).filter(|host| names_this_machine(host));
    let Some(host) = host else { return Err(Refusal::ForeignHost) };
    // The absolute form of a URI comes before the header.
    if request.uri.authority().is_some_and(|authority| !names_this_machine(authority.as_str())) {
        return Err(Refusal::ForeignHost);
    }
    let origin = &request.headers.get(ORIGIN);
    let of_same = origin.is_none_or(|origin| {
        let page = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        page.is_some_and(|(_, page)| page.eq_ignore_ascii_case(host))
    });
    // Browsers leave the origin out of a GET for a picture or a script.
    let site = request.headers.get(SEC_FETCH_SITE).map(|site| site.as_bytes());
    match of_same && matches!(site, None | Some(b"same-origin" | b"none")) {
        true => Ok(()),
        false => Err(Refusal::ForeignOrigin),
    }
}

/// Whether a host, with a port or without, can only be this machine. The port may be another's: a tunnel
/// to this machine has one of its own.
fn names_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    if host.contains('@') {
        return false;
    }
    let name = authority.host();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(is_local)
}

fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// The value of a header that stands once and is text.
fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    value.to_str().ok().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::names_this_machine;

    #[test]
    fn only_loopback_names_and_addresses_are_this_machine() {
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1",
            "127.9.9.9:80",
            "[::1]",
            "[::1]:9464",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "weir",
            "localhost.evil.example",
            "evil.example",
            "127.0.0.1.evil.example",
            "0.0.0.0",
            "10.0.0.1:9464",
            "[::]",
            "evil@localhost",
            "localhost@evil",
            "localhost/",
            "localhost, evil",
            "2130706433",
            "::1",
        ] {
            assert!(!names_this_machine(host), "{host}");
        }
    }
}
