//! Hops that seem to hold streams back.

use weir_analysis::snapshot::Snapshot;

use super::figure::foreign;
use super::page::Page;

/// As much of an upstream's name is shown.
const NAME: usize = 64;

/// As much of a text is shown.
const TEXT: usize = 600;

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    if snapshot.buffering.is_empty() {
        return;
    }
    page.heading("Buffering");
    for finding in &snapshot.buffering {
        let (upstream, hop) = (foreign(&finding.upstream, NAME), foreign(&finding.hop, NAME));
        let (text, remedy) = (foreign(&finding.text, TEXT), foreign(&finding.remedy, TEXT));
        page.line(&format!("{upstream}, {hop}: {text}. Remedy: {remedy}."));
    }
}
