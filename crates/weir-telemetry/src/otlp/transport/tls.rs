//! TLS towards a destination.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// Whom to trust, and which certificate to show. It was tried when it was made.
#[derive(Clone, Default)]
pub struct Tls {
    ca: Option<Arc<[u8]>>,
    identity: Option<Identity>,
}

/// What is shown: PEM as it stands in the files.
#[derive(Clone)]
struct Identity {
    certificate: Arc<[u8]>,
    key: Arc<[u8]>,
}

/// Why files cannot be used for TLS.
#[derive(Debug)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("ca", &self.ca.is_some())
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

impl Tls {
    /// Trusts the certificates in the PEM file `ca` alone, or the system's roots without one, and
    /// shows the certificate of `identity`: PEM files with it and with its private key.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or holds not what it should.
    pub fn load(ca: Option<&Path>, identity: Option<(&Path, &Path)>) -> Result<Self, TlsError> {
        let ca = ca.map(read).transpose()?;
        let identity = match identity {
            Some((certificate, key)) => Some(Identity { certificate: read(certificate)?, key: read(key)? }),
            None => None,
        };
        let tls = Self { ca, identity };
        if tls.ca.is_some() || tls.identity.is_some() {
            tls.client_config(true)?;
        }
        Ok(tls)
    }

    /// For clients that bring their own HTTP. Reading the system's roots takes milliseconds, which one that
    /// is not `secure` need not spend.
    pub(crate) fn client_config(&self, secure: bool) -> Result<ClientConfig, TlsError> {
        let mut roots = RootCertStore::empty();
        match &self.ca {
            Some(pem) => {
                for certificate in certificates(pem)? {
                    roots.add(certificate).map_err(refused)?;
                }
            }
            None if !secure => {}
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(refused)?
            .with_root_certificates(roots);
        match &self.identity {
            Some(Identity { certificate, key }) => {
                let key = PrivateKeyDer::from_pem_slice(key).map_err(refused)?;
                builder.with_client_auth_cert(certificates(certificate)?, key).map_err(refused)
            }
            None => Ok(builder.with_no_client_auth()),
        }
    }

    /// For gRPC.
    pub(super) fn grpc(&self) -> tonic::transport::ClientTlsConfig {
        use tonic::transport::{Certificate, ClientTlsConfig};

        let config = match &self.ca {
            Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        match &self.identity {
            Some(Identity { certificate, key }) => {
                config.identity(tonic::transport::Identity::from_pem(certificate, key))
            }
            None => config,
        }
    }
}

fn read(path: &Path) -> Result<Arc<[u8]>, TlsError> {
    let bytes = std::fs::read(path);
    bytes.map(Into::into).map_err(|error| TlsError(format!("cannot read {}: {error}", path.display())))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let list: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(refused)?;
    if list.is_empty() {
        return Err(TlsError("no certificate in the file; allowed: PEM with at least one".to_owned()));
    }
    Ok(list)
}

fn refused(error: impl fmt::Display) -> TlsError {
    TlsError(format!("cannot be used for TLS: {error}"))
}

impl TlsError {
    pub(super) fn of(error: impl fmt::Display) -> Self {
        refused(error)
    }
}
