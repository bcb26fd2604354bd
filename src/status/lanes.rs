//! The lanes of admission: how full they are, and what their queues do.

use weir_analysis::queue::LaneStatus;
use weir_analysis::snapshot::Snapshot;

use super::figure::{foreign, or_absent, rate, share, time};
use super::page::Page;

/// As much of a lane's name is shown.
const NAME: usize = 24;

/// As much of a verdict is shown.
const TEXT: usize = 400;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    if snapshot.lanes.is_empty() {
        return;
    }
    page.heading("Lanes (last minute)");
    let titles = ["Lane", ">Queued", ">In flight", ">Limit", ">Used", ">Wait", ">Admitted"];
    page.table(titles, snapshot.lanes.iter().map(row));
    for lane in snapshot.lanes.iter().filter(|lane| !lane.queue.text.is_empty()) {
        page.line(&format!("{}: {}", foreign(&lane.lane, NAME), foreign(&lane.queue.text, TEXT)));
    }
}

fn row(lane: &LaneStatus) -> [String; 7] {
    let admitted = lane.laws.first().map(|law| law.prefill.arrivals_per_s);
    [
        foreign(&lane.lane, NAME),
        lane.queued.to_string(),
        lane.in_flight.to_string(),
        lane.limit.map_or_else(|| "none".into(), |limit| limit.to_string()),
        or_absent(lane.utilisation, share),
        or_absent(lane.predicted_wait_s, time),
        or_absent(admitted, rate),
    ]
}
