//! What signs, and the signature.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A key that nobody is to see.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Keeps a key.
    pub fn new(key: impl Into<Box<str>>) -> Self {
        Self(key.into())
    }

    /// HMAC-SHA256 over the time, a dot and the body, as hexadecimal digits. With the time in it, an old
    /// request cannot be played again unseen.
    pub(super) fn signature(&self, timestamp_s: u64, body: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(format!("{timestamp_s}.").as_bytes());
        mac.update(body);
        Some(mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}
