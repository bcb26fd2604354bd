//! Why TLS cannot be had.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a certificate, a key or a name cannot be used.
#[derive(Debug)]
pub enum TlsError {
    /// A file cannot be read.
    Unreadable(PathBuf, io::Error),
    /// A file holds no certificate in PEM form.
    NoCertificate(PathBuf),
    /// A file holds no private key in PEM form.
    NoKey(PathBuf),
    /// The upstream's host is no name that a certificate can be issued for.
    Name(String),
    /// The system has no root certificates.
    NoRoots,
    /// rustls does not take them: the key does not belong to the certificate, say.
    Refused(rustls::Error),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::NoCertificate(path) => write!(f, "no certificate in PEM form in {}", path.display()),
            Self::NoKey(path) => write!(f, "no private key in PEM form in {}", path.display()),
            Self::Name(name) => write!(f, "{name} is no name that a certificate can bear"),
            Self::NoRoots => f.write_str("the system has no root certificates; name a file with `ca`"),
            Self::Refused(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for TlsError {}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        Self::Refused(error)
    }
}
