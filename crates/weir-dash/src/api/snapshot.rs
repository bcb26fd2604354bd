//! Parts of the snapshot, each by itself.

use serde::Serialize;
use weir_analysis::alert::AlertStatus;
use weir_analysis::progress::Progress;
use weir_analysis::slo::{ErrorClasses, SloStatus};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;

/// `/api/inflight`.
#[derive(Debug, Serialize)]
pub(super) struct InFlight<'a> {
    at: Moment,
    in_flight: &'a Progress,
}

/// `/api/slo`.
#[derive(Debug, Serialize)]
pub(super) struct Slo<'a> {
    at: Moment,
    slos: &'a [SloStatus],
    error_classes: &'a ErrorClasses,
}

/// `/api/alerts`.
#[derive(Debug, Serialize)]
pub(super) struct Alerts<'a> {
    at: Moment,
    alerts: &'a [AlertStatus],
}

/// What is in flight.
pub(super) fn in_flight(snapshot: &Snapshot) -> InFlight<'_> {
    InFlight { at: snapshot.at, in_flight: &snapshot.in_flight }
}

/// How objectives are met.
pub(super) fn slo(snapshot: &Snapshot) -> Slo<'_> {
    Slo { at: snapshot.at, slos: &snapshot.slos, error_classes: &snapshot.error_classes }
}

/// Alerts and what they do.
pub(super) fn alerts(snapshot: &Snapshot) -> Alerts<'_> {
    Alerts { at: snapshot.at, alerts: &snapshot.alerts }
}
