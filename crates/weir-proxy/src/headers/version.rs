//! What differs between the heads of HTTP/1.1 and HTTP/2.

use http::header::{CONTENT_LENGTH, COOKIE, HOST, TRANSFER_ENCODING};
use http::uri::{Authority, Parts, Scheme};
use http::{HeaderMap, HeaderValue, Request, Uri, Version, request};
use http_body::Body;

/// Gives the head of an HTTP/2 request the form of HTTP/1.1: its authority as `Host`, its cookies in
/// one line (RFC 9113, section 8.2.3), and chunks for a body whose length is not told.
pub(crate) fn from_http2(parts: &mut request::Parts, body: &impl Body) {
    if let Some(host) = parts.uri.authority().and_then(|name| HeaderValue::from_str(name.as_str()).ok()) {
        parts.headers.insert(HOST, host);
    }
    join_cookies(&mut parts.headers);
    if !body.is_end_stream() && !parts.headers.contains_key(CONTENT_LENGTH) {
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(line) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        headers.insert(COOKIE, line);
    }
}

/// Gives a request the form that an HTTP/2 connection sends, whichever it had.
pub(crate) fn for_http2<B>(request: &mut Request<B>, scheme: &Scheme) {
    let host = request.headers_mut().remove(HOST);
    request.headers_mut().remove(TRANSFER_ENCODING);
    let authority = host.and_then(|host| Authority::try_from(host.as_bytes()).ok());
    if let Some(authority) = authority {
        let mut parts = Parts::default();
        parts.scheme = Some(scheme.clone());
        parts.authority = Some(authority);
        parts.path_and_query = request.uri().path_and_query().cloned();
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
    *request.version_mut() = Version::HTTP_2;
}

/// Gives a request the form that an HTTP/1.1 connection sends, whichever it had.
pub(crate) fn for_http1<B>(request: &mut Request<B>) {
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str());
        let path = request.uri().path_and_query().cloned();
        if let Ok(host) = host {
            request.headers_mut().insert(HOST, host);
        }
        *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    }
    *request.version_mut() = Version::HTTP_11;
}

#[cfg(test)]
mod tests {
    use http::uri::Scheme;
    use http::{Request, Version};
    use http_body_util::{Empty, Full};

    use super::{for_http1, for_http2, from_http2};

    #[test]
    fn a_head_of_http_2_takes_the_form_of_http_1() {
        let request = Request::post("https://public.example/v1/x?y=1")
            .version(Version::HTTP_2)
            .header("cookie", "a=1")
            .header("cookie", "b=2");
        let mut parts = request.body(()).unwrap().into_parts().0;
        from_http2(&mut parts, &Full::new(bytes::Bytes::from_static(b"x")));
        let all: Vec<_> =
            parts.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            all,
            [("cookie", "a=1; b=2"), ("host", "public.example"), ("transfer-encoding", "chunked")]
        );

        let mut parts = Request::get("https://a/").body(()).unwrap().into_parts().0;
        from_http2(&mut parts, &Empty::<bytes::Bytes>::new());
        assert!(!parts.headers.contains_key("transfer-encoding"), "nothing comes");
        let mut parts =
            Request::post("https://a/").header("content-length", "1").body(()).unwrap().into_parts().0;
        from_http2(&mut parts, &Full::new(bytes::Bytes::from_static(b"x")));
        assert!(!parts.headers.contains_key("transfer-encoding"), "its length is told");
    }

    #[test]
    fn a_request_may_go_out_by_either() {
        let mut request = Request::get("/v1/x?y=1").header("host", "engine:8000").body(()).unwrap();
        for _ in 0..2 {
            for_http2(&mut request, &Scheme::HTTPS);
            assert_eq!(request.uri(), "https://engine:8000/v1/x?y=1");
            assert!(request.headers().is_empty());
            for_http1(&mut request);
            assert_eq!(request.uri(), "/v1/x?y=1");
            assert_eq!(request.headers()["host"], "engine:8000");
        }
    }
}
