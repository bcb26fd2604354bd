//! The figures of the analysis: objectives, sliding windows, costs, and what it holds. What has no figure
//! is absent.

mod queues;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use weir_analysis::cost::CostSummary;
use weir_analysis::scope::Scope;
use weir_analysis::slo::burn::Severity;
use weir_analysis::slo::{ErrorClasses, SloStatus};
use weir_analysis::snapshot::{ScopeFigures, Snapshot as AnalysisSnapshot};
use weir_analysis::window::{Distribution, Figures, Latencies};

use super::snapshot::{Label, Snapshot};
use crate::names::{self, Metric};

/// Writes all of them.
pub(super) fn write(analysis: &AnalysisSnapshot, snapshot: &mut Snapshot) {
    write_slos(&analysis.slos, snapshot);
    write_error_classes(&analysis.error_classes, snapshot);
    Overall::of(analysis).write(snapshot);
    queues::write(analysis, snapshot);
    write_costs(&analysis.cost, snapshot);
    write_itself(analysis, snapshot);
}

fn write_slos(slos: &[SloStatus], snapshot: &mut Snapshot) {
    let name = |slo: &SloStatus| Label::Text(Arc::from(&*slo.name));
    let mut family = snapshot.observed(names::SLO_TARGET);
    slos.iter().for_each(|slo| family.number([name(slo)], slo.target));
    let seen = || slos.iter().filter(|slo| slo.budget.good_share.is_some());
    let mut family = snapshot.observed(names::SLO_EVENTS);
    for slo in seen() {
        family.count([name(slo), "good".into()], slo.budget.good);
        family.count([name(slo), "bad".into()], slo.budget.bad);
    }
    let mut family = snapshot.observed(names::SLO_BUDGET_REMAINING);
    for slo in seen() {
        if let Some(remaining) = slo.budget.remaining {
            family.number([name(slo)], remaining);
        }
    }
    let mut family = snapshot.observed(names::SLO_BURN_RATE);
    for slo in seen() {
        for window in &slo.windows {
            if let Some(burn) = window.burn {
                family.number([name(slo), window.window.as_str().into()], burn);
            }
        }
    }
    let mut family = snapshot.observed(names::SLO_ALERT_FIRING);
    for slo in seen() {
        for (severity, word) in [(Severity::Page, "page"), (Severity::Ticket, "ticket")] {
            let fires = slo.alerts.iter().any(|alert| alert.severity == severity && alert.firing);
            family.count([name(slo), word.into()], u64::from(fires));
        }
    }
}

fn write_error_classes(classes: &ErrorClasses, snapshot: &mut Snapshot) {
    let all = || {
        let windows = classes.windows.iter();
        windows.flat_map(|window| {
            let named = move |class| (Label::from(window.window.as_str()), class);
            window.classes.iter().map(named)
        })
    };
    let mut family = snapshot.observed(names::ERROR_CLASS_SHARE);
    for (window, class) in all() {
        if let Some(share) = class.share {
            family.number([class.class.as_str().into(), window], share);
        }
    }
    let mut family = snapshot.observed(names::ERROR_CLASS_OVER_ALLOWED);
    for (window, class) in all() {
        if let Some(over) = class.over {
            family.count([class.class.as_str().into(), window], u64::from(over));
        }
    }
}

/// The windows over everything. Those of models are not told: histograms are there for them.
struct Overall<'a>(Vec<(&'static str, &'a Figures)>);

impl<'a> Overall<'a> {
    fn of(analysis: &'a AnalysisSnapshot) -> Self {
        let overall = analysis.figures.iter().filter(|figures| figures.scope == Scope::Overall);
        Self(overall.map(|ScopeFigures { window, figures, .. }| (window.as_str(), figures)).collect())
    }

