//! Which headers pass: all that are end-to-end, unchanged; none that are hop-by-hop (RFC 9110,
//! section 7.6.1).

mod api_key;
pub(crate) mod trace;
mod upgrade;
mod version;

pub use api_key::{ApiKey, ApiKeyError, KeyRule};
pub(crate) use upgrade::Upgrade;
pub(crate) use version::{for_http1, for_http2, from_http2};

use std::net::IpAddr;

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::uri::PathAndQuery;
use http::{Method, StatusCode, Uri, Version, request, response};
use weir_core::trace::TracePlace;

use crate::config::{HeaderRules, UpstreamConfig};
use crate::error::ProxyError;

/// Headers that speak of one connection only, whether `Connection` lists them or not.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Says why a request head cannot be relayed, if so.
pub(crate) fn refuse(parts: &request::Parts) -> Option<ProxyError> {
    if parts.method == Method::CONNECT {
        return Some(ProxyError::Connect);
    }
    if !names_one_host(parts) {
        return Some(ProxyError::Host);
    }
    if parts.headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Some(ProxyError::ConflictingLengths);
    }
    let path = parts.uri.path();
    if !path.starts_with('/') && path != "*" {
        return Some(ProxyError::Path);
    }
    // Chunks are made anew on the other hop. A coding beneath them would get lost.
    let mut codings = parts.headers.get_all(TRANSFER_ENCODING).iter();
    let only_chunks = codings.next().is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    (!only_chunks || codings.next().is_some()).then_some(ProxyError::RequestBody)
}

/// Whether it can be read in one way only for which host a request is meant.
fn names_one_host(parts: &request::Parts) -> bool {
    let mut hosts = parts.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => false,
        (None, None) => match parts.version {
            Version::HTTP_11 => false,
            Version::HTTP_2 => parts.uri.authority().is_some(),
            _ => true,
        },
        // In HTTP/1.1 a target in absolute form overrules the header (RFC 9112, section 3.2.2).
        (Some(host), None) => {
            let named = parts.uri.authority().filter(|_| parts.version == Version::HTTP_2);
            named.is_none_or(|named| named.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes()))
        }
    }
}

/// What the next hop is to know of where a request comes from, and what it asks for.
#[derive(Debug)]
pub(crate) struct Came<'a> {
    pub(crate) client: IpAddr,
    /// Under TLS.
    pub(crate) secure: bool,
    pub(crate) upgrade: Option<&'a Upgrade>,
    /// The place in a trace that the upstream is told of.
    pub(crate) trace: Option<&'a TracePlace>,
}

/// Turns a client's request head, in the form of HTTP/1.1, into the one that the upstream gets.
pub(crate) fn to_upstream(
    parts: &mut request::Parts,
    upstream: &UpstreamConfig,
    rules: &HeaderRules,
    came: &Came<'_>,
) {
    let url = &upstream.url;
    let chunked = parts.headers.contains_key(TRANSFER_ENCODING);
    let takes_trailers = parts.headers.get_all(TE).iter().any(|value| value.as_bytes() == b"trailers");
    drop_hop_by_hop(&mut parts.headers);
    if chunked {
        // Said outright, since a body of unknown length is otherwise left out of a GET.
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    if takes_trailers {
        parts.headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if rules.forwarded {
        forwarded(&mut parts.headers, came);
    }
    if rules.via {
        parts.headers.append(VIA, HeaderValue::from_static("1.1 weir"));
    }
    if (!rules.keep_host || !parts.headers.contains_key(HOST))
        && let Ok(host) = HeaderValue::from_str(url.authority().as_str())
    {
        parts.headers.insert(HOST, host);
    }
    if let Some(upgrade) = came.upgrade {
        upgrade.ask(&mut parts.headers);
    }
    if let Some(place) = came.trace {
        trace::tell(&mut parts.headers, place);
    }
    if let Some(key) = &upstream.api_key {
        key.apply(&mut parts.headers);
    }
    parts.uri = target(&parts.uri, url.base());
}

/// Turns the upstream's response head into the one that the client gets.
pub(crate) fn to_client(parts: &mut response::Parts, rules: &HeaderRules) {
    // In a switch of protocols this header is the answer itself.
    let switched = (parts.status == StatusCode::SWITCHING_PROTOCOLS).then(|| parts.headers.remove(UPGRADE));
    drop_hop_by_hop(&mut parts.headers);
    if let Some(protocol) = switched.flatten() {
        parts.headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        parts.headers.insert(UPGRADE, protocol);
    }
    if rules.via {
        parts.headers.append(VIA, HeaderValue::from_static("1.1 weir"));
    }
    // An answer in HTTP/1.0 is passed on in our own version: the connection to the client is ours.
    parts.version = Version::HTTP_11;
}

/// One look at the names tells most heads to have none, or a `Connection` alone.
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        // Naming these cannot make them go: the message would lose its end or its address.
        .filter(|name| *name != CONTENT_LENGTH && *name != HOST)
        .collect();
    let there: Vec<HeaderName> =
        headers.keys().filter(|name| HOP_BY_HOP.contains(name) || listed.contains(name)).cloned().collect();
    for name in &there {
        headers.remove(name);
    }
}

fn forwarded(headers: &mut HeaderMap, came: &Came<'_>) {
    if let Ok(address) = HeaderValue::from_str(&came.client.to_string()) {
        headers.append(FORWARDED_FOR, address);
    }
    let scheme = if came.secure { "https" } else { "http" };
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static(scheme));
    if let Some(host) = headers.get(HOST).cloned() {
        headers.insert(FORWARDED_HOST, host);
    }
}

