//! TLS towards the upstream.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use super::{H2, HTTP_1_1, TlsError, certificates, provider, read};

/// Whom to trust as the upstream, and by which name.
#[derive(Clone)]
pub struct ClientTls {
    name: ServerName<'static>,
    /// Offers HTTP/1.1 alone.
    http1: TlsConnector,
    /// Offers HTTP/2 alone.
    http2: TlsConnector,
    /// Offers both.
    either: TlsConnector,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Which versions of HTTP a connection may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Http1,
    Http2,
    Either,
}

impl ClientTls {
    /// Trusts the certificates in the PEM file `ca` alone, or the system's roots without one, for a
    /// server that shows a certificate for `name`: a host name, or an address without brackets.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or holds no certificate, the system has no roots, or the name is
    /// none.
    pub fn new(name: &str, ca: Option<&Path>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        match ca {
            Some(path) => {
                for certificate in certificates(path, &read(path)?)? {
                    roots.add(certificate)?;
                }
            }
            None => {
                let (usable, _) =
                    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if usable == 0 {
                    return Err(TlsError::NoRoots);
                }
            }
        }
        let base = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let offering = |protocols: &[&[u8]]| {
            let mut config = base.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        Ok(Self {
            name: ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name(name.to_owned()))?,
            http1: offering(&[HTTP_1_1]),
            http2: offering(&[H2]),
            either: offering(&[H2, HTTP_1_1]),
        })
    }

    pub(crate) fn name(&self) -> ServerName<'static> {
        self.name.clone()
    }

    pub(crate) fn connector(&self, offer: Offer) -> &TlsConnector {
        match offer {
            Offer::Http1 => &self.http1,
            Offer::Http2 => &self.http2,
            Offer::Either => &self.either,
        }
    }
}
