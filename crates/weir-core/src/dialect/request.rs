//! What Weir takes from a request body. The body itself is passed on as it is.

use crate::json::skim::Skim;
use crate::json::text;
use crate::json::walk::Walker;

/// Model names longer than this are taken for absent.
const MODEL_LIMIT: usize = 256;

/// What a request asks for, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPeek {
    /// The model asked for; absent unless it is a string of bounded length.
    pub model: Option<Box<str>>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// How many choices are asked for (per prompt).
    pub choices: u32,
    /// Whether the stream is to end with a usage event.
    pub include_usage: bool,
    /// Whether the prompt comes back before what is generated.
    pub echo: bool,
    /// Whether the body ended inside what was seen, so that what is absent here is absent there.
    pub complete: bool,
}

impl Default for RequestPeek {
    fn default() -> Self {
        Self { model: None, stream: false, choices: 1, include_usage: false, echo: false, complete: false }
    }
}

impl RequestPeek {
    /// Looks into the beginning of a body, in as many parts as it came in.
    pub fn scan<'a>(body_parts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut skim = Skim::new(&["model", "stream", "n", "stream_options", "echo"], None);
        body_parts.for_each(|part| skim.feed(part));
        let is_true = |key| skim.value(key) == Some(b"true");
        let mut include_usage = false;
        if let Some(options) = skim.value("stream_options") {
            Walker::new(options).object(|walker, key| match key {
                b"include_usage" => include_usage = walker.boolean() == Some(true),
                _ => walker.skip(),
            });
        }
        let choices = skim.value("n").and_then(|raw| Walker::new(raw).unsigned()).unwrap_or(1);
        Self {
            model: skim.value("model").and_then(|raw| text(raw, MODEL_LIMIT)),
            stream: is_true("stream"),
            choices: u32::try_from(choices.max(1)).unwrap_or(u32::MAX),
            include_usage,
            echo: is_true("echo"),
            complete: skim.is_complete(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RequestPeek;

    fn peek(body: &str) -> RequestPeek {
        let whole = RequestPeek::scan(std::iter::once(body.as_bytes()));
        assert_eq!(RequestPeek::scan(body.as_bytes().chunks(3)), whole);
        whole
    }

    #[test]
    fn takes_what_it_needs_and_nothing_from_inside() {
        let body = r#"{ "messages": [{"role":"user","content":"\"stream\": true, \"model\": \"x\""}],
            "tools": [{"model": "y", "stream": true, "n": 9}], "model" : "org/m\u00e9",
            "n": 2, "stream_options": {"include_usage": true, "x": [1]}, "stream": true }"#;
        let expected = RequestPeek {
            model: Some("org/m\u{e9}".into()),
            stream: true,
            choices: 2,
            include_usage: true,
            echo: false,
            complete: true,
        };
        assert_eq!(peek(body), expected);
    }

    #[test]
    fn what_is_not_said_or_not_understood_is_the_default() {
        let nothing = RequestPeek { complete: true, ..RequestPeek::default() };
        assert_eq!(peek("{}"), nothing);
        assert_eq!(peek(r#"{"model":5,"stream":"true","n":null,"stream_options":[],"echo":0}"#), nothing);
        assert_eq!(peek(&format!(r#"{{"model":"{}"}}"#, "m".repeat(257))), nothing);
        assert_eq!(peek("not json"), RequestPeek::default());
        assert_eq!(
            peek(r#"{"stream":true,"prompt":"cut of"#),
            RequestPeek { stream: true, ..RequestPeek::default() }
        );
        assert_eq!(peek(r#"{"n":0}"#).choices, 1);
    }

    #[test]
    fn of_a_repeated_key_the_last_counts() {
        assert!(!peek(r#"{"stream":true,"stream":false}"#).stream);
    }
}
