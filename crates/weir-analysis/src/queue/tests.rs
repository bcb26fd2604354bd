//! Lanes as they would read with a queue in front of so many places, worked out event by event.

use std::collections::VecDeque;

use weir_core::lanes::{LaneGauge, Lanes};
use weir_core::timeline::Stamp;

use super::{QueueState, Queues};
use crate::scope::Window;
use crate::time::Moment;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const S: u64 = 1_000_000_000;

/// A lane with places, a line, and requests that take a time that may change.
struct Station {
    gauge: Arc<LaneGauge>,
    queues: Queues,
    places: usize,
    room: usize,
    line: VecDeque<u64>,
    /// (came in, first token, over)
    inside: Vec<(u64, u64, u64)>,
    next_tick: u64,
}

impl Station {
    fn new(places: usize, room: usize) -> Self {
        let gauge = Lanes::default().gauge("global");
        gauge.limit.store(places as u64, Relaxed);
        let (queues, line, inside) = (Queues::default(), VecDeque::new(), Vec::new());
        Self { gauge, queues, places, room, line, inside, next_tick: 0 }
    }

    /// Requests come at these times; each takes `service(now)`, a quarter of it before its first token.
    fn run(&mut self, arrivals: impl IntoIterator<Item = u64>, until: u64, service: impl Fn(u64) -> u64) {
        for at in arrivals {
            self.advance(at, &service);
            self.gauge.arrivals.fetch_add(1, Relaxed);
            if self.inside.len() < self.places {
                self.admit(at, service(at));
            } else if self.line.len() < self.room {
                self.gauge.stages.queue.enter(Stamp(at));
                self.gauge.queued.fetch_add(1, Relaxed);
                self.line.push_back(at);
            } else {
                self.gauge.rejected_full.fetch_add(1, Relaxed);
            }
        }
        self.advance(until, &service);
    }

    fn admit(&mut self, at: u64, service: u64) {
        self.gauge.in_flight.fetch_add(1, Relaxed);
        self.gauge.stages.prefill.enter(Stamp(at));
        self.inside.push((at, at + service / 4, at + service));
    }

    /// Whatever happens until `until`, in its order: first tokens, ends, ticks.
    fn advance(&mut self, until: u64, service: &impl Fn(u64) -> u64) {
        loop {
            let first = self.inside.iter().map(|seat| seat.1).filter(|at| *at != u64::MAX).min();
            let over = self.inside.iter().map(|seat| seat.2).min();
            let next = [first, over, Some(self.next_tick)].into_iter().flatten().min().unwrap();
            if next > until {
                return;
            }
            if Some(next) == first {
                let seat = self.inside.iter_mut().find(|seat| seat.1 == next).unwrap();
                seat.1 = u64::MAX;
                self.gauge.stages.prefill.leave(Stamp(seat.0), Stamp(next));
                self.gauge.stages.decode.enter(Stamp(next));
            } else if Some(next) == over {
                let index = self.inside.iter().position(|seat| seat.2 == next).unwrap();
                let (came, _, over) = self.inside.swap_remove(index);
                // The first token came after a quarter.
                self.gauge.stages.decode.leave(Stamp(came + (over - came) / 4), Stamp(next));
                self.gauge.completions.fetch_add(1, Relaxed);
                self.gauge.in_flight.fetch_sub(1, Relaxed);
                if let Some(waited) = self.line.pop_front() {
                    self.gauge.stages.queue.leave(Stamp(waited), Stamp(next));
                    self.gauge.queued.fetch_sub(1, Relaxed);
                    self.admit(next, service(next));
                }
            } else {
                self.queues.tick(Moment(next), &[self.gauge.read(Stamp(next))]);
                self.next_tick += S;
            }
        }
    }

    fn state(&self) -> QueueState {
        self.queues.status()[0].queue.state
    }
}

