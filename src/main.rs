//! `weir`: a transparent streaming reverse proxy that measures and regulates LLM token streams.

mod actions;
mod alerts;
mod bench;
mod check;
mod cli;
mod config;
mod demo;
mod health;
mod limits;
mod log;
mod regulator;
mod rules;
mod serve;
mod signals;
mod sim;
mod status;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use weir_core::observation::LandmarkEvent;
use weir_load::engine::Engine;

use cli::{AlertsCommand, Cli, Command, RulesCommand, ServeArgs, SimArgs};
use config::{Loaded, Overrides};
use serve::Weir;
use signals::{Asked, Signals};
use status::page::Page;

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let result = match command {
        Command::Serve(args) => run(|signals| Box::pin(async move { serve(args, signals).await })),
        Command::Check(args) => {
            return check::run(&args, Page::new(false), &mut io::stdout());
        }
        Command::Health(args) => health::probe(args.admin, args.ready),
        Command::Status(args) => status::run(&args),
        Command::Alerts(AlertsCommand::Test(args)) => alerts::test(&args),
        Command::Rules(RulesCommand::Export(args)) => rules::export(&args).and_then(|yaml| print(&yaml)),
        Command::Bench(args) => return bench::main(*args),
        Command::Sim(args) => run(|signals| Box::pin(async move { sim(args, signals).await })),
        Command::Demo(args) => run(|signals| Box::pin(async move { demo::run(args, signals).await })),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "weir: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output.
fn print(what: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(what.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(text),
    }
}

type Running<'a> = std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + 'a>>;

/// Runs a command that listens to signals.
fn run(command: impl FnOnce(&mut Signals) -> Running<'_>) -> Result<(), String> {
    limits::raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(text)?;
        command(&mut signals).await
    });
    // A second signal asked for the end at once: what still runs is left to the kernel.
    runtime.shutdown_background();
    result
}

async fn serve(args: ServeArgs, signals: &mut Signals) -> Result<(), String> {
    let (file, overrides) = (args.config.clone(), args.overrides());
    let Loaded { settings, warnings, .. } = config::load(file.as_deref(), &overrides).map_err(text)?;
    let _log = log::start(&settings.log);
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let upstream = settings.proxy.upstream.name.clone();
    let weir = Weir::start(settings, |exchanges| exchanges).await.map_err(text)?;
    tracing::info!(listen = %weir.address, admin = %weir.admin, %upstream, "serving");
    loop {
        match signals.next().await {
            Asked::Stop => break,
            Asked::Reload => reload(&weir, file.as_deref(), &overrides).await,
        }
    }
    tracing::info!("draining: no new requests; a second signal ends at once");
    tokio::select! {
        in_time = weir.shut_down() => tracing::info!(in_time, "ended"),
        () = signals.stop() => tracing::warn!("ended at once"),
    }
    Ok(())
}

/// Reads the configuration again. Limits and the rules of alerts change under way; all else takes a restart.
/// A file with mistakes changes nothing.
async fn reload(weir: &Weir, file: Option<&Path>, overrides: &Overrides) {
    match config::load(file, overrides) {
        Ok(loaded) => {
            let Loaded { settings, warnings, .. } = loaded;
            warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            let changes = weir.regulator.configure(settings.policy);
            let detail = if changes.is_empty() { "no limit changed".to_owned() } else { changes.join(", ") };
            weir.tell(LandmarkEvent::Reloaded, &detail);
            let rules = settings.telemetry.observatory.rules;
            let alerts = rules.rules().len();
            weir.replace_rules(rules).await;
            let what = "read the configuration again; only limits and the rules of alerts change under way";
            tracing::info!(changes = detail, alerts, "{what}");
        }
        Err(mistakes) => {
            tracing::error!(%mistakes, "the configuration has mistakes; the old one stays in force")
        }
    }
}

async fn sim(args: SimArgs, signals: &mut Signals) -> Result<(), String> {
    let listen = args.listen;
    let model = args.batch.preset.map_or_else(String::new, |preset| format!(" ({preset})"));
    let engine = Engine::bind(sim::config(args)?, listen).await;
    let engine = engine.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
    writeln!(io::stdout(), "simulated engine on http://{}{model}", engine.addr()).map_err(text)?;
    signals.stop().await;
    engine.shutdown().await;
    Ok(())
}

impl ServeArgs {
    fn overrides(&self) -> Overrides {
        Overrides {
            upstream: self.upstream.clone(),
            listen: self.listen.clone(),
            admin: self.admin.clone(),
            access_log: self.access_log.clone(),
            record: self.record.clone(),
            log_level: self.log_level.clone(),
        }
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}
