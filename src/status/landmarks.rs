//! What happened to Weir itself, and what changed with it.

use weir_analysis::landmarks::{MarkedMoment, Surroundings};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;

use super::figure::{foreign, or_absent, rate, time};
use super::page::Page;

/// As many are shown, the newest first.
const SHOWN: usize = 5;

/// As much of an event's name and of its particulars is shown.
const NAME: usize = 16;
const DETAIL: usize = 120;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    if snapshot.landmarks.is_empty() {
        return;
    }
    page.heading("Landmarks (the minute before → after)");
    let titles = [">Ago", "What", "TTFT p95", "Output tokens", "Particulars"];
    page.table(titles, snapshot.landmarks.iter().take(SHOWN).map(|landmark| row(landmark, snapshot.at)));
}

fn row(landmark: &MarkedMoment, now: Moment) -> [String; 5] {
    let change = |of: fn(&Surroundings) -> Option<f64>, show: fn(f64) -> String| {
        let after = landmark.after.as_ref().and_then(of);
        format!("{} → {}", or_absent(of(&landmark.before), show), or_absent(after, show))
    };
    [
        time(now.since(landmark.at).as_secs_f64()),
        foreign(&landmark.event, NAME),
        change(|around| around.ttft_p95_s, time),
        change(|around| around.output_tps, rate),
        foreign(&landmark.detail, DETAIL),
    ]
}
