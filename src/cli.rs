//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use weir_load::engine::{Fault, Interval, RoleChunk};

use crate::bench::args::BenchArgs;
use crate::sim::BatchArgs;

/// A transparent streaming reverse proxy that measures and regulates LLM token streams.
#[derive(Debug, Parser)]
#[command(name = "weir", version, about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Stand in front of a model server: relay, measure, hold limits.
    Serve(ServeArgs),
    /// Check a configuration and print what is in effect, or check a file of rules and print what it says.
    Check(CheckArgs),
    /// Ask a running weir whether it is healthy; exits with 0 if so (for exec probes).
    Health(HealthArgs),
    /// Show what a running weir knows: lanes, what is in flight, what holds streams back.
    Status(StatusArgs),
    /// Alerts, without a running weir.
    #[command(subcommand)]
    Alerts(AlertsCommand),
    /// Rules of alerts, and SLOs.
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Send load to a server, and tell latencies, throughput and goodput as its clients see them.
    Bench(Box<BenchArgs>),
    /// Run a simulated model server.
    Sim(SimArgs),
    /// Run simulator, proxy and mixed load together, and show what weir sees.
    Demo(DemoArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AlertsCommand {
    /// Replay a record file, and print what the alerts would have done.
    Test(TestArgs),
}

#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// The file of rules.
    #[arg(value_name = "RULES")]
    pub(crate) rules: PathBuf,
    /// What `weir serve --record` has written.
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,
    /// Configuration file, for SLOs, prices and limits.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print each change as a line of JSON, and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// Write SLOs and alerts as a rule file for Prometheus.
    Export(ExportArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Configuration file, for SLOs and the file of rules. Without it the default SLOs are written.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The file of rules, instead of the one that the configuration names.
    #[arg(long, value_name = "FILE")]
    pub(crate) alerts: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// A file of rules to check. With --config, SLOs that it names have to be there.
    #[arg(long, value_name = "FILE")]
    pub(crate) alerts: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// Flags that override the configuration file.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Configuration file. Without it nothing is read from the disk.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The model server, such as `http://127.0.0.1:8000`; a base path may follow.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Where clients connect to (default 127.0.0.1:8080).
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Where metrics and health are served (default 127.0.0.1:9464).
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin: Option<String>,
    /// Write one JSON line per exchange to FILE, or to standard output with `-`.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) access_log: Option<String>,
    /// Write every observation to FILE, to be replayed later.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<String>,
    /// How much weir says of itself: error, warn, info, debug, trace (default info).
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct HealthArgs {
    /// The admin address of the running weir.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    pub(crate) admin: SocketAddr,
    /// Ask whether it takes new requests, and not only whether it runs.
    #[arg(long)]
    pub(crate) ready: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// The admin address of the running weir.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    pub(crate) admin: SocketAddr,
    /// The environment variable that holds the admin port's token, where it asks for one.
    #[arg(long, value_name = "NAME")]
    pub(crate) token_env: Option<String>,
    /// Print the snapshot in JSON, as it came.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    pub(crate) listen: SocketAddr,
    /// Time to first token.
    #[arg(long, default_value = "200ms", value_parser = humantime::parse_duration)]
    pub(crate) ttft: Duration,
    /// Tokens per second of each stream.
    #[arg(long, default_value_t = 50.0)]
    pub(crate) tps: f64,
    /// How the intervals between tokens are drawn.
    #[arg(long, value_enum, default_value_t = IntervalArg::Fixed)]
    pub(crate) interval: IntervalArg,
    /// What random draws begin from: the same seed gives the same answers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Requests that run at once; further ones wait. 0: any number.
    #[arg(long, default_value_t = 256)]
    pub(crate) max_concurrent: usize,
    /// Tokens of an answer to a request that sets no limit.
    #[arg(long, default_value_t = 64)]
    pub(crate) tokens: u32,
    /// Tokens in each chunk.
    #[arg(long, default_value_t = 1)]
    pub(crate) tokens_per_chunk: u32,
    /// When the role chunk is sent: as soon as the request is there, or with the first token.
    #[arg(long, value_enum, default_value_t = RoleArg::Late)]
    pub(crate) role: RoleArg,
    /// The models to list; may be given several times.
    #[arg(long = "model", value_name = "NAME", default_value = "sim")]
    pub(crate) models: Vec<String>,
    /// Answer 404 to models that are not listed.
    #[arg(long)]
    pub(crate) strict_models: bool,
    /// A fault for a share of requests: FAULT=SHARE, such as `abort;at=5=0.01` or `429;retry=2=0.1`.
    #[arg(long = "fault", value_name = "FAULT=SHARE", value_parser = fault_share)]
    pub(crate) faults: Vec<(Fault, f64)>,
    /// Write when each write happened to FILE, one JSON line per stream.
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// Send the engine's own spans to URL, by OTLP over HTTP: http://127.0.0.1:4318/v1/traces
    #[arg(long, value_name = "URL")]
    pub(crate) otlp_traces_endpoint: Option<String>,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// How long the load runs.
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    pub(crate) duration: Duration,
    /// Requests per second.
    #[arg(long, default_value_t = 4.0)]
    pub(crate) rate: f64,
    /// What random draws begin from.
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// Keep the access log of the demo in FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum IntervalArg {
    /// All alike.
    Fixed,
    /// Exponentially distributed.
    Exp,
}

impl From<IntervalArg> for Interval {
    fn from(interval: IntervalArg) -> Self {
        match interval {
            IntervalArg::Fixed => Interval::Fixed,
            IntervalArg::Exp => Interval::Exp,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RoleArg {
    /// As soon as the request is there.
    Early,
    /// Right before the first token.
    Late,
}

impl From<RoleArg> for RoleChunk {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Early => RoleChunk::Early,
            RoleArg::Late => RoleChunk::Late,
        }
    }
}

/// Reads `FAULT=SHARE`; the fault's own parameters hold `=` too, so the last one parts them.
fn fault_share(text: &str) -> Result<(Fault, f64), String> {
    let (fault, share) = text.rsplit_once('=').ok_or("FAULT=SHARE is asked for")?;
    let share = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    let share = share.ok_or("the share must be a number between 0 and 1")?;
    Ok((fault.parse().map_err(|error| format!("{error}"))?, share))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Cli, fault_share};

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_fault_may_have_parameters() {
        assert_eq!(fault_share("abort;at=5=0.25").map(|(_, share)| share), Ok(0.25));
        assert!(fault_share("abort;at=5").is_err());
        assert!(fault_share("abort=2").is_err());
        assert!(fault_share("nonsense=0.1").is_err());
    }
}