/// The same path and query, byte for byte, behind the base path.
fn target(uri: &Uri, base: &str) -> Uri {
    let Some(path) = uri.path_and_query() else { return Uri::from_static("/") };
    let path = if base.is_empty() || path.as_str() == "*" {
        Some(path.clone())
    } else {
        PathAndQuery::try_from(format!("{base}{path}")).ok()
    };
    path.map_or_else(|| Uri::from_static("/"), Uri::from)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Request, Uri};

    use super::{Came, HeaderRules, UpstreamConfig, drop_hop_by_hop, refuse, target, to_upstream};
    use crate::config::UpstreamHttp;

    fn upstream(url: &str) -> UpstreamConfig {
        UpstreamConfig {
            name: "default".into(),
            url: url.parse().unwrap(),
            http: UpstreamHttp::Auto,
            tls: None,
            api_key: None,
            max_idle: 1,
            idle_timeout: std::time::Duration::from_secs(1),
        }
    }

    const CAME: Came<'_> = Came {
        client: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        secure: false,
        upgrade: None,
        trace: None,
    };

    fn head(build: http::request::Builder) -> http::request::Parts {
        build.body(()).unwrap().into_parts().0
    }

    #[test]
    fn hop_by_hop_headers_go_and_all_others_stay() {
        let mut parts = head(
            Request::post("/v1/models?x=%2F&y=")
                .header("connection", "close, X-Hop , content-length")
                .header("x-hop", "1")
                .header("keep-alive", "timeout=5")
                .header("te", "trailers")
                .header("proxy-authorization", "Basic x")
                .header("authorization", "Bearer y")
                .header("content-length", "3")
                .header("anthropic-beta", "a")
                .header("anthropic-beta", "b"),
        );
        to_upstream(&mut parts, &upstream("http://engine:8000/base"), &HeaderRules::default(), &CAME);
        let mut left: Vec<_> =
            parts.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        left.sort_unstable();
        assert_eq!(
            left,
            [
                ("anthropic-beta", "a"),
                ("anthropic-beta", "b"),
                ("authorization", "Bearer y"),
                ("content-length", "3"),
                ("host", "engine:8000"),
                ("te", "trailers"),
            ]
        );
        assert_eq!(parts.uri, "/base/v1/models?x=%2F&y=");
    }

    #[test]
    fn what_is_asked_for_is_added() {
        let mut parts =
            head(Request::get("/").header("host", "public.example").header("x-forwarded-for", "10.0.0.1"));
        let rules = HeaderRules { keep_host: true, via: true, forwarded: true };
        let came = Came { secure: true, ..CAME };
        to_upstream(&mut parts, &upstream("http://engine"), &rules, &came);
        let all = |name: &str| -> Vec<_> {
            parts.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(all("host"), ["public.example"]);
        assert_eq!(all("x-forwarded-for"), ["10.0.0.1", "127.0.0.1"]);
        assert_eq!(all("x-forwarded-host"), ["public.example"]);
        assert_eq!(all("x-forwarded-proto"), ["https"]);
        assert_eq!(all("via"), ["1.1 weir"]);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        let http2 = |uri: &str| Request::get(uri).version(http::Version::HTTP_2);
        let refused = |build: http::request::Builder| refuse(&head(build)).is_some();
        assert!(!refused(http2("https://a/x")));
        assert!(!refused(http2("https://a/x").header("host", "A")));
        assert!(refused(http2("https://a/x").header("host", "b")));
        assert!(refused(http2("/x")), "no host at all");
        assert!(refused(http2("https://a/x").header("content-length", "1").header("content-length", "2")));
        assert!(refused(Request::get("/x")), "no host");
        assert!(!refused(Request::get("http://a/x").header("host", "b")), "the target overrules it");
        assert!(!refused(Request::options("*").header("host", "a")));
    }

    #[test]
    fn paths_pass_byte_for_byte() {
        for path in ["/v1/models/org%2Fmodel%20a?x=%2F&y=&x=2", "/v1//models", "/v1/./models", "/v1/models?"]
        {
            let uri: Uri = path.parse().unwrap();
            assert_eq!(target(&uri, "").to_string(), path);
            assert_eq!(target(&uri, "/base").to_string(), format!("/base{path}"));
        }
    }

    #[test]
    fn several_connection_lines_are_one_list() {
        let mut headers = HeaderMap::new();
        headers.append("connection", "a".parse().unwrap());
        headers.append("connection", "b".parse().unwrap());
        headers.insert("a", "1".parse().unwrap());
        headers.insert("b", "1".parse().unwrap());
        drop_hop_by_hop(&mut headers);
        assert!(headers.is_empty());
    }
}
