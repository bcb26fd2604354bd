//! What is in flight, and whether it gets anywhere.

use weir_analysis::progress::Silent;
use weir_analysis::snapshot::Snapshot;

use super::figure::{foreign, or_absent, time};
use super::page::Page;

/// As many silent streams are shown.
const SHOWN: usize = 5;

/// As much of a model's name is shown.
const NAME: usize = 28;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    let progress = &snapshot.in_flight;
    page.heading("In flight");
    page.line(&format!(
        "{} queued, {} waiting for a head, {} in prefill, {} in decode ({} of them stalled)",
        progress.queued, progress.waiting, progress.prefill, progress.decode, progress.stalled
    ));
    if let Some(silence) = progress.no_progress_s.filter(|_| progress.alarm) {
        page.alarm(&format!(
            "The upstream does not serve: no token and no answer has come for {}.",
            time(silence)
        ));
    }
    if !progress.silent.is_empty() {
        let titles = [">Silent for", "Side", "Phase", ">Age", ">Tokens", ">Id", "Model"];
        page.table(titles, progress.silent.iter().take(SHOWN).map(row));
    }
}

fn row(silent: &Silent) -> [String; 7] {
    [
        time(silent.silent_s),
        foreign(&silent.side, NAME),
        foreign(&silent.phase, NAME),
        time(silent.age_s),
        silent.tokens.to_string(),
        silent.id.to_string(),
        or_absent(silent.model.as_deref(), |model| foreign(model, NAME)),
    ]
}
