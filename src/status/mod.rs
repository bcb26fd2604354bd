//! `weir status`: shows what a running weir knows.

mod alerts;
pub(crate) mod ask;
mod buffering;
mod cost;
mod errors;
pub(crate) mod figure;
mod figures;
mod in_flight;
mod landmarks;
mod lanes;
mod models;
mod overall;
pub(crate) mod page;
mod slos;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use weir_analysis::snapshot::{FORM, Snapshot};

use crate::cli::StatusArgs;
use page::Page;

/// Asks, and prints the answer: for people, or as it came.
pub(crate) fn run(args: &StatusArgs) -> Result<(), String> {
    let token = ask::token(args.token_env.as_deref())?;
    let answer =
        ask::snapshot(args.admin, token.as_deref()).map_err(|error| format!("{}: {error}", args.admin))?;
    let out = io::stdout();
    let shown = match args.json {
        true => format!("{answer}\n"),
        false => {
            // https://no-color.org: set to anything but nothing.
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            show(&answer, Page::new(out.is_terminal() && !plain)).map_err(text)?
        }
    };
    let mut out = out.lock();
    match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(text),
    }
}

fn show(answer: &str, mut page: Page) -> Result<String, String> {
    let snapshot: Snapshot = serde_json::from_str(answer)
        .map_err(|error| format!("the answer is no snapshot that this weir can read: {error}"))?;
    if snapshot.version != FORM {
        let other = snapshot.version;
        return Err(format!(
            "the answer has form {other}, and this weir reads form {FORM}: use its own `weir`"
        ));
    }
    overall::show(&snapshot, &mut page);
    alerts::show(&snapshot, &mut page);
    figures::show(&snapshot, &mut page);
    slos::show(&snapshot, &mut page);
    errors::show(&snapshot, &mut page);
    in_flight::show(&snapshot, &mut page);
    lanes::show(&snapshot, &mut page);
    models::show(&snapshot, &mut page);
    cost::show(&snapshot, &mut page);
    buffering::show(&snapshot, &mut page);
    landmarks::show(&snapshot, &mut page);
    Ok(page.finish())
}

fn text(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
