//! The upstream's API key, which clients need not know.

use std::fmt;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

/// A key that Weir sends to the upstream. It is never shown.
#[derive(Clone)]
pub struct ApiKey {
    header: HeaderName,
    value: HeaderValue,
    rule: KeyRule,
}

/// What becomes of a client's own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// It is replaced: no client's key reaches the upstream.
    Replace,
    /// It is passed on; Weir's is added for a client that sends none.
    Add,
}

/// Why a key cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiKeyError {
    /// It is empty, or holds what no header can.
    Key,
    /// The header's name is none.
    Header,
}

impl fmt::Display for ApiKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "the key is empty or holds characters that no header can",
            Self::Header => "not the name of a header",
        })
    }
}

impl std::error::Error for ApiKeyError {}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey")
            .field("header", &self.header)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl ApiKey {
    /// A key that goes out in `header`: as a bearer token in `authorization`, bare in any other.
    ///
    /// # Errors
    ///
    /// When one of the two cannot stand in a request head.
    pub fn new(key: &str, header: &str, rule: KeyRule) -> Result<Self, ApiKeyError> {
        let header = HeaderName::from_bytes(header.as_bytes()).map_err(|_| ApiKeyError::Header)?;
        if key.trim().is_empty() {
            return Err(ApiKeyError::Key);
        }
        let text = if header == AUTHORIZATION { format!("Bearer {key}") } else { key.to_owned() };
        let mut value = HeaderValue::from_str(&text).map_err(|_| ApiKeyError::Key)?;
        value.set_sensitive(true);
        Ok(Self { header, value, rule })
    }

    pub(super) fn apply(&self, headers: &mut HeaderMap) {
        if self.rule == KeyRule::Replace || !headers.contains_key(&self.header) {
            headers.insert(self.header.clone(), self.value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{ApiKey, ApiKeyError, KeyRule};

    fn sent(key: &ApiKey, client: Option<&'static str>) -> Vec<String> {
        let mut headers = HeaderMap::new();
        if let Some(client) = client {
            headers.append("authorization", client.parse().unwrap());
        }
        key.apply(&mut headers);
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn it_replaces_or_is_added() {
        let replace = ApiKey::new("ours", "authorization", KeyRule::Replace).unwrap();
        assert_eq!(sent(&replace, Some("Bearer theirs")), ["authorization: Bearer ours"]);
        assert_eq!(sent(&replace, None), ["authorization: Bearer ours"]);
        let add = ApiKey::new("ours", "Authorization", KeyRule::Add).unwrap();
        assert_eq!(sent(&add, Some("Bearer theirs")), ["authorization: Bearer theirs"]);
        assert_eq!(sent(&add, None), ["authorization: Bearer ours"]);
        let bare = ApiKey::new("ours", "x-api-key", KeyRule::Replace).unwrap();
        assert_eq!(sent(&bare, None), ["x-api-key: ours"]);
    }

    #[test]
    fn what_no_header_holds_is_refused_and_nothing_is_shown() {
        assert_eq!(ApiKey::new(" ", "authorization", KeyRule::Add).unwrap_err(), ApiKeyError::Key);
        assert_eq!(ApiKey::new("a\nb", "authorization", KeyRule::Add).unwrap_err(), ApiKeyError::Key);
        assert_eq!(ApiKey::new("a", "not a header", KeyRule::Add).unwrap_err(), ApiKeyError::Header);
        let shown = format!("{:?}", ApiKey::new("secret", "authorization", KeyRule::Add).unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
