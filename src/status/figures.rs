//! The figures of everything, over each window.

use weir_analysis::scope::{Scope, Window};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::window::Figures;

use super::figure::{great_share, or_absent, rate, small_share, time};
use super::page::Page;

/// A figure of a window, as it is shown; `None`: there is none.
type Figure = fn(&Figures) -> Option<String>;

const ROWS: [(&str, Figure); 12] = [
    ("Requests", |of| of.requests.per_s.map(rate)),
    ("Errors", |of| of.requests.error_share.map(small_share)),
    ("TTFT p50", |of| of.latency.ttft.as_ref()?.p50.map(time)),
    ("TTFT p95", |of| of.latency.ttft.as_ref()?.p95.map(time)),
    ("TTFT p99", |of| of.latency.ttft.as_ref()?.p99.map(time)),
    ("ITL p50", |of| of.latency.itl.as_ref()?.p50.map(time)),
    ("ITL p95", |of| of.latency.itl.as_ref()?.p95.map(time)),
    ("Input tokens", |of| of.tokens.input_per_s.map(rate)),
    ("Output tokens", |of| of.tokens.output_per_s.map(rate)),
    ("Goodput", |of| of.goodput.as_ref()?.requests_per_s.map(rate)),
    ("Attainment", |of| of.goodput.as_ref()?.attainment.map(great_share)),
    ("Effective throughput", |of| of.throughput.effective_share.map(small_share)),
];

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    let of_window = |window: Window| {
        let of_all = snapshot.figures.iter().filter(|of| of.scope == Scope::Overall);
        of_all.into_iter().find(|of| of.window == window).map(|of| &of.figures)
    };
    let windows = Window::ALL.map(of_window);
    if windows.iter().all(Option::is_none) {
        return;
    }
    page.heading("Figures");
    let rows = ROWS.map(|(name, figure)| {
        let [minute, five, hour] = windows.map(|of| or_absent(of.and_then(figure), |shown| shown));
        [name.into(), minute, five, hour]
    });
    page.table(["", ">Last minute", ">5 min", ">Hour"], rows);
}
