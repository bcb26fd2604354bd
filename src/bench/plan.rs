//! What a run is told, out of the command line.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use weir_load::bench::ask::Ask;
use weir_load::bench::backend::{BodyOptions, UsageWanted};
use weir_load::bench::run::{BenchConfig, Limits, Target, first_model};
use weir_load::bench::schedule::{Ramp, Rate, Schedule};

use super::args::{LoadArgs, RampArg, RunArgs, TargetArgs};
use super::data::{dataset, has_an_end};

/// As many requests are sent where nothing says how many, as with `vllm bench serve`.
const USUAL_PROMPTS: usize = 1_000;

/// A run that can begin.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) config: BenchConfig,
    /// All requests; known beforehand, so that reading a file delays none.
    pub(super) asks: Vec<Ask>,
}

/// Asks the server for its model, where none is named, and reads the data set.
pub(super) async fn plan(args: &RunArgs) -> Result<Plan, String> {
    let config = config(args).await?;
    let asks = asks(args, config.limits.requests)?;
    Ok(Plan { config, asks })
}

/// What a run at the base URL is told.
pub(super) async fn config(args: &RunArgs) -> Result<BenchConfig, String> {
    let target = target(&args.target)?;
    let model = match &args.target.model {
        Some(model) => model.clone(),
        None => first_model(&target).await.map_err(|error| format!("no --model is given, and {error}"))?,
    };
    let usage = if args.target.no_usage { UsageWanted::Never } else { UsageWanted::AtEnd };
    Ok(BenchConfig {
        target,
        backend: args.target.backend,
        body: BodyOptions {
            model,
            max_tokens: args.data.output_len,
            ignore_eos: args.target.ignore_eos,
            temperature: args.target.temperature,
            usage,
            extra: extra(args.target.extra_body.as_deref())?,
        },
        schedule: schedule(&args.load)?,
        limits: Limits {
            requests: requests(args),
            duration: args.load.duration,
            drain: None,
            max_concurrency: args.load.max_concurrency,
            warmups: args.load.num_warmups,
            timeout: args.load.timeout,
        },
        id_prefix: format!("weir-bench-{:08x}-", args.load.seed ^ u64::from(std::process::id()) << 32),
        keeps_text: false,
    })
}

/// The requests of a data set, so many at most.
pub(super) fn asks(args: &RunArgs, count: Option<usize>) -> Result<Vec<Ask>, String> {
    // A run that only its time ends is given as many as it could ever send.
    let bounded = args.load.duration.is_none() || has_an_end(args.data.dataset_name);
    let count = count.or((!bounded).then(|| most(&args.load)));
    let asks = dataset(&args.data)?.asks(args.load.seed, count.map(|count| count as u64));
    asks.and_then(Iterator::collect).map_err(|error| error.to_string())
}

/// As many as a run of that time has room for.
fn most(load: &LoadArgs) -> usize {
    let seconds = load.duration.map_or(0.0, |duration| duration.as_secs_f64());
    let rate = load.ramp_up_end_rps.unwrap_or(load.request_rate).min(1_000.0);
    (seconds * rate * 1.5) as usize + 1_000
}

fn requests(args: &RunArgs) -> Option<usize> {
    let usual =
        (args.load.duration.is_none() && !has_an_end(args.data.dataset_name)).then_some(USUAL_PROMPTS);
    args.load.num_prompts.or(usual)
}

fn target(args: &TargetArgs) -> Result<Target, String> {
    let key = std::env::var(&args.api_key_env).ok().filter(|key| !key.is_empty());
    let trusted = args.ca.as_deref().map(read).transpose()?.unwrap_or_default();
    Ok(Target {
        base_url: args.base_url.clone(),
        endpoint: args.endpoint.clone(),
        api_key: key,
        headers: args.headers.clone(),
        trusted,
        trusts_all: args.insecure,
    })
}

fn schedule(load: &LoadArgs) -> Result<Schedule, String> {
    let rate = match (load.ramp_up_strategy, load.ramp_up_start_rps, load.ramp_up_end_rps) {
        (Some(form), Some(from), Some(to)) => {
            let form = match form {
                RampArg::Linear => Ramp::Linear,
                RampArg::Exponential => Ramp::Exponential,
            };
            Rate::Ramp { form, from, to }
        }
        _ if load.request_rate.is_infinite() => Rate::Unlimited,
        _ => Rate::Fixed(load.request_rate),
    };
    Schedule::new(rate, load.burstiness, load.seed).map_err(|error| error.to_string())
}

fn extra(text: Option<&str>) -> Result<Map<String, Value>, String> {
    let Some(text) = text else { return Ok(Map::new()) };
    serde_json::from_str(text).map_err(|error| format!("--extra-body is no JSON object: {error}"))
}

/// A file as it is.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