    fn write(&self, snapshot: &mut Snapshot) {
        self.write_latencies(snapshot);
        self.each(snapshot, names::WINDOW_REQUESTS, |figures| figures.requests.per_s);
        let mut family = snapshot.observed(names::WINDOW_TOKENS);
        for (window, figures) in &self.0 {
            let tokens = &figures.tokens;
            for (direction, rate) in [("input", tokens.input_per_s), ("output", tokens.output_per_s)] {
                if let Some(rate) = rate {
                    family.number([(*window).into(), direction.into()], rate);
                }
            }
        }
        self.each(snapshot, names::WINDOW_CONCURRENCY, |figures| figures.throughput.concurrency);
        self.each(snapshot, names::WINDOW_THROUGHPUT, |figures| figures.throughput.effective_share);
        self.each(snapshot, names::GOODPUT_REQUESTS, |figures| figures.goodput.as_ref()?.requests_per_s);
        self.each(snapshot, names::GOODPUT_TOKENS, |figures| figures.goodput.as_ref()?.tokens_per_s);
        self.each(snapshot, names::GOODPUT_ATTAINMENT, |figures| figures.goodput.as_ref()?.attainment);
    }

    fn write_latencies(&self, snapshot: &mut Snapshot) {
        let mut family = snapshot.observed(names::WINDOW_LATENCY);
        for (window, figures) in &self.0 {
            for (measure, distribution) in measures(&figures.latency) {
                let Some(Distribution { p50, p90, p95, p99, .. }) = distribution else { continue };
                for (statistic, value) in [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99)] {
                    if let Some(value) = value {
                        family.number([measure.into(), (*window).into(), statistic.into()], *value);
                    }
                }
            }
        }
    }

    /// One figure of each window.
    fn each(&self, snapshot: &mut Snapshot, metric: Metric<1>, of: impl Fn(&'a Figures) -> Option<f64>) {
        let mut family = snapshot.observed(metric);
        for (window, figures) in &self.0 {
            if let Some(value) = of(figures) {
                family.number([(*window).into()], value);
            }
        }
    }
}

fn measures(latency: &Latencies) -> [(&'static str, Option<&Distribution>); 7] {
    let Latencies { ttft, upstream_ttft, itl, inter_chunk, tpot, e2e, queue_wait } = latency;
    [
        ("ttft", ttft.as_ref()),
        ("upstream_ttft", upstream_ttft.as_ref()),
        ("itl", itl.as_ref()),
        ("inter_chunk", inter_chunk.as_ref()),
        ("tpot", tpot.as_ref()),
        ("e2e", e2e.as_ref()),
        ("queue_wait", queue_wait.as_ref()),
    ]
}

fn write_costs(cost: &CostSummary, snapshot: &mut Snapshot) {
    let mut family = snapshot.observed(names::COST_PER_HOUR);
    if let Some(usd) = cost.usd_per_hour {
        family.number([], usd);
    }
    let mut family = snapshot.observed(names::COST_PER_MILLION_TOKENS);
    for window in &cost.windows {
        if let Some(usd) = window.figures.usd_per_1m_tokens {
            family.number([window.window.as_str().into()], usd);
        }
    }
    let mut family = snapshot.observed(names::GPU_COST);
    for gpu in &cost.gpu {
        for (state, usd) in [("busy", gpu.busy_usd), ("idle", gpu.idle_usd)] {
            if let Some(usd) = usd {
                family.number([gpu.window.as_str().into(), state.into()], usd);
            }
        }
    }
}

fn write_itself(analysis: &AnalysisSnapshot, snapshot: &mut Snapshot) {
    let memory = &analysis.memory;
    snapshot.observed(names::ANALYSIS_MEMORY).count([], memory.used_bytes);
    snapshot.observed(names::ANALYSIS_MEMORY_LIMIT).count([], memory.limit_bytes);
    let mut family = snapshot.observed(names::ANALYSIS_OVERFLOW);
    family.count(["no_bin".into()], memory.overflowed);
    family.count(["no_series".into()], memory.turned_away);
    family.count(["no_cost_series".into()], analysis.cost.turned_away);
}
