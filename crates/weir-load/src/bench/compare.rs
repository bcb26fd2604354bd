//! Compares two results: what has become slower, and how sure that is.

use std::collections::BTreeMap;
use std::fmt;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde_json::Value;

use super::stats::{Interval, Sample, Statistic, differences};

/// How sure all rows together are: no interval misses the truth in so many of a hundred comparisons.
const CONFIDENCE: f64 = 0.95;

/// The fewest requests whose figures are compared.
const MIN_REQUESTS: usize = 30;

/// The fewest runs whose rates are compared.
const MIN_RUNS: usize = 3;

/// The bootstrap of fewer runs than this is too narrow: then all that can be drawn is in the interval.
const FEW_RUNS: usize = 8;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// The time to the first token of a request, in seconds.
    Ttft,
    /// The gaps between the chunks of a request, in seconds.
    Itl,
    /// The mean time per token of a request after the first, in seconds.
    Tpot,
    /// The latency of a request to its end, in seconds.
    E2el,
    /// Requests per second of a run.
    RequestThroughput,
    /// Tokens of answers per second of a run.
    OutputThroughput,
}

/// What was measured: of each metric the values of one request after the other, in the order in which they were
/// sent; of a rate the value of one run after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    values: BTreeMap<Metric, Vec<Vec<f64>>>,
}

/// How a comparison judges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The relative change that does not matter: 0.02 is 2 %.
    pub margin: f64,
    /// Of what is drawn.
    pub seed: u64,
}

impl Default for Rule {
    fn default() -> Self {
        Self { margin: 0.02, seed: 0 }
    }
}

/// Two results, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// A row for each statistic of each metric that both have.
    pub rows: Vec<Row>,
    /// All in all.
    pub verdict: Verdict,
    /// The relative change that does not matter.
    pub margin: f64,
}

/// A statistic of a metric, compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Of what.
    pub metric: Metric,
    /// Which figure.
    pub statistic: Statistic,
    /// That of the first result.
    pub before: f64,
    /// That of the second.
    pub after: f64,
    /// After ÷ before − 1, where the true one lies; the intervals of all rows together hold 95 times of a hundred.
    /// `None`: before may be 0.
    pub change: Option<Interval>,
    /// What that means.
    pub judgement: Judgement,
}

/// What a change means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Worse: the whole interval lies beyond the margin.
    Regression,
    /// Better: the whole interval lies beyond the margin.
    Improvement,
    /// The whole interval lies within the margin.
    Same,
    /// The interval is too wide to tell.
    Unclear,
}

/// What a comparison says all in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At least one row is worse.
    Regressed,
    /// None is worse, at least one is better.
    Improved,
    /// All rows are the same.
    Same,
    /// Nothing is known to have changed, but not all rows could be told.
    Unclear,
    /// No metric has enough values on both sides.
    NoData,
}

/// Compares what was measured `after` with what was measured `before`.
///
/// The bootstrap draws blocks of ∛n requests that follow each other, not single values: the gaps of one request hang
/// together, and so do requests that stood in one queue. The intervals are widened for the number of rows
/// (Bonferroni), so that a comparison of equals is flagged in at most one of twenty, not each of its rows.
pub fn compare(before: &Results, after: &Results, rule: Rule) -> Comparison {
    let pair = |(metric, groups): (&Metric, &Vec<Vec<f64>>)| {
        let others = after.values.get(metric)?;
        Some((*metric, metric.sample(groups)?, metric.sample(others)?))
    };
    let pairs: Vec<(Metric, Sample, Sample)> = before.values.iter().filter_map(pair).collect();
    let number: usize = pairs.iter().map(|(metric, ..)| metric.statistics().len()).sum();
    let confidence = 1.0 - (1.0 - CONFIDENCE) / number.max(1) as f64;
    let mut rows = Vec::new();
    for (metric, a, b) in &pairs {
        let few = metric.is_rate() && a.groups().min(b.groups()) < FEW_RUNS;
        let confidence = if few { 1.0 } else { confidence };
        for found in differences(a, b, metric.statistics(), confidence, rule.seed) {
            rows.push(Row {
                metric: *metric,
                statistic: found.statistic,
                before: found.before,
                after: found.after,
                change: found.relative,
                judgement: judged(metric.harm(found.relative), rule.margin),
            });
        }
    }
    let verdict = Verdict::of(&rows);
    Comparison { rows, verdict, margin: rule.margin }
}

/// Judges how much worse something is.
fn judged(harm: Option<Interval>, margin: f64) -> Judgement {
    match harm {
        Some(harm) if harm.low > margin => Judgement::Regression,
        Some(harm) if harm.high < -margin => Judgement::Improvement,
        Some(harm) if harm.low >= -margin && harm.high <= margin => Judgement::Same,
        _ => Judgement::Unclear,
    }
}

impl Results {
    /// Adds the values of requests that follow those already there, or of a run. A request without values is left out.
    pub fn add(&mut self, metric: Metric, groups: impl IntoIterator<Item = Vec<f64>>) {
        let groups = groups.into_iter().filter(|group| !group.is_empty());
        self.values.entry(metric).or_default().extend(groups);
    }

    /// Adds another run.
    pub fn add_run(&mut self, run: Self) {
        for (metric, groups) in run.values {
            self.add(metric, groups);
        }
    }

