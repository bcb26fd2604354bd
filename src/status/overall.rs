//! Since when it runs.

use weir_analysis::snapshot::Snapshot;

use super::figure::{moment, time};
use super::page::Page;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    page.heading("Weir");
    let (at, started) = (moment(snapshot.at), moment(snapshot.started));
    let up = time(snapshot.at.since(snapshot.started).as_secs_f64());
    page.line(&format!("at {at}, up {up} (since {started})"));
}
