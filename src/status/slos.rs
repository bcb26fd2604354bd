//! What is asked of the service, and how much of it may still fail.

use weir_analysis::slo::burn::Severity;
use weir_analysis::slo::{BurnWindow, SloStatus};
use weir_analysis::snapshot::Snapshot;

use super::figure::{foreign, great_share, number, or_absent};
use super::page::Page;

/// As much of a name is shown, and of what is asked.
const NAME: usize = 20;
const TEXT: usize = 48;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    if snapshot.slos.is_empty() {
        return;
    }
    page.heading("SLOs (budget of 30 days)");
    page.table(["SLO", "Asked", ">Budget left", ">Burn 1 h", "Alert"], snapshot.slos.iter().map(row));
}

fn row(slo: &SloStatus) -> [String; 5] {
    let hour = slo.windows.iter().find(|of| of.window == BurnWindow::Hour);
    let model = slo.model.as_deref().map_or_else(String::new, |model| format!(", {model}"));
    [
        foreign(&slo.name, NAME),
        foreign(&format!("{}{model}", slo.objective), TEXT),
        or_absent(slo.budget.remaining, great_share),
        or_absent(hour.and_then(|hour| hour.burn), number),
        or_absent(slo.severity, |severity| severity_name(severity).into()),
    ]
}

const fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Ticket => "ticket",
        Severity::Page => "page",
    }
}
