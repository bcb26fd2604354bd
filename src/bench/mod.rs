//! `weir bench`: sends load to a server and tells what it measured as its client.

pub(crate) mod args;
mod compare;
mod data;
mod expectations;
mod output;
mod plan;
mod progress;
mod record;
mod sweep;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use tokio_util::sync::CancellationToken;
use weir_load::bench::ask::Ask;
use weir_load::bench::run::{BenchConfig, Outcome, Stop, run};

use args::{BenchArgs, BenchCommand, ReportArgs, RunArgs};
use output::{Report, print, reading};
use plan::{Plan, plan};
use progress::Line;
use wire::Watch;

/// Exits with 0; with 1 where an expectation is missed, something regressed or could not be done.
pub(crate) fn main(args: BenchArgs) -> ExitCode {
    crate::limits::raise_open_files();
    match start(args) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "weir: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Half of the cores send: the other half is for the server, should it run here too.
fn start(args: BenchArgs) -> Result<ExitCode, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.div_ceil(2))
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let result = runtime.block_on(async {
        let cancel = CancellationToken::new();
        tokio::select! {
            result = carry_out(&args, &cancel) => result,
            () = interrupts(&cancel) => Err("ended at once".to_owned()),
        }
    });
    runtime.shutdown_background();
    result
}

async fn carry_out(args: &BenchArgs, cancel: &CancellationToken) -> Result<ExitCode, String> {
    match &args.command {
        None => once(&args.run, cancel).await,
        Some(BenchCommand::Sweep(args)) => sweep::run(args, cancel).await,
        Some(BenchCommand::Compare(args)) => compare::run(args, cancel).await,
    }
}

/// The first one asks for the partial result, the second one for the end.
async fn interrupts(cancel: &CancellationToken) {
    for _ in 0..2 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        cancel.cancel();
    }
}

/// One run, and all that was asked for of it.
async fn once(args: &RunArgs, cancel: &CancellationToken) -> Result<ExitCode, String> {
    let reading = reading(&args.report)?;
    let expected = args.report.expect.as_deref().map(expectations::expectations).transpose()?;
    let Plan { config, asks } = plan(args).await?;
    let requests = config.limits.requests.unwrap_or(asks.len());
    let watch = Watch::begin(&args.report)?;
    let outcome = measured(&config, asks, cancel, &args.report, "").await?;
    let wire = watch.map(|watch| watch.join(&outcome.samples, reading.semantics, &reading.percents));
    let wire = wire.transpose()?;
    let report = Report::new(&args.report, &config, requests, &outcome, &reading);
    let mut text = report.table(&args.report);
    if outcome.stop == Stop::Interrupted {
        text.insert_str(0, "Interrupted: this is what there was until then.\n");
    }
    text.extend(wire.as_ref().map(wire::Wire::table));
    let verdict = expected.map(|expected| {
        expectations::judge(&expected, &args.report, &config.body.model, &report.figures, None)
    });
    if let Some(verdict) = &verdict {
        text.push_str(&match verdict.lines.is_empty() {
            true => format!("\nNo expectation is of a run like this one (model {}).\n", config.body.model),
            false => format!("\n{verdict}"),
        });
    }
    print(&text)?;
    for path in report.write_files(&args.report, &outcome, wire.map(|wire| wire.json()))? {
        let _ = writeln!(io::stderr(), "wrote {}", path.display());
    }
    Ok(ExitCode::from(verdict.map_or(0, |verdict| verdict.exit_code())))
}

/// Sends requests and shows how far that is. `of`: what the run is a part of.
async fn measured(
    config: &BenchConfig,
    asks: Vec<Ask>,
    cancel: &CancellationToken,
    args: &ReportArgs,
    of: &str,
) -> Result<Outcome, String> {
    let line = Line::new(!args.no_progress);
    run(config, asks, cancel, |progress| line.part(of, progress)).await.map_err(|error| error.to_string())
}