/// So many a second, a little uneven, from `from` to `to` (in seconds).
fn arrivals(per_s: u64, from: u64, to: u64) -> impl Iterator<Item = u64> {
    (from * per_s..to * per_s).map(move |n| n * S / per_s + (n * 7_919 % 97) * S / (100 * per_s))
}

#[test]
fn the_law_holds_while_all_is_steady() {
    let mut station = Station::new(8, 100);
    // Ten a second, of which each takes 0.78 s: 7.8 of 8 places are taken, and some wait.
    station.run(arrivals(10, 0, 400), 400 * S, |at| (600 + at / 1_000 % 360) * S / 1_000);
    let status = &station.queues.status()[0];
    assert_eq!(status.laws.len(), 2);
    for law in &status.laws {
        assert!((law.elapsed_s - law.window.length().as_secs_f64()).abs() < 1e-9);
        for (stage, law) in [("prefill", &law.prefill), ("decode", &law.decode)] {
            assert!(law.residual_share.unwrap().abs() < 0.05, "{stage}: {law:?}");
            assert!((law.arrivals_per_s - 10.0).abs() < 0.2, "{stage}: {law:?}");
        }
    }
    let five = &status.laws[1];
    assert_eq!(five.window, Window::FiveMinutes);
    let at_upstream = five.prefill.mean_inside + five.decode.mean_inside;
    assert!((at_upstream - 7.8).abs() < 0.2, "{at_upstream}");
    assert!((five.decode.mean_inside / five.prefill.mean_inside - 3.0).abs() < 0.1);
    assert!((status.utilisation.unwrap() - 0.975).abs() < 0.03, "{:?}", status.utilisation);
}

#[test]
fn a_place_that_is_never_given_back_shows_in_the_residual() {
    let mut station = Station::new(8, 100);
    station.run(arrivals(4, 0, 300), 300 * S, |_| S);
    // Half a minute ago two came in that never leave.
    for _ in 0..2 {
        station.gauge.stages.prefill.enter(Stamp(300 * S));
    }
    station.run(arrivals(4, 300, 330), 330 * S, |_| S);
    let law = &station.queues.status()[0].laws[0];
    // A second a quarter of which is prefill, four times a second: one is inside on average; two more in
    // half of the minute.
    assert!((law.prefill.mean_inside - 2.0).abs() < 0.05, "{law:?}");
    assert!(law.prefill.residual.unwrap() > 0.9, "{law:?}");
    assert!(law.decode.residual.unwrap().abs() < 0.15, "{law:?}");
}

#[test]
fn more_that_come_are_a_flood() {
    let mut station = Station::new(10, 10_000);
    station.run(arrivals(8, 0, 120), 120 * S, |_| S);
    assert_eq!(station.state(), QueueState::Empty);
    station.run(arrivals(20, 120, 160), 160 * S, |_| S);
    let status = &station.queues.status()[0];
    let queue = &status.queue;
    assert_eq!(queue.state, QueueState::Flood, "{queue:?}");
    assert!((queue.arrivals_per_s.before.unwrap() - 8.0).abs() < 1.0, "{queue:?}");
    assert!((queue.arrivals_per_s.since.unwrap() - 20.0).abs() < 1.0, "{queue:?}");
    assert!((queue.completions_per_s.since.unwrap() - 10.0).abs() < 0.7, "{queue:?}");
    assert!((queue.growth_per_s.unwrap() - 10.0).abs() < 0.5, "{queue:?}");
    assert!(queue.text.starts_with("flood: 2"), "{}", queue.text);
    // 400 wait and 10 a second leave.
    assert!((status.predicted_wait_s.unwrap() - 44.0).abs() < 6.0, "{status:?}");
}

