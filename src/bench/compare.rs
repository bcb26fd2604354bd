//! `weir bench compare`: two result files, or two servers that are asked in turn.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_load::bench::ask::Ask;
use weir_load::bench::compare::{Results, Rule, compare};
use weir_load::bench::report::{About, Figures, Reading, json};
use weir_load::bench::run::{BenchConfig, Outcome, Stop};

use super::args::CompareArgs;
use super::measured;
use super::output::{print, reading};
use super::plan::{asks, config, read};

/// Compares, prints, and exits with 1 for a regression.
pub(super) async fn run(args: &CompareArgs, cancel: &CancellationToken) -> Result<ExitCode, String> {
    let (before, after) = match [&args.before, &args.after].map(|name| is_url(name)) {
        [false, false] => (from_file(&args.before)?, from_file(&args.after)?),
        [true, true] => in_turn(args, cancel).await?,
        _ => return Err("compare two result files, or two URLs".to_owned()),
    };
    let rule = Rule { margin: args.margin / 100.0, seed: args.run.load.seed };
    let comparison = compare(&before, &after, rule);
    print(&format!("{comparison}\n"))?;
    Ok(ExitCode::from(comparison.verdict.exit_code()))
}

fn is_url(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

fn from_file(name: &str) -> Result<Results, String> {
    let told = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let document: Value = serde_json::from_slice(&read(Path::new(name))?).map_err(|error| told(&error))?;
    Results::from_json(&document).map_err(|error| told(&error))
}

/// Asks both servers the same, a part at a time, so that whatever else changes meets both. Who is first
/// changes from round to round.
async fn in_turn(args: &CompareArgs, cancel: &CancellationToken) -> Result<(Results, Results), String> {
    let reading = reading(&args.run.report)?;
    let mut servers = Vec::new();
    for url in [&args.before, &args.after] {
        let mut run = args.run.clone();
        run.target.base_url.clone_from(url);
        servers.push((config(&run).await?, Results::default()));
    }
    let rounds = args.rounds.max(1);
    let all = asks(&args.run, servers[0].0.limits.requests)?;
    let each = all.len().div_ceil(rounds).max(1);
    for (round, part) in all.chunks(each).enumerate() {
        for turn in 0..2 {
            let which = (round + turn) % 2;
            let (config, results) = &mut servers[which];
            let of = format!("round {} of {rounds}, {}: ", round + 1, if which == 0 { "A" } else { "B" });
            results.add_run(one(config, part, cancel, args, &reading, &of).await?);
        }
    }
    let mut servers = servers.into_iter().map(|(_, results)| results);
    Ok((servers.next().unwrap_or_default(), servers.next().unwrap_or_default()))
}

async fn one(
    config: &BenchConfig,
    part: &[Ask],
    cancel: &CancellationToken,
    args: &CompareArgs,
    reading: &Reading,
    of: &str,
) -> Result<Results, String> {
    let mut config = config.clone();
    config.limits.requests = Some(part.len());
    let outcome: Outcome = measured(&config, part.to_vec(), cancel, &args.run.report, of).await?;
    if outcome.stop == Stop::Interrupted {
        return Err("interrupted".to_owned());
    }
    let figures = Figures::of(&outcome, reading);
    let document = json::value(&About::of(&config, part.len()), &outcome, &figures, true);
    Results::from_json(&document).map_err(str::to_owned)
}
