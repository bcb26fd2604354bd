//! The certificate that clients are shown, and how it is exchanged when its files change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::watch;
use weir_core::tally::Tally;

use super::{H2, HTTP_1_1, TlsError, certificates, provider, read};

/// How often the files are looked at. Whoever renews a certificate leaves far more time than that.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// A certificate chain with its private key, read from two PEM files.
#[derive(Clone)]
pub struct ServerTls {
    files: Files,
    read: Contents,
    config: Arc<ServerConfig>,
}

#[derive(Clone, Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// The bytes of both files.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// Neither the key nor anything made of it is shown.
impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl ServerTls {
    /// Reads a chain (the server's own certificate first) and the key that belongs to it.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or holds nothing fit, or the two do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let files = Files { certificate: certificate.into(), key: key.into() };
        let read = files.read()?;
        let config = files.config(&read)?;
        Ok(Self { files, read, config })
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Looks at the files again and again; what they hold anew goes to `current`. Files that do not
    /// fit, such as a new certificate whose key is not there yet, change nothing.
    pub(crate) async fn follow(self, current: watch::Sender<Arc<ServerConfig>>, tally: Arc<Tally>) {
        let Self { files, read: mut known, .. } = self;
        let mut last_fault = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let looked = files.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || looked.read()).await else { return };
            let taken = read.and_then(|read| {
                let config = (read != known).then(|| files.config(&read)).transpose()?;
                Ok(config.map(|config| (config, read)))
            });
            match taken {
                Ok(Some((config, read))) => {
                    known = read;
                    current.send_replace(config);
                    tally.tls_reloads.fetch_add(1, Relaxed);
                    tracing::info!(certificate = %files.certificate.display(), "certificate exchanged");
                    last_fault = None;
                }
                Ok(None) => last_fault = None,
                Err(error) => {
                    let fault = error.to_string();
                    if last_fault.as_ref() != Some(&fault) {
                        tally.tls_reload_errors.fetch_add(1, Relaxed);
                        tracing::warn!(%error, "the certificate was not exchanged; the one before stays");
                        last_fault = Some(fault);
                    }
                }
            }
        }
    }
}

impl Files {
    fn read(&self) -> Result<Contents, TlsError> {
        Ok(Contents { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    fn config(&self, contents: &Contents) -> Result<Arc<ServerConfig>, TlsError> {
        let chain = certificates(&self.certificate, &contents.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key);
        let key = key.map_err(|_| TlsError::NoKey(self.key.clone()))?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![H2.to_vec(), HTTP_1_1.to_vec()];
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;

    use tokio::sync::watch;
    use tokio::task::JoinSet;
    use weir_core::tally::Tally;

    use super::{LOOK_EVERY, ServerTls, TlsError};

    /// A certificate and its key, in PEM.
    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["weir.test".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn write(folder: &Path, certificate: &str, key: &str) {
        std::fs::write(folder.join("certificate"), certificate).unwrap();
        std::fs::write(folder.join("key"), key).unwrap();
    }

    fn load(folder: &Path) -> Result<ServerTls, TlsError> {
        ServerTls::load(&folder.join("certificate"), &folder.join("key"))
    }

    #[tokio::test(start_paused = true)]
    async fn new_files_are_taken_up_and_those_that_do_not_fit_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = made();
        write(folder.path(), &certificate, &key);
        let tls = load(folder.path()).unwrap();
        let (current, seen) = watch::channel(tls.config());
        let tally = Arc::new(Tally::default());
        let mut task = JoinSet::new();
        task.spawn(tls.follow(current, Arc::clone(&tally)));
        let first = seen.borrow().clone();
        let counted = || (tally.tls_reloads.load(Relaxed), tally.tls_reload_errors.load(Relaxed));

        tokio::time::sleep(2 * LOOK_EVERY).await;
        assert!(Arc::ptr_eq(&first, &seen.borrow()), "nothing changed");

        // The certificate is there before its key is.
        let (certificate, new_key) = made();
        write(folder.path(), &certificate, &key);
        tokio::time::sleep(3 * LOOK_EVERY).await;
        assert!(Arc::ptr_eq(&first, &seen.borrow()));
        assert_eq!(counted(), (0, 1), "told once");

        write(folder.path(), &certificate, &new_key);
        tokio::time::sleep(2 * LOOK_EVERY).await;
        assert!(!Arc::ptr_eq(&first, &seen.borrow()));
        assert_eq!(counted(), (1, 1));

        std::fs::remove_file(folder.path().join("key")).unwrap();
        tokio::time::sleep(2 * LOOK_EVERY).await;
        assert_eq!(counted(), (1, 2));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |certificate: &str, key: &str| {
            write(folder.path(), certificate, key);
            load(folder.path()).unwrap_err()
        };
        let ((certificate, key), (_, other)) = (made(), made());
        assert!(matches!(refused("", &key), TlsError::NoCertificate(path) if path.ends_with("certificate")));
        assert!(matches!(refused(&key, &key), TlsError::NoCertificate(_)));
        assert!(matches!(refused(&certificate, "junk"), TlsError::NoKey(path) if path.ends_with("key")));
        assert!(matches!(refused(&certificate, &other), TlsError::Refused(_)));
        let absent = ServerTls::load(Path::new("/no/such"), Path::new("/no/such")).unwrap_err();
        assert!(matches!(absent, TlsError::Unreadable(..)), "{absent}");
        assert!(
            !format!("{:?}", {
                write(folder.path(), &certificate, &key);
                load(folder.path()).unwrap()
            })
            .contains("PRIVATE")
        );
    }
}
