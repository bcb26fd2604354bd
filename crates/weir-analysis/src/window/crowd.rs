//! How many are in flight, over time: from gauges that know every coming and going, read once a second.

use weir_core::inflight::Phase;
use weir_core::lanes::{GLOBAL, LaneReading, Stages};
use weir_core::observation::Tick;
use weir_core::stage::StageReading;

use crate::time::Moment;

/// A tick without gauges stands for this long.
const LOOK_NS: u64 = 1_000_000_000;

/// Remembers the last reading of the gauges.
#[derive(Clone, Debug, Default)]
pub(super) struct CrowdWatch {
    last: Option<(Moment, Stages<StageReading>)>,
}

/// How many were in flight over a stretch of time, summed over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowd {
    pub(super) watched_ns: u64,
    pub(super) in_flight_ns: u64,
    pub(super) waiting_ns: u64,
}

impl CrowdWatch {
    /// The time since the last tick. `None`: nothing is known of it.
    pub(super) fn tick(&mut self, now: Moment, tick: &Tick) -> Option<Crowd> {
        let Some(lane) = tick.lanes.iter().find(|lane| &*lane.name == GLOBAL) else {
            return Some(Crowd::seen(tick));
        };
        let (since, before) = self.last.replace((now, lane.stages))?;
        // Gauges start anew with the process.
        let anew = lane.stages.queue.entered < before.queue.entered
            || lane.stages.prefill.entered < before.prefill.entered;
        (now > since && !anew).then(|| Crowd::between(since, &before, now, lane))
    }
}

impl Crowd {
    /// What one look saw.
    fn seen(tick: &Tick) -> Self {
        let phases = &tick.in_flight.phases;
        let waiting = phases[Phase::Queued as usize];
        let all = phases.iter().fold(0_u64, |sum, &n| sum.saturating_add(n));
        Self {
            watched_ns: LOOK_NS,
            in_flight_ns: (all - waiting).saturating_mul(LOOK_NS),
            waiting_ns: waiting.saturating_mul(LOOK_NS),
        }
    }

    fn between(since: Moment, before: &Stages<StageReading>, now: Moment, lane: &LaneReading) -> Self {
        let Stages { queue, prefill, decode } = &lane.stages;
        let passed =
            |before: &StageReading, now: &StageReading| now.inside_ns.saturating_sub(before.inside_ns);
        Self {
            watched_ns: now.0 - since.0,
            in_flight_ns: passed(&before.prefill, prefill) + passed(&before.decode, decode),
            waiting_ns: passed(&before.queue, queue),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::lanes::{LaneReading, Stages};
    use weir_core::observation::Tick;
    use weir_core::stage::StageReading;

    use super::{Crowd, CrowdWatch};
    use crate::time::Moment;

    fn tick(entered: u64, waiting: u64, prefill: u64, decode: u64) -> Tick {
        let stage = |inside_ns| StageReading { entered, left: 0, time_ns: 0, inside_ns };
        let stages = Stages { queue: stage(waiting), prefill: stage(prefill), decode: stage(decode) };
        let lane = LaneReading { name: "global".into(), stages, ..LaneReading::default() };
        Tick { lanes: vec![lane], ..Tick::default() }
    }

    #[test]
    fn between_two_looks_everybody_counts_for_as_long_as_they_were_there() {
        let mut watch = CrowdWatch::default();
        assert_eq!(watch.tick(Moment(1_000), &tick(5, 100, 200, 300)), None);
        let crowd = watch.tick(Moment(3_000), &tick(9, 150, 260, 370));
        assert_eq!(crowd, Some(Crowd { watched_ns: 2_000, in_flight_ns: 130, waiting_ns: 50 }));
        assert_eq!(watch.tick(Moment(3_000), &tick(9, 150, 260, 370)), None);
        // Another process: what was counted before is not known to it.
        assert_eq!(watch.tick(Moment(4_000), &tick(1, 10, 10, 10)), None);
        let crowd = watch.tick(Moment(5_000), &tick(1, 10, 1_010, 10));
        assert_eq!(crowd, Some(Crowd { watched_ns: 1_000, in_flight_ns: 1_000, waiting_ns: 0 }));
    }

    #[test]
    fn without_gauges_a_look_stands_for_its_second() {
        let mut tick = Tick::default();
        tick.in_flight.phases = [2, 1, 1, 2];
        let crowd = CrowdWatch::default().tick(Moment(1), &tick);
        let second = 1_000_000_000;
        let expected = Crowd { watched_ns: second, in_flight_ns: 4 * second, waiting_ns: 2 * second };
        assert_eq!(crowd, Some(expected));
    }
}
