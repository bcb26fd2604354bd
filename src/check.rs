//! `weir check`: says what is in effect, or everything that is wrong.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::cli::CheckArgs;
use crate::config::{self, Loaded};
use crate::rules::{self, Written};
use crate::status::page::Page;

/// Writes what is in effect of what was given, or one line for each mistake; fails with any. A file of
/// rules alone is checked without a configuration.
pub(crate) fn run(args: &CheckArgs, page: Page, out: &mut impl Write) -> ExitCode {
    let (mut parts, mut mistakes) = (Vec::new(), Vec::new());
    let alone = args.alerts.is_some() && args.serve.config.is_none();
    let mut slos = None;
    if !alone {
        match config::load(args.serve.config.as_deref(), &args.serve.overrides()) {
            Ok(Loaded { settings, effective, warnings }) => {
                let warnings = warnings.iter().map(|says| format!("# warning: {says}\n"));
                parts.push(format!("{effective}{}", warnings.collect::<String>()));
                slos = Some(settings.telemetry.observatory.slos);
            }
            Err(wrong) => mistakes.push(format!("{wrong}\n")),
        }
    }
    if let Some(path) = &args.alerts {
        let names: Option<Vec<&str>> = slos.as_ref().map(|slos| slos.iter().map(|slo| &*slo.name).collect());
        match alerts(path, names.as_deref(), page) {
            Ok(said) => parts.push(said),
            Err(wrong) => mistakes.push(wrong),
        }
    }
    let right = mistakes.is_empty();
    let written = if right { write(out, &parts.join("\n")) } else { write(out, &mistakes.concat()) };
    if written.is_ok() && right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What a file of rules says, with what is to be remarked on it.
fn alerts(path: &Path, slos: Option<&[&str]>, page: Page) -> Result<String, String> {
    let Written { rules, warnings } = rules::read(path, slos).map_err(|wrong| format!("{wrong}\n"))?;
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}\n"));
    let warnings: String = warnings.collect();
    let table = rules::table(&rules, page);
    Ok(if warnings.is_empty() { table } else { format!("{table}\n{warnings}") })
}

/// Whoever reads no further has seen enough.
fn write(out: &mut impl Write, what: &impl Display) -> io::Result<()> {
    match write!(out, "{what}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
