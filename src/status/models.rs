//! The models, over the last five minutes.

use weir_analysis::scope::{Scope, Window};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::window::Figures;

use super::figure::{foreign, great_share, or_absent, rate, time};
use super::page::Page;

/// As many are shown, those with the most requests first.
const SHOWN: usize = 16;

/// As much of a model's name is shown.
const NAME: usize = 28;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    let of_models = snapshot.figures.iter().filter(|of| of.window == Window::FiveMinutes);
    let mut models: Vec<(&str, &Figures)> = of_models
        .filter_map(|of| match &of.scope {
            Scope::Model(name) => Some((&**name, &of.figures)),
            Scope::Overall | Scope::Upstream(_) => None,
        })
        .collect();
    if models.is_empty() {
        return;
    }
    models.sort_by_key(|(name, of)| (std::cmp::Reverse(of.requests.count), *name));
    page.heading("Models (last 5 min)");
    let titles = ["Model", ">Requests", ">TTFT p95", ">ITL p95", ">Output tokens", ">Attainment"];
    page.table(titles, models.iter().take(SHOWN).map(|(name, of)| row(name, of)));
    if let Some(more) = models.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        page.line(&format!("And {more} more with fewer requests."));
    }
}

fn row(name: &str, of: &Figures) -> [String; 6] {
    let p95 = |values: Option<&weir_analysis::window::Distribution>| values.and_then(|values| values.p95);
    [
        foreign(name, NAME),
        or_absent(of.requests.per_s, rate),
        or_absent(p95(of.latency.ttft.as_ref()), time),
        or_absent(p95(of.latency.itl.as_ref()), time),
        or_absent(of.tokens.output_per_s, rate),
        or_absent(of.goodput.as_ref().and_then(|goodput| goodput.attainment), great_share),
    ]
}
