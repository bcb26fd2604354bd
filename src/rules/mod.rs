//! Files of rules: reading them, saying what is in them, and writing them for Prometheus.

mod export;
mod file;
mod slos;
mod table;

use std::path::Path;

use weir_analysis::observatory::ObservatoryConfig;

pub(crate) use export::export;
pub(crate) use file::{Written, read};
pub(crate) use table::table;

use crate::config::{self, Overrides};

/// What the configuration asks of the observatory; the defaults without a file.
pub(crate) fn asked(config: Option<&Path>) -> Result<ObservatoryConfig, String> {
    match config {
        None => Ok(ObservatoryConfig::default()),
        Some(path) => match config::load(Some(path), &Overrides::default()) {
            Ok(loaded) => Ok(loaded.settings.telemetry.observatory),
            Err(mistakes) => Err(mistakes.to_string()),
        },
    }
}
