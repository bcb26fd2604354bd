//! Which headers pass: all that are end-to-end, unchanged; none that are hop-by-hop (RFC 9110,
//! section 7.6.1).

use std::net::IpAddr;

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::uri::PathAndQuery;
use http::{Method, Uri, Version, request, response};

use crate::config::{HeaderRules, UpstreamUrl};
use crate::error::ProxyError;

/// Headers that speak of one connection only, whether `Connection` lists them or not.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
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
    let hosts = parts.headers.get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && parts.version == Version::HTTP_11) {
        return Some(ProxyError::Host);
    }
    // Chunks are made anew on the other hop. A coding beneath them would get lost.
    let mut codings = parts.headers.get_all(TRANSFER_ENCODING).iter();
    let only_chunks = codings.next().is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    (!only_chunks || codings.next().is_some()).then_some(ProxyError::RequestBody)
}

/// Turns a client's request head into the one that the upstream gets.
pub(crate) fn to_upstream(
    parts: &mut request::Parts,
    url: &UpstreamUrl,
    rules: &HeaderRules,
    client: IpAddr,
) {
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
        forwarded(&mut parts.headers, client);
    }
    if rules.via {
        parts.headers.append(VIA, HeaderValue::from_static("1.1 weir"));
    }
    if (!rules.keep_host || !parts.headers.contains_key(HOST))
        && let Ok(host) = HeaderValue::from_str(url.authority().as_str())
    {
        parts.headers.insert(HOST, host);
    }
    parts.uri = target(&parts.uri, url.base());
    parts.version = Version::HTTP_11;
}

/// Turns the upstream's response head into the one that the client gets.
pub(crate) fn to_client(parts: &mut response::Parts, rules: &HeaderRules) {
    drop_hop_by_hop(&mut parts.headers);
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

fn forwarded(headers: &mut HeaderMap, client: IpAddr) {
    if let Ok(address) = HeaderValue::from_str(&client.to_string()) {
        headers.append(FORWARDED_FOR, address);
    }
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static("http"));
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

    use super::{HeaderRules, drop_hop_by_hop, target, to_upstream};

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
        let url = "http://engine:8000/base".parse().unwrap();
        to_upstream(&mut parts, &url, &HeaderRules::default(), [127, 0, 0, 1].into());
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
        to_upstream(&mut parts, &"http://engine".parse().unwrap(), &rules, [127, 0, 0, 1].into());
        let all = |name: &str| -> Vec<_> {
            parts.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(all("host"), ["public.example"]);
        assert_eq!(all("x-forwarded-for"), ["10.0.0.1", "127.0.0.1"]);
        assert_eq!(all("x-forwarded-host"), ["public.example"]);
        assert_eq!(all("via"), ["1.1 weir"]);
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
