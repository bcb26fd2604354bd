//! Asking for another protocol on the same connection (RFC 9110, section 7.8).

use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use http::{Method, Version, request};

/// The protocols that a client asks to go on with, as one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upgrade(HeaderValue);

impl Upgrade {
    /// What a request asks for, if anything. HTTP/2 is left out: it is each hop's own to choose, and
    /// a server that switched to it would be spoken to in a version that we cannot follow.
    pub(crate) fn asked(parts: &request::Parts) -> Option<Self> {
        if !parts.headers.contains_key(UPGRADE) || parts.version != Version::HTTP_11 {
            return None;
        }
        let bodiless =
            !parts.headers.contains_key(CONTENT_LENGTH) && !parts.headers.contains_key(TRANSFER_ENCODING);
        if parts.method != Method::GET || !bodiless || !is_listed(&parts.headers) {
            return None;
        }
        let asked: Vec<&[u8]> = tokens(&parts.headers, &UPGRADE)
            .filter(|protocol| {
                !protocol.eq_ignore_ascii_case(b"h2c") && !protocol.eq_ignore_ascii_case(b"h2")
            })
            .collect();
        let list = HeaderValue::from_bytes(&asked.join(&b", "[..])).ok()?;
        (!list.is_empty()).then_some(Self(list))
    }

    /// Says so to the next hop.
    pub(crate) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, self.0.clone());
    }

    /// Whether the protocol that a server switched to is one that was asked for.
    pub(crate) fn includes(&self, answer: &HeaderMap) -> bool {
        let mut switched = tokens(answer, &UPGRADE).peekable();
        let asked = |protocol: &[u8]| split(&self.0).any(|asked| asked.eq_ignore_ascii_case(protocol));
        switched.peek().is_some() && switched.all(asked)
    }
}

/// Whether `Connection` names the header: otherwise it was not meant for this hop.
fn is_listed(headers: &HeaderMap) -> bool {
    tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case(b"upgrade"))
}

fn tokens<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'h [u8]> {
    headers.get_all(name).iter().flat_map(split)
}

fn split(value: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Request};

    use super::Upgrade;

    fn asked(connection: &str, upgrade: &str) -> Option<String> {
        let request = Request::get("/").header("connection", connection).header("upgrade", upgrade);
        let upgrade = Upgrade::asked(&request.body(()).unwrap().into_parts().0)?;
        Some(upgrade.0.to_str().unwrap().to_owned())
    }

    #[test]
    fn what_is_meant_for_this_hop_is_passed_on_but_never_http_2() {
        assert_eq!(asked("Upgrade", "websocket").as_deref(), Some("websocket"));
        assert_eq!(asked("keep-alive, upgrade", "h2c, WebSocket , x/1").as_deref(), Some("WebSocket, x/1"));
        assert_eq!(asked("Upgrade, HTTP2-Settings", "h2c"), None);
        assert_eq!(asked("keep-alive", "websocket"), None);
        assert_eq!(asked("Upgrade", " , "), None);
    }

    #[test]
    fn a_request_with_a_body_asks_for_nothing() {
        let request = Request::post("/").header("connection", "upgrade").header("upgrade", "websocket");
        assert_eq!(Upgrade::asked(&request.body(()).unwrap().into_parts().0), None);
        let request = Request::get("/").header("connection", "upgrade").header("upgrade", "websocket");
        let request = request.header("content-length", "3");
        assert_eq!(Upgrade::asked(&request.body(()).unwrap().into_parts().0), None);
    }

    #[test]
    fn only_what_was_asked_for_may_be_switched_to() {
        let request = Request::get("/").header("connection", "upgrade").header("upgrade", "websocket, x/1");
        let upgrade = Upgrade::asked(&request.body(()).unwrap().into_parts().0).unwrap();
        for (answer, expected) in
            [("WebSocket", true), ("x/1", true), ("h2c", false), ("x/2", false), ("", false)]
        {
            let mut headers = HeaderMap::new();
            headers.insert("upgrade", answer.parse().unwrap());
            assert_eq!(upgrade.includes(&headers), expected, "{answer}");
        }
        assert!(!upgrade.includes(&HeaderMap::new()));
    }
}
