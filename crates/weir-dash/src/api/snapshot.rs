//! Parts of the snapshot, each by itself.

use serde::Serialize;
use weir_analysis::progress::Progress;
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
pub(super) struct Slo {
    at: Moment,
}

/// `/api/alerts`.
#[derive(Debug, Serialize)]
pub(super) struct Alerts {
    at: Moment,
}

/// What is in flight.
pub(super) fn in_flight(snapshot: &Snapshot) -> InFlight<'_> {
    InFlight { at: snapshot.at, in_flight: &snapshot.in_flight }
}

/// How objectives are met.
pub(super) fn slo(snapshot: &Snapshot) -> Slo {
    Slo { at: snapshot.at }
}

/// Alerts and what they do.
pub(super) fn alerts(snapshot: &Snapshot) -> Alerts {
    Alerts { at: snapshot.at }
}
