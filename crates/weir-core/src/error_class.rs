//! Tells the class of an error from its status and from what its body says, in the shapes that
//! servers give it: an object under `error`, a string there, flat, in an array, or under `detail`.

use crate::json::walk::{Kind, Walker};
use crate::outcome::ErrorType;

/// The class of an error answer.
pub fn classify(status: u16, body: &[u8]) -> ErrorType {
    let said = ErrorText::of_body(body);
    match status {
        402 => ErrorType::Quota,
        429 if said.names(QUOTA) => ErrorType::Quota,
        429 if said.names(OVERLOAD) => ErrorType::Overloaded,
        429 => ErrorType::RateLimited,
        401 => ErrorType::Auth,
        400 | 403 | 413 | 422 if said.names(FILTER) => ErrorType::ContentFilter,
        400 | 413 | 422 if said.is_context_length() => ErrorType::ContextLength,
        400 => ErrorType::BadRequest,
        403 => ErrorType::Auth,
        404 => ErrorType::NotFound,
        422 => ErrorType::Unprocessable,
        503 | 529 => ErrorType::Overloaded,
        500.. if said.names(OVERLOAD) => ErrorType::Overloaded,
        500.. => ErrorType::Upstream5xx,
        _ => ErrorType::Http4xx,
    }
}

const QUOTA: &[&str] = &[
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "billing_error",
    "billing_hard_limit_reached",
];
const OVERLOAD: &[&str] = &["overloaded", "overloaded_error", "unavailable_error"];
const FILTER: &[&str] = &["content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"];
const CONTEXT: &[&str] = &["context_length_exceeded", "exceed_context_size_error", "string_above_max_length"];

/// Most engines say it in prose alone.
const CONTEXT_PROSE: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "prompt too long",
    "`max_new_tokens` must be <=",
    "too large for model with",
];

/// As much of a message is searched.
const PROSE_LIMIT: usize = 512;

/// What an error says of itself, as raw JSON values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorText<'a> {
    pub(crate) code: Option<&'a [u8]>,
    pub(crate) kind: Option<&'a [u8]>,
    pub(crate) message: Option<&'a [u8]>,
}

impl<'a> ErrorText<'a> {
    /// From a whole error body, or the beginning of one.
    pub(crate) fn of_body(body: &'a [u8]) -> Self {
        let mut walker = Walker::new(body);
        let mut said = None;
        if walker.peek() == Kind::Array {
            walker.array(|walker| {
                let document = Self::walk_document(walker);
                said.get_or_insert(document);
            });
        } else {
            said = Some(Self::walk_document(&mut walker));
        }
        said.unwrap_or_default()
    }

    /// From an error object at the walker's place, or one that holds it under `error` or `detail`.
    fn walk_document(walker: &mut Walker<'a>) -> Self {
        let (mut flat, mut nested) = (Self::default(), Self::default());
        walker.object(|walker, key| match key {
            b"error" | b"detail" => nested = Self::walk(walker).or(nested),
            _ => flat.field(walker, key),
        });
        nested.or(flat)
    }

    /// From the value of `error`: an object, or the message itself.
    pub(crate) fn walk(walker: &mut Walker<'a>) -> Self {
        let mut said = Self::default();
        match walker.peek() {
            Kind::Object => {
                walker.object(|walker, key| said.field(walker, key));
            }
            Kind::String => said.message = Some(walker.raw()),
            _ => walker.skip(),
        }
        said
    }

    /// Takes one field of an error object.
    pub(crate) fn field(&mut self, walker: &mut Walker<'a>, key: &[u8]) {
        let slot = match key {
            b"code" => &mut self.code,
            b"type" | b"error_type" | b"status" => &mut self.kind,
            b"message" => &mut self.message,
            _ => return walker.skip(),
        };
        if matches!(walker.peek(), Kind::String | Kind::Number) {
            slot.get_or_insert(walker.raw());
        } else {
            walker.skip();
        }
    }

    /// This one, with what it leaves open taken from the other.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            code: self.code.or(other.code),
            kind: self.kind.or(other.kind),
            message: self.message.or(other.message),
        }
    }

    fn names(&self, words: &[&str]) -> bool {
        [self.code, self.kind].into_iter().flatten().any(|raw| {
            let word = raw.trim_ascii();
            let word = word.strip_prefix(b"\"").and_then(|w| w.strip_suffix(b"\"")).unwrap_or(word);
            words.iter().any(|known| known.as_bytes() == word)
        })
    }

    fn is_context_length(&self) -> bool {
        let prose = self.message.unwrap_or_default();
        let prose = prose[..prose.len().min(PROSE_LIMIT)].to_ascii_lowercase();
        self.names(CONTEXT)
            || CONTEXT_PROSE.iter().any(|known| memchr::memmem::find(&prose, known.as_bytes()).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::classify;
    use crate::outcome::ErrorType;

    #[test]
    fn every_shape_is_understood() {
        use ErrorType::*;
        for (status, body, expected) in [
            (400, r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#, ContextLength),
            (400, r#"{"error":{"code":400,"type":"exceed_context_size_error"}}"#, ContextLength),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8 tokens.","code":400}}"#,
                ContextLength,
            ),
            (
                400,
                r#"{"object":"error","message":"9 tokens is longer than the model's context length","code":400}"#,
                ContextLength,
            ),
            (400, r#"{"error":{"message":"context length"#, BadRequest),
            (400, r#"[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]"#, BadRequest),
            (400, r#"{"error":{"code":"content_filter","innererror":{}}}"#, ContentFilter),
            (400, r#"{"code":"x","error":"Model not found: y"}"#, BadRequest),
            (401, r#"{"detail":"Invalid API Key"}"#, Auth),
            (403, "", Auth),
            (404, r#"{"error":"no such model"}"#, NotFound),
            (402, "{}", Quota),
            (409, "{}", Http4xx),
            (421, r#"{"message":"hello"}"#, Http4xx),
            (422, r#"{"detail":[{"type":"missing","loc":["body"],"msg":"Field required"}]}"#, Unprocessable),
            (422, "plain words", Unprocessable),
            (429, r#"{"error":{"type":"insufficient_quota","code":null}}"#, Quota),
            (429, r#"{"error":{"type":"x","code":"project_spend_limit_exceeded"}}"#, Quota),
            (429, r#"{"error":"Model is overloaded","error_type":"overloaded"}"#, Overloaded),
            (429, r#"{"error":{"code":"rate_limit_exceeded"}}"#, RateLimited),
            (429, r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]"#, RateLimited),
            (500, "<html>", Upstream5xx),
            (500, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, Overloaded),
            (502, "", Upstream5xx),
            (503, r#"{"error":{"type":"Service Unavailable"}}"#, Overloaded),
            (529, "", Overloaded),
        ] {
            assert_eq!(classify(status, body.as_bytes()), expected, "{status} {body}");
        }
    }
}
