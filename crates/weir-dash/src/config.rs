//! Where the admin port listens, and who may use its API.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use subtle::ConstantTimeEq;

/// The address to listen on unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// Longer tokens protect no better.
const MAX_TOKEN: usize = 512;

/// What the admin port is to do.
#[derive(Clone, Debug)]
pub struct AdminConfig {
    /// Where to listen; port 0 takes any free one.
    pub listen: SocketAddr,
    /// What whoever uses the API has to show. Without one the API is for this machine alone: it is refused
    /// unless `listen` is a loopback address.
    pub token: Option<Token>,
}

/// A secret that opens the API. It shows itself nowhere.
#[derive(Clone)]
pub struct Token(Box<str>);

impl Token {
    /// A token of 1 to 512 visible characters of ASCII, which is what a header can carry; `None` for
    /// anything else.
    pub fn new(text: &str) -> Option<Self> {
        let fits = (1..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.into()))
    }

    /// Whether this is the token. How long that takes tells its length at most.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::{AdminConfig, DEFAULT_LISTEN, Token};

    #[test]
    fn a_token_is_what_a_header_can_carry_and_hides_itself() {
        let long = "x".repeat(512);
        for text in ["t", "s3cret~", long.as_str()] {
            assert!(Token::new(text).is_some_and(|token| token.is(text.as_bytes())), "{text}");
        }
        for text in ["", "two words", "line\n", "ö", &"x".repeat(513)] {
            assert!(Token::new(text).is_none(), "{text}");
        }
        let config = AdminConfig { listen: DEFAULT_LISTEN, token: Token::new("s3cret") };
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::new("s3cret").unwrap();
        for shown in ["", "s", "s3cre", "s3cret ", "S3cret", "s3cret\0", "s3crets3cret"] {
            assert!(!token.is(shown.as_bytes()), "{shown}");
        }
    }
}
