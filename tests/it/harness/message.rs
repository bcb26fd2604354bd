//! Heads and bodies, as they are written and as they were read.

use super::body::Trailers;

/// A message head as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The request line or the status line.
    pub(crate) line: String,
    /// The headers in their order, names as they were spelt.
    pub(crate) headers: Trailers,
}

impl Head {
    /// Reads the lines of a head, without the blank one.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        Self { line, headers: fields(lines) }
    }

    /// The values of a header, in their order.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let same = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a header that does not stand twice.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let values = self.all(name);
        assert!(values.len() <= 1, "{name} stands {} times: {self:?}", values.len());
        values.first().copied()
    }

    /// The status of a response.
    pub(crate) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line")
    }

    /// The target of a request.
    pub(crate) fn target(&self) -> &str {
        self.line.split(' ').nth(1).expect("a request line")
    }

    pub(crate) fn is_chunked(&self) -> bool {
        self.all("transfer-encoding").iter().any(|value| value.eq_ignore_ascii_case("chunked"))
    }

    pub(crate) fn length(&self) -> Option<u64> {
        self.header("content-length").map(|value| value.parse().expect("a length"))
    }
}

/// Header lines as pairs.
pub(crate) fn fields<'a>(lines: impl Iterator<Item = &'a str>) -> Trailers {
    lines
        .filter(|line| !line.is_empty())
        .map(|line| line.split_once(':').expect("a header line"))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// A message that was read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Trailers,
}

impl Message {
    pub(crate) fn status(&self) -> u16 {
        self.head.status()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

/// A request: its line, headers that each end in CR LF, and a body with its length.
pub(crate) fn request(line: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let length = format!("Content-Length: {}\r\n", body.as_ref().len());
    let length = if body.as_ref().is_empty() { "" } else { &length };
    let mut bytes = format!("{line} HTTP/1.1\r\nHost: weir.test\r\n{headers}{length}\r\n").into_bytes();
    bytes.extend_from_slice(body.as_ref());
    bytes
}

/// A request for a chat completion.
pub(crate) fn chat(body: impl AsRef<[u8]>) -> Vec<u8> {
    request("POST /v1/chat/completions", "Content-Type: application/json\r\n", body)
}

/// A response with a length: `status` is code and reason, headers each end in CR LF.
pub(crate) fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let length = body.as_ref().len();
    let mut bytes = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body.as_ref());
    bytes
}

/// The head of a chunked response.
pub(crate) fn chunked_head(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}Transfer-Encoding: chunked\r\n\r\n").into_bytes()
}

/// The head of an event stream.
pub(crate) fn stream_head() -> Vec<u8> {
    chunked_head("200 OK", "Content-Type: text/event-stream; charset=utf-8\r\n")
}

/// One chunk of a chunked body.
pub(crate) fn chunk(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    framed
}
