//! `weir bench sweep`: raises the load from run to run.

use std::io::Write;
use std::process::ExitCode;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_load::bench::report::{Figures, html};
use weir_load::bench::run::{BenchConfig, Stop};
use weir_load::bench::schedule::{Rate, Schedule};
use weir_load::bench::sweep::{Highest, Probe, Search, Sweep, sweep};

use super::args::{LoadKind, SweepArgs};
use super::expectations::by_name;
use super::measured;
use super::output::{file, print, reading};
use super::plan::{asks, config};

/// Lower loads are not tried.
const LEAST_RATE: f64 = 1.0 / 64.0;

/// Runs the sweep, prints its curve and writes it.
pub(super) async fn run(args: &SweepArgs, cancel: &CancellationToken) -> Result<ExitCode, String> {
    let reading = reading(&args.run.report)?;
    if reading.goodput.is_empty() {
        return Err("a sweep needs limits to meet: --goodput ttft:500 tpot:50".to_owned());
    }
    let base = config(&args.run).await?;
    let whole = args.by == LoadKind::Concurrency;
    let bounds =
        if whole { (1.0, args.most.floor().max(1.0)) } else { (LEAST_RATE, args.most.max(LEAST_RATE)) };
    let search =
        Search { start: args.start.max(bounds.0), bounds, step: args.step, probes: args.probes, whole };
    let mut nth = 0;
    let probe = async |load: f64| {
        nth += 1;
        let config = at(&base, args, load)?;
        let asks = asks(&args.run, config.limits.requests)?;
        let of = format!("run {nth}, {}: ", named(args.by, load));
        let outcome = measured(&config, asks, cancel, &args.run.report, &of).await?;
        if outcome.stop == Stop::Interrupted {
            return Err("interrupted".to_owned());
        }
        Ok(probed(&Figures::of(&outcome, &reading), args.by, args.attainment / 100.0))
    };
    let found = sweep(search, probe).await?;
    let text = told(&found, args);
    print(&text)?;
    if let Some(path) = &args.run.report.output_html {
        let mut page = String::new();
        // A text takes whatever is written to it.
        let _ = html::write_sweep(&mut page, &format!("{} under load", base.body.model), &found, &text);
        file(path, |to| to.write_all(page.as_bytes()))?;
    }
    if let Some(path) = &args.run.report.output_json {
        let curve = written(&found, args);
        file(path, |to| serde_json::to_writer_pretty(&mut *to, &curve).map_err(Into::into))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The run at a load.
fn at(base: &BenchConfig, args: &SweepArgs, load: f64) -> Result<BenchConfig, String> {
    let mut config = base.clone();
    match args.by {
        LoadKind::Rate => {
            let schedule = Schedule::new(Rate::Fixed(load), args.run.load.burstiness, args.run.load.seed);
            config.schedule = schedule.map_err(|error| error.to_string())?;
        }
        LoadKind::Concurrency => config.limits.max_concurrency = Some(load as usize),
    }
    Ok(config)
}

/// Clients that ask again when they are answered have no due times: their latency counts from sending.
fn probed(figures: &Figures, by: LoadKind, attainment: f64) -> Probe {
    let latencies = match by {
        LoadKind::Rate => &figures.from_intended,
        LoadKind::Concurrency => &figures.latencies,
    };
    let met = figures.goodput.and_then(|goodput| goodput.attainment);
    let mut named = by_name(figures);
    named.extend(met.map(|met| ("attainment".to_owned(), met)));
    Probe {
        throughput: figures.throughput.requests_per_s,
        latency_s: latencies.e2el.as_ref().map(|e2el| e2el.mean_ms / 1e3),
        meets_slo: met.is_some_and(|met| met >= attainment),
        figures: named,
    }
}

fn named(by: LoadKind, load: f64) -> String {
    match by {
        LoadKind::Rate => format!("{load:.2} requests/s"),
        LoadKind::Concurrency => format!("{load:.0} at once"),
    }
}

fn told(found: &Sweep, args: &SweepArgs) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header([
        "Load",
        "Requests/s",
        "Output tok/s",
        "TTFT p50",
        "TTFT p99",
        "ITL p99",
        "Attainment",
        "Meets limits",
    ]);
    let mut points: Vec<_> = found.curve.iter().collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    for point in points {
        let figure = |name: &str, digits: usize| {
            let value = point.probe.figures.get(name);
            value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.digits$}"))
        };
        let share = point.probe.figures.get("attainment");
        table.add_row([
            named(args.by, point.load),
            format!("{:.2}", point.probe.throughput),
            figure("output_tps", 1),
            figure("p50_ttft_ms", 1),
            figure("p99_ttft_ms", 1),
            figure("p99_itl_ms", 1),
            share.map_or_else(|| "n/a".to_owned(), |share| format!("{:.1} %", share * 100.0)),
            if point.probe.meets_slo { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let highest = match found.highest {
        Highest::Between { met, missed } => format!(
            "The limits are met up to {}, and missed at {}.",
            named(args.by, met),
            named(args.by, missed)
        ),
        Highest::AtLeast(load) => {
            format!("The limits are met at every load, up to {}.", named(args.by, load))
        }
        Highest::Below(load) => {
            format!("The limits are missed at every load, down to {}.", named(args.by, load))
        }
    };
    let knee = found.knee.map_or_else(String::new, |knee| {
        format!("The knee (greatest throughput ÷ latency) is at {}.\n", named(args.by, knee.load))
    });
    format!("{table}\n\n{highest}\n{knee}")
}

fn written(found: &Sweep, args: &SweepArgs) -> Value {
    let curve: Vec<Value> = found
        .curve
        .iter()
        .map(|point| {
            json!({
                "load": point.load, "throughput": point.probe.throughput, "latency_s": point.probe.latency_s,
                "meets_slo": point.probe.meets_slo, "figures": point.probe.figures,
            })
        })
        .collect();
    let (met, missed) = match found.highest {
        Highest::Between { met, missed } => (Some(met), Some(missed)),
        Highest::AtLeast(met) => (Some(met), None),
        Highest::Below(missed) => (None, Some(missed)),
    };
    let by = if args.by == LoadKind::Rate { "requests_per_s" } else { "concurrency" };
    json!({
        "by": by, "curve": curve, "highest_load_met": met, "lowest_load_missed": missed,
        "knee": found.knee.map(|knee| json!({"load": knee.load, "power": knee.power})),
    })
}
