//! Where telemetry is sent to.

use http::Uri;

use super::kinds::{Fault, Kind, Raw};
use super::units::quoted;

/// A URL of a server, without anything that a log must not show.
pub(super) struct Endpoint;

impl Kind for Endpoint {
    type Value = String;

    fn allowed(&self) -> String {
        "http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE]".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<String, Fault> {
        let text = raw.text()?.trim();
        let uri: Uri = text.parse().map_err(|_| Fault::Form("a URL"))?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        if web && plain && uri.query().is_none() {
            Ok(text.to_owned())
        } else {
            Err(Fault::Form("such a URL"))
        }
    }

    fn show(&self, value: &String) -> String {
        quoted(value)
    }
}
