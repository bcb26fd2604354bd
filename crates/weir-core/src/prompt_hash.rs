//! Tells prompts apart without keeping them: a keyed hash of a prompt's head, to see that it is always
//! the same one that fails.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::content::{CaptureLimit, Input};
use crate::dialect::Dialect;

/// How much of a prompt is its head, in bytes.
const HEAD: CaptureLimit = CaptureLimit(1 << 10);

/// Bytes of the hash that are kept: enough to tell billions of prompts apart.
const KEPT: usize = 8;

/// The secret without which nobody can find out which prompt has which hash.
#[derive(Clone)]
pub struct PromptKey(Box<[u8]>);

impl std::fmt::Debug for PromptKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PromptKey")
    }
}

impl PromptKey {
    /// A key of any length.
    pub fn new(secret: &str) -> Self {
        Self(secret.as_bytes().into())
    }

    /// The hash of the head of what is asked in this body, or its beginning: 16 hexadecimal digits of
    /// HMAC-SHA-256. Absent where nothing of that kind is in it.
    pub fn hash<'a>(&self, dialect: Dialect, body_parts: impl Iterator<Item = &'a [u8]>) -> Option<Box<str>> {
        let input = Input::read(dialect, body_parts, HEAD)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(input.body.as_bytes());
        let hash = mac.finalize().into_bytes();
        Some(hash.iter().take(KEPT).map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }
}

#[cfg(test)]
mod tests {
    use super::PromptKey;
    use crate::dialect::Dialect;

    fn hash(key: &str, body: &str) -> Option<Box<str>> {
        // In two parts, as it may come.
        let (head, tail) = body.as_bytes().split_at(body.len() / 2);
        PromptKey::new(key).hash(Dialect::Chat, [head, tail].into_iter())
    }

    #[test]
    fn the_same_prompt_has_the_same_hash_whatever_else_is_asked() {
        let one = hash("k", r#"{"model":"a","messages":[{"role":"user","content":"hello"}]}"#).unwrap();
        let two =
            hash("k", r#"{"messages": [{"role":"user","content":"hello"}], "temperature": 1}"#).unwrap();
        assert_eq!(one, two);
        assert_eq!(one.len(), 16);
        assert!(one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn another_prompt_or_key_has_another() {
        let body = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
        assert_ne!(hash("k", body), hash("l", body));
        assert_ne!(hash("k", body), hash("k", &body.replace("hello", "hallo")));
        assert_eq!(hash("k", r#"{"model":"a"}"#), None);
        assert_eq!(hash("k", "not JSON"), None);
    }

    #[test]
    fn what_lies_behind_the_head_does_not_count() {
        let long = "a".repeat(4_000);
        let body = |end: &str| format!(r#"{{"messages":[{{"role":"user","content":"{long}{end}"}}]}}"#);
        assert_eq!(hash("k", &body("x")), hash("k", &body("y")));
    }

    #[test]
    fn the_key_does_not_show_itself() {
        assert_eq!(format!("{:?}", PromptKey::new("secret")), "PromptKey");
    }
}
