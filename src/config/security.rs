//! What the file says of TLS and keys. Certificates are read at once: a configuration that names
//! what cannot be used is refused like any other mistake.

use weir_proxy::{ApiKey, ClientTls, KeyRule, ServerTls, UpstreamUrl};

use super::error::Place;
use super::kinds::{Choice, FilePath, Header, Name, Secret};
use super::section::Section;

const RULES: &[(&str, KeyRule)] = &[("\"replace\"", KeyRule::Replace), ("\"add\"", KeyRule::Add)];

/// The certificate that clients are shown.
pub(super) fn server_tls(section: &mut Section<'_, '_>) -> Option<ServerTls> {
    let certificate = section.optional("certificate", FilePath, "in the clear");
    let key = section.optional("key", FilePath, "in the clear");
    let (certificate, key) = match (certificate, key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(alone), None) => {
            section.refuse("key", &alone.place, "missing beside certificate; allowed: both or neither");
            return None;
        }
        (None, Some(alone)) => {
            section.refuse("certificate", &alone.place, "missing beside key; allowed: both or neither");
            return None;
        }
        (None, None) => return None,
    };
    let loaded = ServerTls::load(&certificate.value, &key.value);
    loaded.map_err(|error| section.refuse("certificate", &certificate.place, error.to_string())).ok()
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
