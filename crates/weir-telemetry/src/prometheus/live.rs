//! The part of the page that is read at the moment it is asked for: gauges, and counters that are
//! kept elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use weir_core::inflight::{Inflight, Phase};
use weir_core::lanes::{LaneGauge, Lanes};
use weir_core::tally::Tally;
use weir_core::timeline::{Offset, Stamp};

use super::page::Page;
use crate::names::{self, Metric};
use crate::self_metrics::SelfMetrics;

/// Where the moment is read from.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    pub(crate) now: Stamp,
    pub(crate) stall_after: Offset,
    pub(crate) inflight: &'a Inflight,
    pub(crate) lanes: &'a Lanes,
    pub(crate) tally: &'a Tally,
    pub(crate) own: &'a SelfMetrics,
}

const PHASES: [Phase; 4] = [Phase::Queued, Phase::Waiting, Phase::Prefill, Phase::Decode];

impl Live<'_> {
    pub(super) fn write(&self, page: &mut Page) {
        self.write_lanes(page);
        self.write_inflight(page);
        self.write_tally(page);
        self.write_own(page);
    }

    fn write_lanes(&self, page: &mut Page) {
        let lanes = self.lanes.list();
        let mut all = |metric: Metric<1>, of: fn(&LaneGauge) -> &AtomicU64| {
            let mut family = page.family(metric);
            for lane in &lanes {
                family.count([&lane.name], of(lane).load(Relaxed));
            }
        };
        all(names::LANE_QUEUE_DEPTH, |lane| &lane.queued);
        all(names::LANE_IN_FLIGHT, |lane| &lane.in_flight);
        all(names::LANE_ARRIVALS, |lane| &lane.arrivals);
        all(names::LANE_COMPLETIONS, |lane| &lane.completions);
        all(names::LANE_REJECTED, |lane| &lane.rejected_full);
        all(names::LANE_TIMED_OUT, |lane| &lane.timed_out);
        all(names::LANE_ABANDONED, |lane| &lane.abandoned);
        write_limits(page, &lanes);
        let mut family = page.family(names::LANE_WAIT_SECONDS);
        for lane in &lanes {
            let waited = Offset(lane.wait_ns.load(Relaxed));
            family.number([&lane.name], waited.as_secs_f64());
        }
    }

    fn write_inflight(&self, page: &mut Page) {
        let (mut phases, mut oldest, mut stalled) = ([0_u64; PHASES.len()], None, 0_u64);
        for live in self.inflight.list() {
            let reading = live.read();
            phases[reading.phase as usize] += 1;
            let silence = reading.silence(self.now);
            if reading.phase != Phase::Queued {
                oldest = oldest.max(Some(silence));
            }
            stalled += u64::from(reading.phase == Phase::Decode && silence > self.stall_after);
        }
        let mut family = page.family(names::INFLIGHT);
        for phase in PHASES {
            family.count([phase.as_str()], phases[phase as usize]);
        }
        let mut family = page.family(names::INFLIGHT_OLDEST_SILENCE);
        if let Some(oldest) = oldest {
            family.number([], oldest.as_secs_f64());
        }
        page.family(names::STALLED_STREAMS).count([], stalled);
        page.family(names::INFLIGHT_UNLISTED).count([], self.inflight.unseen());
    }

    fn write_tally(&self, page: &mut Page) {
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
            page.family(metric).count([], value.load(Relaxed));
        }
    }

    fn write_own(&self, page: &mut Page) {
        let mut family = page.family(names::RECORDS_DROPPED);
        family.count(["pipeline_full"], self.tally.exchanges_dropped.load(Relaxed));
        for (cause, n) in self.own.drops() {
            family.count([cause], n);
        }
        page.family(names::PIPELINE_LAG).histogram([], &self.own.pipeline_lag);
        page.family(names::EVENT_LOOP_LAG).histogram([], &self.own.event_loop_lag());
        page.family(names::BUILD_INFO).count([env!("CARGO_PKG_VERSION")], 1);
        let started = self.own.started.as_secs_f64();
        page.family(names::PROCESS_START_TIME).number([], started);
    }
}

fn write_limits(page: &mut Page, lanes: &[Arc<LaneGauge>]) {
    let mut family = page.family(names::LANE_LIMIT);
    for lane in lanes {
        if let Some(limit) = lane.limit() {
            family.count([&lane.name], limit);
        }
    }
}
