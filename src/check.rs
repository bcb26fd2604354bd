//! `weir check`: says what is in effect, or everything that is wrong.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::config::{self, Overrides};

/// Writes the configuration in effect, or one line for each mistake; fails with any.
pub(crate) fn run(file: Option<&Path>, overrides: &Overrides, out: &mut impl Write) -> ExitCode {
    let (written, right) = match config::load(file, overrides) {
        Ok(loaded) => {
            let warnings: String =
                loaded.warnings.iter().map(|says| format!("# warning: {says}\n")).collect();
            (write(out, &format_args!("{}{warnings}", loaded.effective)), true)
        }
        Err(mistakes) => (write(out, &format_args!("{mistakes}\n")), false),
    };
    if written.is_ok() && right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write(out: &mut impl Write, what: &impl Display) -> io::Result<()> {
    write!(out, "{what}")?;
    out.flush()
}
