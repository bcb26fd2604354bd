//! The table for terminals. Its first part has the labels and the layout of `vllm bench serve` 0.33, so that what
//! reads that table reads this one; what Weir has to add comes below its closing line, under other labels.
//!
//! A figure that there is none of is `n/a`, where `vllm bench serve` prints 0.00.

use std::fmt::{self, Display, Write};
use std::str::FromStr;

use super::numbers::percent_word;
use super::{About, Figures, Latencies, Summary};
use crate::bench::schedule::Rate;

/// The width of a headline.
const WIDTH: usize = 50;

/// A latency that the table can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Time to the first token.
    Ttft,
    /// Time per output token after the first.
    Tpot,
    /// Between tokens.
    Itl,
    /// To the end.
    E2el,
}

impl Metric {
    /// Every one, in the order of the table.
    pub const ALL: [Metric; 4] = [Metric::Ttft, Metric::Tpot, Metric::Itl, Metric::E2el];

    /// Those that `vllm bench serve` shows unless told otherwise.
    pub const USUAL: [Metric; 3] = [Metric::Ttft, Metric::Tpot, Metric::Itl];

    /// Its name in a result file.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Ttft => "ttft",
            Metric::Tpot => "tpot",
            Metric::Itl => "itl",
            Metric::E2el => "e2el",
        }
    }

    /// Its summary among the latencies.
    pub fn of(self, latencies: &Latencies) -> Option<&Summary> {
        match self {
            Metric::Ttft => latencies.ttft.as_ref(),
            Metric::Tpot => latencies.tpot.as_ref(),
            Metric::Itl => latencies.itl.as_ref(),
            Metric::E2el => latencies.e2el.as_ref(),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Metric::Ttft => "TTFT",
            Metric::Tpot => "TPOT",
            Metric::Itl => "ITL",
            Metric::E2el => "E2EL",
        }
    }

    fn header(self) -> &'static str {
        match self {
            Metric::Ttft => "Time to First Token",
            Metric::Tpot => "Time per Output Token (excl. 1st token)",
            Metric::Itl => "Inter-token Latency",
            Metric::E2el => "End-to-end Latency",
        }
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        let metric = Metric::ALL.into_iter().find(|metric| metric.key() == name);
        metric.ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}

/// A name that no metric of the table has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMetric(String);

impl Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no metric: allowed are ttft, tpot, itl and e2el", self.0)
    }
}

impl std::error::Error for UnknownMetric {}

/// Writes the whole table, with `metrics` in it.
pub fn write(to: &mut impl Write, about: &About, figures: &Figures, metrics: &[Metric]) -> fmt::Result {
    headline(to, " Serving Benchmark Result ", '=')?;
    totals(to, about, figures)?;
    for metric in Metric::ALL.into_iter().filter(|metric| metrics.contains(metric)) {
        headline(to, metric.header(), '-')?;
        let summary = metric.of(&figures.latencies);
        summary_rows(to, &format!("{} (ms)", metric.label()), summary, percents(figures))?;
    }
    headline(to, "", '=')?;
    own(to, figures)
}

fn totals(to: &mut impl Write, about: &About, figures: &Figures) -> fmt::Result {
    let Figures { counts, throughput, lengths, .. } = figures;
    row(to, "Successful requests:", counts.completed)?;
    row(to, "Failed requests:", counts.failed)?;
    if let Some(most) = about.max_concurrency {
        row(to, "Maximum request concurrency:", most)?;
    }
    match about.pace.rate {
        Rate::Unlimited => {}
        Rate::Fixed(rate) | Rate::Ramp { to: rate, .. } => {
            row(to, "Request rate configured (RPS):", Two(Some(rate)))?;
        }
    }
    row(to, "Benchmark duration (s):", Two(Some(figures.duration_s)))?;
    row(to, "Total input tokens:", lengths.input)?;
    row(to, "Total generated tokens:", lengths.output)?;
    row(to, "Request throughput (req/s):", Two(Some(throughput.requests_per_s)))?;
    if let Some(goodput) = figures.goodput {
        row(to, "Request goodput (req/s):", Two(Some(goodput.per_s)))?;
    }
    row(to, "Output token throughput (tok/s):", Two(Some(throughput.output_tokens_per_s)))?;
    row(to, "Peak output token throughput (tok/s):", Two(throughput.peak_output_tokens_per_s))?;
    row(to, "Peak concurrent requests:", Two(throughput.peak_concurrent.map(|most| most as f64)))?;
    row(to, "Total token throughput (tok/s):", Two(Some(throughput.total_tokens_per_s)))
}

