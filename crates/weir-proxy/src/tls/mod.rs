//! TLS on both sides: rustls with ring.

mod client;
mod error;
mod server;

pub use client::ClientTls;
pub(crate) use client::Offer;
pub use error::TlsError;
pub use server::ServerTls;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// HTTP/2 by its name in ALPN.
pub(crate) const H2: &[u8] = b"h2";
/// HTTP/1.1 by its name in ALPN.
const HTTP_1_1: &[u8] = b"http/1.1";

/// Named outright, so that it does not matter what else in the process uses rustls.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates in the text of a PEM file, at least one.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(TlsError::NoCertificate(path.into())),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::Unreadable(path.into(), error))
}
