//! What the file says of TLS and keys. Certificates are read at once: a configuration that names
//! what cannot be used is refused like any other mistake.

use std::path::PathBuf;

use weir_proxy::{ApiKey, ClientTls, KeyRule, ServerTls, UpstreamUrl};

use super::error::Place;
use super::kinds::{Choice, FilePath, Header, Name, Secret};
use super::section::{Section, Setting};

const RULES: &[(&str, KeyRule)] = &[("\"replace\"", KeyRule::Replace), ("\"add\"", KeyRule::Add)];

/// The certificate that clients are shown.
pub(super) fn server_tls(section: &mut Section<'_, '_>) -> Option<ServerTls> {
    let (certificate, key) = identity(section, "in the clear").ok()??;
    let loaded = ServerTls::load(&certificate.value, &key.value);
    loaded.map_err(|error| section.refuse("certificate", &certificate.place, error.to_string())).ok()
}

/// A certificate and its key, where both are given. `Err`: one of them alone, which is noted as a mistake.
#[expect(clippy::type_complexity, reason = "two files that belong together")]
pub(super) fn identity(
    section: &mut Section<'_, '_>,
    absent: &str,
) -> Result<Option<(Setting<PathBuf>, Setting<PathBuf>)>, ()> {
    let certificate = section.optional("certificate", FilePath, absent);
    let key = section.optional("key", FilePath, absent);
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (Some(alone), None) => {
            section.refuse("key", &alone.place, "missing beside certificate; allowed: both or neither");
            Err(())
        }
        (None, Some(alone)) => {
            section.refuse("certificate", &alone.place, "missing beside key; allowed: both or neither");
            Err(())
        }
        (None, None) => Ok(None),
    }
}

/// Whom to trust as the upstream. Absent for one that is spoken to in the clear.
pub(super) fn client_tls(section: &mut Section<'_, '_>, url: Option<&UpstreamUrl>) -> Option<ClientTls> {
    let ca = section.optional("ca", FilePath, "the system's roots");
    let name = section.optional("server_name", Name, "the host in the URL");
    let given =
        ca.as_ref().map(|ca| ("ca", &ca.place)).or(name.as_ref().map(|name| ("server_name", &name.place)));
    let url = url?;
    if !url.is_secure() {
        if let Some((key, place)) = given {
            section.refuse(key, place, "the upstream is spoken to in the clear; allowed: with an https URL");
        }
        return None;
    }
    let place = given.map_or(Place::Nowhere, |(_, place)| place.clone());
    let host = name.as_ref().map_or(url.host(), |name| &*name.value);
    let loaded = ClientTls::new(host, ca.as_ref().map(|ca| ca.value.as_path()));
    loaded.map_err(|error| section.refuse("ca", &place, error.to_string())).ok()
}

/// The key that the upstream gets.
pub(super) fn api_key(section: &mut Section<'_, '_>) -> Option<ApiKey> {
    let key = section.optional("api_key", Secret, "the client's own");
    let header = section.value("api_key_header", Header, "authorization".to_owned());
    let rule = section.value("api_key_rule", Choice(RULES), KeyRule::Replace);
    let key = key?;
    let made = ApiKey::new(&key.value, &header, rule);
    made.map_err(|error| section.refuse("api_key", &key.place, error.to_string())).ok()
}