/// What `vllm bench serve` does not tell.
fn own(to: &mut impl Write, figures: &Figures) -> fmt::Result {
    let Figures { counts, lengths, stalls, .. } = figures;
    headline(to, " Weir ", '=')?;
    row(to, "Definitions:", figures.semantics)?;
    let others = [
        ("Left by their client:", counts.left),
        ("Cut off by the end of the run:", counts.cancelled),
        ("Held back until the end of the run:", counts.overdue),
        ("Turns not asked:", counts.unsent_turns),
        ("Prompts counted by the data set:", lengths.input_from_data_set),
        ("Prompts of unknown length:", lengths.input_unknown),
        ("Answers counted by what events tell:", lengths.output_told),
        ("Answers counted by their events:", lengths.output_counted),
        ("Answers of unknown length:", lengths.output_unknown),
    ];
    for (label, count) in others.into_iter().filter(|(_, count)| *count > 0) {
        row(to, label, count)?;
    }
    if let Some(attainment) = figures.goodput.and_then(|goodput| goodput.attainment) {
        row(to, "Good of all answered and failed (%):", Two(Some(attainment * 100.0)))?;
    }
    headline(to, "Lateness of Sending", '-')?;
    summary_rows(to, "lateness (ms)", figures.lateness.as_ref(), percents(figures))?;
    row(to, "Max lateness (ms):", Two(figures.lateness.as_ref().map(|summary| summary.max_ms)))?;
    headline(to, "From Due Time", '-')?;
    for (metric, summary) in [("TTFT", &figures.from_intended.ttft), ("E2EL", &figures.from_intended.e2el)] {
        summary_rows(to, &format!("{metric} from due time (ms)"), summary.as_ref(), percents(figures))?;
    }
    if let Some(queue) = &figures.server_queue {
        headline(to, "Queue Told by the Server", '-')?;
        summary_rows(to, "server queue (ms)", Some(queue), percents(figures))?;
    }
    headline(to, "Stalls (Gaps above 1 s)", '-')?;
    row(to, "Stalls:", stalls.count)?;
    row(to, "Requests with a stall:", stalls.requests)?;
    row(to, "Longest stall (s):", Two(stalls.longest_s))?;
    if !figures.errors.is_empty() {
        headline(to, "Failures by Class", '-')?;
        for (class, count) in &figures.errors {
            row(to, &format!("{class}:"), count)?;
        }
    }
    headline(to, "", '=')
}

/// The percents that the figures have.
fn percents(figures: &Figures) -> Vec<f64> {
    let any = figures.lateness.iter().flat_map(|summary| summary.percentiles_ms.iter());
    any.map(|(percent, _)| *percent).collect()
}

fn summary_rows(
    to: &mut impl Write,
    what: &str,
    summary: Option<&Summary>,
    percents: Vec<f64>,
) -> fmt::Result {
    row(to, &format!("Mean {what}:"), Two(summary.map(|summary| summary.mean_ms)))?;
    row(to, &format!("Median {what}:"), Two(summary.map(|summary| summary.median_ms)))?;
    for (nth, percent) in percents.into_iter().enumerate() {
        let value = summary.and_then(|summary| summary.percentiles_ms.get(nth)).map(|(_, value)| *value);
        row(to, &format!("P{} {what}:", percent_word(percent)), Two(value))?;
    }
    Ok(())
}

/// `{:<40} {:<10}`, as Python has it.
fn row(to: &mut impl Write, label: &str, value: impl Display) -> fmt::Result {
    writeln!(to, "{label:<40} {:<10}", value.to_string())
}

/// `{s:c^50}`, as Python has it: what cannot be shared evenly goes to the right.
fn headline(to: &mut impl Write, text: &str, fill: char) -> fmt::Result {
    let around = WIDTH.saturating_sub(text.len());
    let line = |count: usize| std::iter::repeat_n(fill, count).collect::<String>();
    writeln!(to, "{}{text}{}", line(around / 2), line(around - around / 2))
}

/// Two digits after the point.
struct Two(Option<f64>);

impl Display for Two {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value:.2}"),
            None => f.write_str("n/a"),
        }
    }
}
