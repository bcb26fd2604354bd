//! The part of a snapshot that is read at the moment it is made: gauges, and counters that are kept
//! elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use weir_analysis::alert::{AlertState, AlertStatus};
use weir_analysis::snapshot::Snapshot as AnalysisSnapshot;
use weir_core::exchange::WallTime;
use weir_core::inflight::{Inflight, Phase};
use weir_core::lanes::{LaneGauge, Lanes};
use weir_core::tally::Tally;
use weir_core::timeline::{Offset, Stamp};

use super::analysed;
use super::snapshot::{Label, Snapshot};
use crate::action_counts::ActionCounts;
use crate::names::{self, Metric};
use crate::notify::TargetCounts;
use crate::otlp::counts::TraceCounts;
use crate::otlp::{Lane, Otlp};
use crate::self_metrics::SelfMetrics;
use crate::state::{State, StateCounts};

/// Where the moment is read from.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    pub(crate) now: Stamp,
    /// The same moment by the wall clock.
    pub(crate) wall: WallTime,
    pub(crate) stall_after: Offset,
    pub(crate) inflight: &'a Inflight,
    pub(crate) lanes: &'a Lanes,
    pub(crate) tally: &'a Tally,
    pub(crate) own: &'a SelfMetrics,
    /// What was worked out a second ago at most.
    pub(crate) analysis: &'a AnalysisSnapshot,
    pub(crate) state: Option<&'a State>,
    pub(crate) actions: &'a ActionCounts,
    pub(crate) otlp: Option<&'a Otlp>,
}

