//! What exchanges cost.

use weir_analysis::cost::{CostFigures, CostSummary, GpuFigures, ModelCost};
use weir_analysis::snapshot::Snapshot;

use super::figure::{foreign, or_absent, share, usd};
use super::page::Page;

/// As many models are shown, the dearest of the last day first.
const SHOWN: usize = 8;

/// As much of a model's name is shown.
const NAME: usize = 28;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    let cost = &snapshot.cost;
    let week = &cost.last_7_days;
    if week.priced_requests == 0 && week.unpriced_requests == 0 && cost.gpu.is_empty() {
        return;
    }
    page.heading("Cost");
    if week.priced_requests == 0 {
        page.line(&format!(
            "What {} exchanges of the last 7 days cost is not known.",
            week.unpriced_requests
        ));
    } else {
        page.line(&format!("{} an hour at the rate of the last hour", or_absent(cost.usd_per_hour, usd)));
        sums(cost, page);
        models(&cost.models, page);
    }
    cost.gpu.iter().for_each(|gpu| page.line(&gpus(gpu)));
}

fn sums(cost: &CostSummary, page: &mut Page) {
    let titles = ["", ">Cost", ">Per 1M tokens", ">Saved by cache", ">Priced", ">Unpriced"];
    let row = |name: &str, of: &CostFigures| {
        [
            name.into(),
            or_absent(of.cost_usd, usd),
            or_absent(of.usd_per_1m_tokens, usd),
            or_absent(of.saved_by_cache_usd, usd),
            of.priced_requests.to_string(),
            of.unpriced_requests.to_string(),
        ]
    };
    page.table(titles, [row("This hour", &cost.this_hour), row("Last 24 h", &cost.last_24_hours)]);
}

fn models(models: &[ModelCost], page: &mut Page) {
    let mut models: Vec<&ModelCost> =
        models.iter().filter(|of| of.last_24_hours.priced_requests > 0).collect();
    if models.is_empty() {
        return;
    }
    models.sort_by(|a, b| {
        let cost = |of: &ModelCost| of.last_24_hours.cost_usd.unwrap_or_default();
        cost(b).total_cmp(&cost(a)).then_with(|| a.model.cmp(&b.model))
    });
    let titles = ["Model", ">This hour", ">Last 24 h", ">Per 1M tokens", ">Unpriced"];
    page.table(
        titles,
        models.iter().take(SHOWN).map(|of| {
            [
                foreign(&of.model, NAME),
                or_absent(of.this_hour.cost_usd, usd),
                or_absent(of.last_24_hours.cost_usd, usd),
                or_absent(of.last_24_hours.usd_per_1m_tokens, usd),
                of.last_24_hours.unpriced_requests.to_string(),
            ]
        }),
    );
    if let Some(more) = models.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        page.line(&format!("And {more} more that cost less."));
    }
}

/// `GPUs, 1h: $1.20 busy (60 %), $0.80 idle`.
fn gpus(gpu: &GpuFigures) -> String {
    format!(
        "GPUs, {}: {} busy ({}), {} idle",
        gpu.window.as_str(),
        or_absent(gpu.busy_usd, usd),
        or_absent(gpu.busy_share, share),
        or_absent(gpu.idle_usd, usd)
    )
}