    /// Reads a result as `vllm bench serve --save-result --save-detailed` writes it, times in seconds: `ttfts`,
    /// `itls`, `latencies`, `output_lens`, `errors`, and the rates. Where an object `weir` holds one of these keys,
    /// or `tpots`, that counts. Requests with an error, or without any output, are left out.
    pub fn from_json(document: &Value) -> Result<Self, &'static str> {
        const ALLOWED: &str =
            "no `ttfts`, `itls`, `latencies` or rate; allowed: a result that was saved in detail";
        let key =
            |key: &str| document.get("weir").and_then(|weir| weir.get(key)).or_else(|| document.get(key));
        let numbers = |name: &str| -> Vec<Option<f64>> {
            key(name).and_then(Value::as_array).into_iter().flatten().map(Value::as_f64).collect()
        };
        let [ttfts, latencies, lens, tpots] = ["ttfts", "latencies", "output_lens", "tpots"].map(numbers);
        let gaps: &[Value] = key("itls").and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let errors: &[Value] = key("errors").and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let number = |list: &[Option<f64>], nth: usize| list.get(nth).copied().flatten();
        let mut results = Self::default();
        for nth in 0..[ttfts.len(), latencies.len(), gaps.len(), tpots.len()].into_iter().max().unwrap_or(0) {
            let error = errors.get(nth).and_then(Value::as_str).is_some_and(|error| !error.is_empty());
            let len = number(&lens, nth);
            if error || len == Some(0.0) {
                continue;
            }
            let (ttft, e2el) = (number(&ttfts, nth), number(&latencies, nth));
            let derived = match (ttft, e2el, len) {
                (Some(ttft), Some(e2el), Some(len)) if len > 1.0 => Some((e2el - ttft) / (len - 1.0)),
                _ => None,
            };
            let itls =
                gaps.get(nth).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_f64);
            results.add(Metric::Itl, [itls.collect()]);
            let tpot = if tpots.is_empty() { derived } else { number(&tpots, nth) };
            for (metric, value) in [(Metric::Ttft, ttft), (Metric::Tpot, tpot), (Metric::E2el, e2el)] {
                results.add(metric, [value.into_iter().collect()]);
            }
        }
        for metric in [Metric::RequestThroughput, Metric::OutputThroughput] {
            let rate = key(metric.name()).and_then(Value::as_f64);
            results.add(metric, [rate.into_iter().collect()]);
        }
        results.values.retain(|_, groups| !groups.is_empty());
        if results.values.is_empty() { Err(ALLOWED) } else { Ok(results) }
    }
}

impl Metric {
    /// Its name, as results have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Itl => "itl",
            Self::Tpot => "tpot",
            Self::E2el => "e2el",
            Self::RequestThroughput => "request_throughput",
            Self::OutputThroughput => "output_throughput",
        }
    }

    fn is_rate(self) -> bool {
        matches!(self, Self::RequestThroughput | Self::OutputThroughput)
    }

    fn statistics(self) -> &'static [Statistic] {
        if self.is_rate() { &[Statistic::Mean] } else { &Statistic::ALL }
    }

    /// What is drawn again: runs, or blocks of requests.
    fn sample(self, groups: &[Vec<f64>]) -> Option<Sample> {
        if self.is_rate() {
            return (groups.len() >= MIN_RUNS).then(|| Sample::of_groups(groups.iter().map(Vec::as_slice)));
        }
        let block = (groups.len() as f64).cbrt().ceil() as usize;
        let blocks: Vec<Vec<f64>> = groups.chunks(block.max(1)).map(<[Vec<f64>]>::concat).collect();
        (groups.len() >= MIN_REQUESTS).then(|| Sample::of_groups(blocks.iter().map(Vec::as_slice)))
    }

    /// How much worse a change makes it.
    fn harm(self, change: Option<Interval>) -> Option<Interval> {
        let turned = |change: Interval| Interval { low: -change.high, high: -change.low };
        if self.is_rate() { change.map(turned) } else { change }
    }
}

impl Verdict {
    fn of(rows: &[Row]) -> Self {
        let any = |judgement| rows.iter().any(|row| row.judgement == judgement);
        if rows.is_empty() {
            Self::NoData
        } else if any(Judgement::Regression) {
            Self::Regressed
        } else if any(Judgement::Improvement) {
            Self::Improved
        } else if any(Judgement::Unclear) {
            Self::Unclear
        } else {
            Self::Same
        }
    }

    /// What a program that compares exits with: 0 without a regression, 1 with one, 3 where nothing could be
    /// compared. 2 is left to command lines that cannot be read.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Improved | Self::Same | Self::Unclear => 0,
            Self::Regressed => 1,
            Self::NoData => 3,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(["metric", "", "before", "after", "change", "95 % of all rows", ""]);
        for row in &self.rows {
            let unit = if row.metric.is_rate() { 1.0 } else { 1000.0 };
            let suffix = if row.metric.is_rate() { "/s" } else { " ms" };
            let percent = |part: f64| format!("{:+.1} %", part * 100.0);
            let interval =
                row.change.map(|Interval { low, high }| format!("{} … {}", percent(low), percent(high)));
            table.add_row([
                row.metric.name().to_owned(),
                row.statistic.name().to_owned(),
                format!("{:.2}{suffix}", row.before * unit),
                format!("{:.2}{suffix}", row.after * unit),
                row.change.map(|_| percent(row.after / row.before - 1.0)).unwrap_or_default(),
                interval.unwrap_or_default(),
                row.judgement.to_string(),
            ]);
        }
        for (nth, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if (2..6).contains(&nth) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(f, "{}\n{} (margin {:.1} %)", table.trim_fmt(), self.verdict, self.margin * 100.0)
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regression => "REGRESSION",
            Self::Improvement => "improvement",
            Self::Same => "same",
            Self::Unclear => "unclear",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regressed => "regressed",
            Self::Improved => "improved",
            Self::Same => "same",
            Self::Unclear => "no change found, some rows too uncertain to tell",
            Self::NoData => "nothing to compare",
        })
    }
}
