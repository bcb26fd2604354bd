//! The configuration: a TOML file and flags, read into what each part of weir is told.
//!
//! `file.rs` says which keys there are, what they allow and what they are unless given; it is the one
//! place that does. `section.rs` looks keys up, and `reader.rs` collects every mistake on the
//! way instead of ending at the first.

mod alerts;
mod analysis;
mod cost;
mod document;
mod effective;
mod endpoint;
mod error;
mod file;
mod kinds;
mod layered;
mod lists;
mod otlp;
mod reader;
mod section;
mod security;
mod units;
mod variables;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use tracing::Level;
use weir_core::policy::Policy;
use weir_dash::AdminConfig;
use weir_telemetry::TelemetryConfig;

pub(crate) use effective::Effective;
pub(crate) use error::Mistakes;

use document::Document;
use reader::Reader;

/// A longer file is no configuration.
const MAX_FILE: u64 = 1 << 20;

/// What the parts of weir are told. None of it can be wrong.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) proxy: weir_proxy::Config,
    pub(crate) policy: Policy,
    pub(crate) telemetry: TelemetryConfig,
    /// Where metrics, health and the API are served.
    pub(crate) admin: AdminConfig,
    /// How long running exchanges may take to end after a shutdown began.
    pub(crate) drain_timeout: Duration,
    /// Records that may wait for the pipeline.
    pub(crate) records_queue: usize,
    pub(crate) log: LogConfig,
    /// Where people see Weir, as notifications link to it; empty for nowhere.
    pub(crate) external_url: String,
}

/// What weir says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogConfig {
    pub(crate) level: Level,
    pub(crate) format: LogFormat,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Flags of the command line, as typed. Each stands above its key of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) upstream: Option<String>,
    pub(crate) listen: Option<String>,
    pub(crate) admin: Option<String>,
    pub(crate) access_log: Option<String>,
    pub(crate) record: Option<String>,
    pub(crate) log_level: Option<String>,
}

/// A configuration without mistakes.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// The same to read, with where each value comes from.
    pub(crate) effective: Effective,
    /// What should be known of it.
    pub(crate) warnings: Vec<String>,
}

/// Reads the file, if there is one, and the flags; either everything is right, or all mistakes come
/// back together.
pub(crate) fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Loaded, Mistakes> {
    let Some(path) = file else { return load_text(None, overrides, &|name| std::env::var_os(name)) };
    let name = path.display().to_string().replace(char::is_control, "?");
    match read(path) {
        Ok(text) => load_text(Some((&name, &text)), overrides, &|name| std::env::var_os(name)),
        Err(error) => Err(Mistakes::unreadable(name, &error)),
    }
}

/// The same for a text at hand, given as its name and itself.
fn load_text(
    file: Option<(&str, &str)>,
    overrides: &Overrides,
    env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Loaded, Mistakes> {
    let (name, text) = file.unzip();
    let document = Document::parse(text.unwrap_or_default());
    let mut reader = Reader::new(name, &document, env);
    let settings = reader.root(|root| file::settings(root, overrides));
    let (effective, warnings, mistakes) = reader.finish();
    match settings {
        Some(settings) if mistakes.is_empty() => Ok(Loaded { settings, effective, warnings }),
        _ => Err(mistakes),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1MiB"));
    }
    Ok(text)
}
