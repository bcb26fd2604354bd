//! The command line of `weir bench`. Where `vllm bench serve` has an option, it has the same name here.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use weir_load::bench::backend::Backend;
use weir_load::bench::report::table::Metric;
use weir_load::bench::semantics::Semantics;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    /// Find the highest load that meets the limits, and the knee of throughput against latency.
    Sweep(SweepArgs),
    /// Compare two result files, or two servers that are asked in turn; exits with 1 for a regression.
    Compare(CompareArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Who is asked")]
pub(crate) struct TargetArgs {
    /// Scheme, host and port, and a path before that of the API, if any.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8000")]
    pub(crate) base_url: String,
    /// The path of the API, in the place of the backend's own.
    #[arg(long, value_name = "PATH")]
    pub(crate) endpoint: Option<String>,
    /// The API: openai-chat (chat), openai (vllm, completions), openai-responses (responses), messages (anthropic).
    #[arg(long, value_name = "NAME", default_value = "openai-chat")]
    pub(crate) backend: Backend,
    /// The model. Without it, the first that the server lists.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The environment variable that holds the key of the API.
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    pub(crate) api_key_env: String,
    /// A further header; may be given several times.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) headers: Vec<(String, String)>,
    /// A PEM file of certificates to trust besides the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Take any certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Members of every request's body: a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) extra_body: Option<String>,
    /// Have the server generate up to the limit, whatever the model says.
    #[arg(long)]
    pub(crate) ignore_eos: bool,
    /// The temperature; without it, the server's own.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) temperature: Option<f64>,
    /// Do not ask streams for their usage, for servers that refuse to be asked.
    #[arg(long)]
    pub(crate) no_usage: bool,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How much, and when")]
pub(crate) struct LoadArgs {
    /// The most requests. Without it 1000, or with a duration as many as there is time for.
    #[arg(long, value_name = "N")]
    pub(crate) num_prompts: Option<usize>,
    /// Send no request after this time, such as 60s.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Requests per second, or inf: all at once.
    #[arg(long, value_name = "R", default_value = "inf", value_parser = rate)]
    pub(crate) request_rate: f64,
    /// The shape of the gaps between requests: 1 Poisson arrivals, below bursts, above more even ones.
    #[arg(long, value_name = "B", default_value_t = 1.0)]
    pub(crate) burstiness: f64,
    /// The most requests at once. One that waits for its turn is sent late, and its lateness is told.
    #[arg(long, value_name = "C")]
    pub(crate) max_concurrency: Option<usize>,
    /// How the rate goes from one to another.
    #[arg(long, value_enum, requires_all = ["ramp_up_start_rps", "ramp_up_end_rps"])]
    pub(crate) ramp_up_strategy: Option<RampArg>,
    /// Requests per second at the beginning of a ramp.
    #[arg(long, value_name = "R", requires = "ramp_up_strategy")]
    pub(crate) ramp_up_start_rps: Option<f64>,
    /// Requests per second at the end of a ramp.
    #[arg(long, value_name = "R", requires = "ramp_up_strategy")]
    pub(crate) ramp_up_end_rps: Option<f64>,
    /// Requests before the run that do not count.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) num_warmups: usize,
    /// How long one answer may take.
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
    /// What random draws begin from: the same seed sends the same requests at the same times.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What is asked")]
pub(crate) struct DataArgs {
    /// Where requests come from.
    #[arg(long, value_enum, default_value_t = DatasetName::Random)]
    pub(crate) dataset_name: DatasetName,
    /// The data set's file.
    #[arg(long, visible_alias = "dataset", value_name = "FILE")]
    pub(crate) dataset_path: Option<PathBuf>,
    /// Ask in the order of the file.
    #[arg(long)]
    pub(crate) disable_shuffle: bool,
    /// Ask no entry of a file twice, even if it has too few.
    #[arg(long)]
    pub(crate) no_oversample: bool,
    /// The length of every answer of a file, in tokens, instead of what the file says.
    #[arg(long, visible_aliases = ["sharegpt-output-len", "custom-output-len"], value_name = "TOKENS")]
    pub(crate) output_len: Option<u32>,
    /// random, conversation: the length of a prompt, in tokens.
    #[arg(long, visible_alias = "input-len", value_name = "TOKENS", default_value_t = 1024)]
    pub(crate) random_input_len: u32,
    /// random, conversation: the length of an answer, in tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 128)]
    pub(crate) random_output_len: u32,
    /// random: how far lengths stray, from 0 to below 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) random_range_ratio: f64,
    /// random, conversation: the length of a prefix that all prompts share, in tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 0)]
    pub(crate) random_prefix_len: u32,
    /// prefix-repetition: the length of a prefix, in tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 256)]
    pub(crate) prefix_repetition_prefix_len: u32,
    /// prefix-repetition: the length of what follows it, in tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 256)]
    pub(crate) prefix_repetition_suffix_len: u32,
    /// prefix-repetition: how many prefixes there are.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) prefix_repetition_num_prefixes: u32,
    /// prefix-repetition: the length of an answer, in tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 128)]
    pub(crate) prefix_repetition_output_len: u32,
    /// conversation: questions in each, where there is no file.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) conversation_turns: u32,
    /// conversation: how long the user thinks before the next question.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) conversation_pause: Duration,
    /// trace: what the file holds.
    #[arg(long, value_enum, default_value_t = TraceArg::Mooncake)]
    pub(crate) trace_format: TraceArg,
    /// trace: only rows of this model, for a BurstGPT file.
    #[arg(long, value_name = "NAME")]
    pub(crate) trace_model: Option<String>,
    /// trace: how much of it is passed over.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) trace_start: Duration,
    /// trace, record: seconds of the run for a second of the file; 0.5 sends twice as fast.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) time_scale: f64,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What is told")]
pub(crate) struct ReportArgs {
    /// Whose definitions figures follow: weir, vllm or otel.
    #[arg(long, value_name = "WHOSE", default_value = "weir")]
    pub(crate) semantics: Semantics,
    /// What makes an answer good, in milliseconds, such as ttft:500 tpot:50 e2el:10000.
    #[arg(long, value_name = "METRIC:MS", num_args = 1..)]
    pub(crate) goodput: Vec<String>,
    /// The latencies in the table: any of ttft, tpot, itl, e2el.
    #[arg(long, value_delimiter = ',', default_value = "ttft,tpot,itl,e2el")]
    pub(crate) percentile_metrics: Vec<Metric>,
    /// The percentiles that are told, in percent.
    #[arg(long, value_delimiter = ',', default_value = "50,90,95,99")]
    pub(crate) metric_percentiles: Vec<f64>,
    /// Write the result to FILE, with the keys of `vllm bench serve`.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_json: Option<PathBuf>,
    /// Write the result to a file of a name of its own, or of --result-filename.
    #[arg(long)]
    pub(crate) save_result: bool,
    /// The name of that file.
    #[arg(long, value_name = "NAME")]
    pub(crate) result_filename: Option<PathBuf>,
    /// The folder of that file.
    #[arg(long, value_name = "DIR")]
    pub(crate) result_dir: Option<PathBuf>,
    /// Leave the lists of every request out of the result. `weir bench compare` needs them.
    #[arg(long)]
    pub(crate) no_detail: bool,
    /// Write one JSON line for each request to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_jsonl: Option<PathBuf>,
    /// Write a page with plots to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_html: Option<PathBuf>,
    /// A name for the run.
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// A key and its value for the result file; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, num_args = 1..)]
    pub(crate) metadata: Vec<(String, String)>,
    /// Hold the figures against a file of expectations; exits with 1 where one is missed.
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,
    /// The accelerator, for expectations that ask for one.
    #[arg(long, value_name = "NAME")]
    pub(crate) hardware: Option<String>,
    /// How many accelerators, for expectations that ask for a number.
    #[arg(long, value_name = "N")]
    pub(crate) gpus: Option<u32>,
    /// The admin address of the weir that is asked: what it measured is set beside what the client did.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) weir_admin: Option<SocketAddr>,
    /// The environment variable that holds the admin port's token, where it asks for one.
    #[arg(long, value_name = "NAME", requires = "weir_admin")]
    pub(crate) weir_token_env: Option<String>,
    /// Show no progress.
    #[arg(long, visible_alias = "disable-tqdm")]
    pub(crate) no_progress: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// What is raised.
    #[arg(long, value_enum, default_value_t = LoadKind::Rate)]
    pub(crate) by: LoadKind,
    /// The first load.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) start: f64,
    /// The highest load that may be tried.
    #[arg(long, default_value_t = 4096.0)]
    pub(crate) most: f64,
    /// How near the loads that meet and that miss the limits have to come.
    #[arg(long, default_value_t = 0.05)]
    pub(crate) step: f64,
    /// The most runs.
    #[arg(long, default_value_t = 24)]
    pub(crate) probes: usize,
    /// The share of requests that has to meet the limits of --goodput, in percent.
    #[arg(long, default_value_t = 95.0)]
    pub(crate) attainment: f64,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// A result file, or the URL of a server.
    pub(crate) before: String,
    /// Another.
    pub(crate) after: String,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// The change that does not matter, in percent.
    #[arg(long, default_value_t = 2.0)]
    pub(crate) margin: f64,
    /// Into how many runs each server's requests are parted; the servers are asked in turn.
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
}

/// Where requests come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DatasetName {
    /// Questions people asked: a JSON file of ShareGPT's form.
    Sharegpt,
    /// Prompts of one's own: JSON lines with `prompt` or `messages`.
    Custom,
    /// Random words.
    Random,
    /// Random words behind shared prefixes.
    #[value(alias = "prefix_repetition")]
    PrefixRepetition,
    /// Conversations of several turns, from JSON lines with `messages` or random ones.
    Conversation,
    /// A trace of production traffic: its times and lengths.
    #[value(alias = "timed_trace")]
    Trace,
    /// Traffic that a weir has recorded: its times, lengths and clients that left.
    Record,
}

/// What a trace file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceArg {
    /// Mooncake's JSON lines.
    Mooncake,
    /// BurstGPT's CSV.
    Burstgpt,
}

/// The form of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RampArg {
    /// By the same amount with each request.
    Linear,
    /// By the same factor with each request.
    Exponential,
}

/// What a sweep raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadKind {
    /// Requests per second.
    Rate,
    /// Requests at once.
    Concurrency,
}

/// Reads `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is asked for")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Reads a rate above zero, or `inf`.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| *rate > 0.0);
    rate.ok_or_else(|| "a number above zero or inf is asked for".to_owned())
}