#[test]
fn fewer_that_leave_are_a_collapse() {
    let mut station = Station::new(10, 10_000);
    station.run(arrivals(8, 0, 120), 120 * S, |_| S);
    station.run(arrivals(8, 120, 160), 160 * S, |_| 4 * S);
    let queue = &station.queues.status()[0].queue;
    assert_eq!(queue.state, QueueState::Collapse, "{queue:?}");
    assert!((queue.completions_per_s.since.unwrap() - 2.5).abs() < 1.0, "{queue:?}");
    assert!((queue.service_time_s.before.unwrap() - 1.0).abs() < 0.05, "{queue:?}");
    assert!(queue.service_time_s.since.unwrap() > 3.0, "{queue:?}");
}

#[test]
fn an_upstream_that_answers_nothing_has_collapsed() {
    let mut station = Station::new(10, 10_000);
    station.run(arrivals(8, 0, 120), 120 * S, |_| S);
    station.run(arrivals(8, 120, 160), 160 * S, |_| 10_000 * S);
    let status = &station.queues.status()[0];
    assert_eq!(status.queue.state, QueueState::Collapse, "{status:?}");
}

#[test]
fn a_burst_is_being_absorbed() {
    let mut station = Station::new(10, 10_000);
    station.run(arrivals(5, 0, 120), 120 * S, |_| S);
    station.run((0..150).map(|n| 120 * S + n), 120 * S + 200, |_| S);
    station.run(arrivals(5, 121, 140), 140 * S, |_| S);
    let queue = &station.queues.status()[0].queue;
    assert_eq!(queue.state, QueueState::Absorbing, "{queue:?}");
    // 140 waited; of 20 seconds each took five of them away.
    assert!((queue.depth.unwrap() - 55.0).abs() < 10.0, "{queue:?}");
    assert!((queue.empty_in_s.unwrap() - 10.0).abs() < 4.0, "{queue:?}");
    station.run(arrivals(5, 140, 170), 170 * S, |_| S);
    assert_eq!(station.state(), QueueState::Empty);
}

#[test]
fn a_full_queue_does_not_grow_and_is_a_flood_all_the_same() {
    let mut station = Station::new(10, 20);
    station.run(arrivals(8, 0, 120), 120 * S, |_| S);
    station.run(arrivals(20, 120, 160), 160 * S, |_| S);
    let queue = &station.queues.status()[0].queue;
    assert_eq!(queue.state, QueueState::Flood, "{queue:?}");
    assert!(queue.growth_per_s.unwrap().abs() < 0.2, "{queue:?}");
}

#[test]
fn a_queue_that_is_older_than_the_history_has_no_before() {
    let mut station = Station::new(10, 100_000);
    station.run(arrivals(20, 0, 700), 700 * S, |_| S);
    let queue = &station.queues.status()[0].queue;
    assert_eq!(queue.state, QueueState::Overloaded, "{queue:?}");
    assert_eq!(queue.arrivals_per_s.before, None);
}

#[test]
fn a_line_that_stands_is_steady() {
    let mut station = Station::new(10, 10_000);
    station.run(arrivals(10, 0, 60), 60 * S, |_| S);
    station.run((0..50).map(|n| 60 * S + n), 60 * S + 100, |_| S);
    station.run(arrivals(10, 61, 160), 160 * S, |_| S);
    let queue = &station.queues.status()[0].queue;
    assert_eq!(queue.state, QueueState::Steady, "{queue:?}");
}

#[test]
fn a_restart_begins_anew_and_a_lane_that_went_is_forgotten() {
    let mut station = Station::new(2, 10);
    station.run(arrivals(1, 0, 30), 30 * S, |_| S);
    assert!(station.queues.status()[0].laws[0].elapsed_s > 25.0);
    let fresh = Lanes::default().gauge("global");
    station.queues.tick(Moment(31 * S), &[fresh.read(Stamp(31 * S))]);
    assert!(station.queues.status()[0].laws.is_empty());
    assert_eq!(station.queues.queued("global"), Some(0));
    station.queues.tick(Moment(400 * S), &[]);
    assert!(station.queues.status().is_empty());
}
