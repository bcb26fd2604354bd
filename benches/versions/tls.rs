//! A certificate for the bench, and whom it is shown to.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

pub(crate) struct Authority {
    folder: tempfile::TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["weir.test".to_owned()]).unwrap();
        let authority = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(authority.certificate(), made.cert.pem()).unwrap();
        std::fs::write(authority.key(), made.signing_key.serialize_pem()).unwrap();
        authority
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let certificate = CertificateDer::from_pem_file(self.certificate()).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.key()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }

    pub(crate) fn connector(&self, two: bool) -> (TlsConnector, ServerName<'static>) {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.certificate()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![if two { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        (TlsConnector::from(Arc::new(config)), ServerName::try_from("weir.test").unwrap())
    }
}