impl Live<'_> {
    pub(super) fn write(&self, snapshot: &mut Snapshot) {
        self.write_lanes(snapshot);
        self.write_inflight(snapshot);
        self.write_tally(snapshot);
        analysed::write(self.analysis, snapshot);
        self.write_own(snapshot);
        self.write_otlp(snapshot);
        self.write_state(snapshot);
        self.write_alerts(snapshot);
        self.write_notifications(snapshot);
    }

    fn write_lanes(&self, snapshot: &mut Snapshot) {
        let lanes = self.lanes.list();
        let mut all = |metric: Metric<1>, of: fn(&LaneGauge) -> &AtomicU64| {
            let mut family = snapshot.observed(metric);
            for lane in &lanes {
                family.count([label(lane)], of(lane).load(Relaxed));
            }
        };
        all(names::LANE_QUEUE_DEPTH, |lane| &lane.queued);
        all(names::LANE_IN_FLIGHT, |lane| &lane.in_flight);
        all(names::LANE_ARRIVALS, |lane| &lane.arrivals);
        all(names::LANE_COMPLETIONS, |lane| &lane.completions);
        all(names::LANE_REJECTED, |lane| &lane.rejected_full);
        all(names::LANE_TIMED_OUT, |lane| &lane.timed_out);
        all(names::LANE_ABANDONED, |lane| &lane.abandoned);
        write_limits(snapshot, &lanes);
        let mut family = snapshot.observed(names::LANE_WAIT_SECONDS);
        for lane in &lanes {
            let waited = Offset(lane.wait_ns.load(Relaxed));
            family.number([label(lane)], waited.as_secs_f64());
        }
    }

    fn write_inflight(&self, snapshot: &mut Snapshot) {
        let survey = self.inflight.survey(self.now, self.stall_after);
        let by_silence = self.inflight.by_silence(self.now);
        let admitted = by_silence.iter().find(|reading| reading.phase != Phase::Queued);
        let oldest = admitted.map(|reading| reading.silence(self.now));
        let mut family = snapshot.observed(names::INFLIGHT);
        for phase in Phase::ALL {
            family.count([phase.as_str().into()], survey.phases[phase as usize]);
        }
        let mut family = snapshot.observed(names::INFLIGHT_OLDEST_SILENCE);
        if let Some(oldest) = oldest {
            family.number([], oldest.as_secs_f64());
        }
        snapshot.observed(names::STALLED_STREAMS).count([], survey.stalled);
        snapshot.observed(names::INFLIGHT_UNLISTED).count([], self.inflight.unseen());
    }

    fn write_tally(&self, snapshot: &mut Snapshot) {
        let tally = self.tally;
        for (metric, value) in [
            (names::CONNECTIONS_ACCEPTED, &tally.connections_accepted),
            (names::CONNECTIONS_OPEN, &tally.connections_open),
            (names::ACCEPT_ERRORS, &tally.accept_errors),
            (names::MALFORMED_REQUESTS, &tally.malformed_requests),
            (names::TLS_HANDSHAKE_ERRORS, &tally.tls_handshake_errors),
            (names::TLS_RELOADS, &tally.tls_reloads),
            (names::TLS_RELOAD_ERRORS, &tally.tls_reload_errors),
            (names::UPSTREAM_CONNECTS, &tally.upstream_connects),
            (names::UPSTREAM_CONNECT_ERRORS, &tally.upstream_connect_errors),
            (names::UPSTREAM_RETRIES, &tally.upstream_retries),
            (names::UPSTREAM_DRAINED, &tally.upstream_drained),
        ] {
            snapshot.observed(metric).count([], value.load(Relaxed));
        }
    }

    fn write_own(&self, snapshot: &mut Snapshot) {
        let mut family = snapshot.observed(names::RECORDS_DROPPED);
        family.count(["pipeline_full".into()], self.tally.exchanges_dropped.load(Relaxed));
        for (cause, n) in self.own.drops() {
            family.count([cause.into()], n);
        }
        snapshot.family(names::PIPELINE_LAG).histogram([], &self.own.pipeline_lag);
        snapshot.family(names::EVENT_LOOP_LAG).histogram([], &self.own.event_loop_lag());
        snapshot.observed(names::BUILD_INFO).count([env!("CARGO_PKG_VERSION").into()], 1);
        let started = Offset(self.own.started.0).as_secs_f64();
        snapshot.observed(names::PROCESS_START_TIME).number([], started);
    }

    fn write_state(&self, snapshot: &mut Snapshot) {
        let counts = self.state.map(State::counts);
        for (metric, of) in [
            (names::STATE_ROWS, StateCounts::rows as fn(&StateCounts) -> u64),
            (names::STATE_ROWS_WRITTEN, StateCounts::written),
            (names::STATE_ROWS_DROPPED, StateCounts::dropped),
            (names::STATE_WRITE_ERRORS, StateCounts::errors),
        ] {
            let mut family = snapshot.observed(metric);
            if let Some(counts) = &counts {
                family.count([], of(counts));
            }
        }
    }

    fn write_alerts(&self, snapshot: &mut Snapshot) {
        let alerts = &self.analysis.alerts;
        let name = |alert: &AlertStatus| Label::Text(Arc::from(&*alert.name));
        let mut family = snapshot.observed(names::ALERT_FIRING);
        for alert in alerts {
            let fires = alert.state == AlertState::Firing;
            family.count([name(alert), alert.severity.as_str().into()], u64::from(fires));
        }
        let mut family = snapshot.observed(names::ALERT_NO_DATA);
        for alert in alerts {
            family.count([name(alert)], u64::from(alert.no_data));
        }
        let mut family = snapshot.observed(names::ALERT_ACTIONS);
        for (action, fate, n) in self.actions.fates() {
            family.count([Label::Text(Arc::from(action)), fate.as_str().into()], n);
        }
        let mut family = snapshot.observed(names::DESIRED_REPLICAS);
        if let Some(replicas) = self.actions.desired_replicas() {
            family.count([], replicas);
        }
    }

    fn write_notifications(&self, snapshot: &mut Snapshot) {
        let mut family = snapshot.observed(names::NOTIFICATIONS);
        for (target, counts) in self.actions.targets() {
            let target = Label::Text(Arc::from(target));
            family.count([target.clone(), "sent".into()], counts.sent());
            for (fate, lost) in TargetCounts::LOST {
                family.count([target.clone(), fate.into()], counts.lost(lost));
            }
        }
    }

    fn write_otlp(&self, snapshot: &mut Snapshot) {
        let lanes: Vec<_> = self.otlp.into_iter().flat_map(Otlp::lanes).collect();
        let name = |lane: &Lane| Label::Text(Arc::from(lane.name()));
        let mut family = snapshot.observed(names::OTLP_EXCHANGES);
        for lane in &lanes {
            let counts = lane.counts();
            family.count([name(lane), "confirmed".into()], counts.confirmed());
            family.count([name(lane), "unknown".into()], counts.unknown());
            for (cause, lost) in TraceCounts::CAUSES {
                family.count([name(lane), cause.into()], counts.lost(lost));
            }
        }
        let mut each = |metric: Metric<1>, of: fn(&TraceCounts) -> u64| {
            let mut family = snapshot.observed(metric);
            for lane in &lanes {
                family.count([name(lane)], of(&lane.counts()));
            }
        };
        each(names::OTLP_WAITING, TraceCounts::waiting);
        each(names::OTLP_RETRIES, TraceCounts::retries);
        let mut family = snapshot.observed(names::OTLP_SAMPLED_OUT);
        if let Some(otlp) = self.otlp.filter(|_| !lanes.is_empty()) {
            family.count([], otlp.sampled_out());
        }
        let mut family = snapshot.observed(names::OTLP_METRIC_ROUNDS);
        for (name, counts) in self.otlp.into_iter().flat_map(Otlp::metric_counts) {
            let name = Label::Text(Arc::from(name));
            family.count([name.clone(), "taken".into()], counts.taken());
            family.count([name, "failed".into()], counts.failed());
        }
    }
}

fn write_limits(snapshot: &mut Snapshot, lanes: &[Arc<LaneGauge>]) {
    let mut family = snapshot.observed(names::LANE_LIMIT);
    for lane in lanes {
        if let Some(limit) = lane.limit() {
            family.count([label(lane)], limit);
        }
    }
}

fn label(lane: &LaneGauge) -> Label {
    Label::Text(Arc::from(&*lane.name))
}
