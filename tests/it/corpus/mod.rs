//! Recorded answers of real servers, if the environment names folders of them: `WEIR_CORPUS` one with a manifest,
//! `WEIR_CAPTURES` one with folders of what `curl -i` printed. No recording is part of this repository.

mod captures;
mod manifest;

use std::path::PathBuf;

/// The folder that a variable names.
fn folder(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        eprintln!("{variable} is not set: no recordings to relay");
    }
    folder
}
