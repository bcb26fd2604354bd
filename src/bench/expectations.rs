//! Holds the figures of a run against a file of expectations.

use std::collections::BTreeMap;
use std::path::Path;

use weir_load::bench::expect::{Expectations, Subject, Verdict};
use weir_load::bench::report::table::Metric;
use weir_load::bench::report::{Figures, Summary};

use super::args::ReportArgs;
use super::plan::read;

/// The percentiles that expectations may name.
pub(super) const PERCENTS: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Reads a file of expectations.
pub(super) fn expectations(path: &Path) -> Result<Expectations, String> {
    let name = path.display();
    let text = String::from_utf8(read(path)?).map_err(|_| format!("{name}: not a text of UTF-8"))?;
    Expectations::parse(&text).map_err(|error| format!("{name}:{error}"))
}

/// What becomes of each. `gpu`: the use of the busiest GPU, from 0 to 1, where anybody measured it.
pub(super) fn judge(
    expectations: &Expectations,
    args: &ReportArgs,
    model: &str,
    figures: &Figures,
    gpu: Option<f64>,
) -> Verdict {
    let subject = Subject { model: Some(model.to_owned()), hardware: args.hardware.clone(), gpus: args.gpus };
    let mut named = by_name(figures);
    named.extend(gpu.map(|share| ("gpu_util".to_owned(), share)));
    expectations.judge(&subject, &named)
}

/// Figures by the names that expectations and curves have for them.
pub(super) fn by_name(figures: &Figures) -> BTreeMap<String, f64> {
    let throughput = &figures.throughput;
    let mut named = BTreeMap::from([
        ("output_tps".to_owned(), throughput.output_tokens_per_s),
        ("request_tps".to_owned(), throughput.requests_per_s),
    ]);
    for metric in Metric::ALL {
        if let Some(summary) = metric.of(&figures.latencies) {
            named.extend(of_metric(metric.key(), summary));
        }
    }
    named
}

fn of_metric(key: &str, summary: &Summary) -> Vec<(String, f64)> {
    let mut named =
        vec![(format!("mean_{key}_ms"), summary.mean_ms), (format!("median_{key}_ms"), summary.median_ms)];
    let percentiles = summary.percentiles_ms.iter().filter(|(percent, _)| PERCENTS.contains(percent));
    named.extend(percentiles.map(|(percent, value)| (format!("p{percent}_{key}_ms"), *value)));
    named
}
