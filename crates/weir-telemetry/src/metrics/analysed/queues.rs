//! The figures of the analysis on what waits: lanes, progress, and hops that hold streams back.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_analysis::buffering::Buffering;
use weir_analysis::progress::Progress;
use weir_analysis::queue::{LaneStatus, Law, QueueState};
use weir_analysis::scope::Window;
use weir_analysis::snapshot::Snapshot as AnalysisSnapshot;

use crate::metrics::snapshot::{Label, Snapshot};
use crate::names;

/// What a queue may do, and its name.
const STATES: [(QueueState, &str); 6] = [
    (QueueState::Empty, "empty"),
    (QueueState::Steady, "steady"),
    (QueueState::Flood, "flood"),
    (QueueState::Collapse, "collapse"),
    (QueueState::Absorbing, "absorbing"),
    (QueueState::Overloaded, "overloaded"),
];

/// Writes all of them.
pub(super) fn write(analysis: &AnalysisSnapshot, snapshot: &mut Snapshot) {
    write_lanes(&analysis.lanes, snapshot);
    write_progress(&analysis.in_flight, snapshot);
    write_buffering(&analysis.buffering, snapshot);
}

fn write_lanes(lanes: &[LaneStatus], snapshot: &mut Snapshot) {
    let name = |lane: &LaneStatus| Label::Text(Arc::from(&*lane.lane));
    let mut family = snapshot.observed(names::LANE_UTILISATION);
    for lane in lanes {
        if let Some(utilisation) = lane.utilisation {
            family.number([name(lane)], utilisation);
        }
    }
    let mut family = snapshot.observed(names::LANE_PREDICTED_WAIT);
    for lane in lanes {
        if let Some(wait) = lane.predicted_wait_s {
            family.number([name(lane)], wait);
        }
    }
    let mut family = snapshot.observed(names::LANE_LAW_RESIDUAL);
    for lane in lanes {
        let Some(law) = lane.laws.iter().find(|law| law.window == Window::Minute) else { continue };
        let Law { queue, prefill, decode, .. } = law;
        for (stage, law) in [("queue", queue), ("prefill", prefill), ("decode", decode)] {
            if let Some(residual) = law.residual_share {
                family.number([name(lane), stage.into()], residual);
            }
        }
    }
    let mut family = snapshot.observed(names::LANE_QUEUE_STATE);
    for lane in lanes {
        for (state, word) in STATES {
            family.count([name(lane), word.into()], u64::from(lane.queue.state == state));
        }
    }
}

fn write_progress(progress: &Progress, snapshot: &mut Snapshot) {
    let mut family = snapshot.observed(names::NO_PROGRESS);
    if let Some(seconds) = progress.no_progress_s {
        family.number([], seconds);
    }
    snapshot.observed(names::NO_PROGRESS_ALARM).count([], u64::from(progress.alarm));
}

/// A hop may look like it in several ways.
fn write_buffering(findings: &[Buffering], snapshot: &mut Snapshot) {
    let mut hops = BTreeMap::<(&str, &str), u64>::new();
    for finding in findings {
        *hops.entry((&finding.upstream, &finding.hop)).or_default() += 1;
    }
    let mut family = snapshot.observed(names::BUFFERING_FINDINGS);
    for ((upstream, hop), findings) in hops {
        family.count([Label::Text(Arc::from(upstream)), Label::Text(Arc::from(hop))], findings);
    }
}

#[cfg(test)]
mod tests {
    use super::STATES;

    #[test]
    fn a_state_is_called_as_in_answers() {
        for (state, word) in STATES {
            assert_eq!(serde_json::to_value(state).unwrap(), word);
        }
    }
}
