//! What must never be shown: secrets, and addresses that may hold them.

use std::fmt;

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// An address that is called. Only its scheme, host and port are shown: user, path and query may hold keys,
/// as those of chat services do.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Box<str>);

impl Endpoint {
    /// Takes an `http` or `https` address; what is wrong if it is none. The message shows none of it.
    pub(super) fn new(url: &str) -> Result<Self, &'static str> {
        let Some((_, rest)) = scheme(url) else { return Err("a url begins with http:// or https://") };
        if url.len() > 2_048 {
            return Err("a url has at most 2048 bytes");
        }
        if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("a url holds no spaces");
        }
        let host = authority(rest).rsplit('@').next().unwrap_or_default();
        if host.is_empty() || host.starts_with(':') {
            return Err("the url names no host");
        }
        Ok(Self(url.into()))
    }

    /// Whether an address as written in a file holds a password that is not `${NAME}`.
    pub(super) fn holds_password(url: &str) -> bool {
        let Some((_, rest)) = scheme(url) else { return false };
        let Some((user, _)) = authority(rest).rsplit_once('@') else { return false };
        user.split_once(':').is_some_and(|(_, password)| !password.is_empty() && !password.contains("${"))
    }

    /// The whole address, to call it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn scheme(url: &str) -> Option<(&str, &str)> {
    ["http://", "https://"].into_iter().find_map(|scheme| Some((scheme, url.strip_prefix(scheme)?)))
}

fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = scheme(&self.0).unwrap_or_default();
        let host = authority(rest).rsplit('@').next().unwrap_or_default();
        write!(f, "{scheme}{host}/…")
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Secret};

    #[test]
    fn nothing_secret_is_shown() {
        let endpoint =
            Endpoint::new("https://user:pass@hooks.example.com:8443/services/T0/B0/key?k=v").unwrap();
        assert_eq!(endpoint.to_string(), "https://hooks.example.com:8443/…");
        assert_eq!(format!("{endpoint:?}"), "Endpoint(https://hooks.example.com:8443/…)");
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
        assert_eq!(Secret::new("hunter2").reveal(), "hunter2");
    }

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for (url, wrong) in [
            ("hooks.example.com", "a url begins with http:// or https://"),
            ("ftp://x", "a url begins with http:// or https://"),
            ("http:///path", "the url names no host"),
            ("http://user@:80/", "the url names no host"),
            ("http://a b", "a url holds no spaces"),
        ] {
            assert_eq!(Endpoint::new(url).unwrap_err(), wrong, "{url}");
        }
        assert!(Endpoint::holds_password("https://u:p@x/"));
        assert!(!Endpoint::holds_password("https://u:${P}@x/"));
        assert!(!Endpoint::holds_password("https://x/a:b@c"));
    }
}
