//! One lane: a counter of places, and the line of those who wait for one.
//!
//! The semaphore only counts; the lane owns the order. A place that comes free is handed to the
//! head of the line inside a channel, so that a waiter who left in that very moment gives it back
//! by being dropped.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use weir_core::lanes::{LaneGauge, UNLIMITED};
use weir_core::policy::LaneLimits;
use weir_core::queueing::{Rate, predicted_wait};
use weir_core::timeline::Stamp;

use crate::clock::monotonic;

/// Why a lane does not let a request in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The line is full. With the wait that a newcomer would have had.
    Full(Option<Duration>),
    /// The wait took too long. With the wait that a newcomer would have now.
    TimedOut(Option<Duration>),
}

#[derive(Debug)]
pub(crate) struct Lane {
    places: Arc<Semaphore>,
    // Taken when a request comes and goes, never for an event.
    order: Mutex<Order>,
    gauge: Arc<LaneGauge>,
}

#[derive(Debug)]
struct Order {
    limits: LaneLimits,
    /// Places that were taken away while they were in use: withheld when they come back.
    debt: usize,
    line: VecDeque<Waiter>,
    next_ticket: u64,
    departures: Rate,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    hand_over: oneshot::Sender<LanePermit>,
}

/// A place in a lane; given back when dropped.
#[derive(Debug)]
pub(crate) struct LanePermit {
    lane: Arc<Lane>,
    place: Option<OwnedSemaphorePermit>,
    /// Whether somebody has it. One that is handed to a waiter who has just left never was used.
    taken: bool,
}

impl Lane {
    pub(crate) fn new(limits: &LaneLimits, gauge: Arc<LaneGauge>) -> Arc<Self> {
        let lane = Arc::new(Self {
            places: Arc::new(Semaphore::new(places(limits))),
            order: Mutex::new(Order {
                limits: limits.clone(),
                debt: 0,
                line: VecDeque::new(),
                next_ticket: 0,
                departures: Rate::default(),
            }),
            gauge,
        });
        lane.show_limit(limits);
        lane
    }

    /// Takes a place, waiting for it in the line if need be.
    pub(crate) async fn enter(self: &Arc<Self>) -> Result<LanePermit, Rejection> {
        let arrived = monotonic();
        let (waiting, hand_over, timeout) = match self.knock(arrived) {
            Knock::Admitted(permit) => return Ok(permit.taken()),
            Knock::Full(wait) => return Err(Rejection::Full(wait)),
            Knock::Queued { waiting, hand_over, timeout } => (waiting, hand_over, timeout),
        };
        self.gauge.stages.queue.enter(arrived);
        let handed = tokio::time::timeout(timeout, hand_over).await;
        let permit = match handed {
            Ok(Ok(permit)) => permit,
            // The sender lives in the line until it is used or `waiting` takes it out.
            Ok(Err(_)) | Err(_) => {
                waiting.leave(&self.gauge.timed_out);
                return Err(Rejection::TimedOut(self.predicted_wait()));
            }
        };
        let admitted = monotonic();
        waiting.admitted(admitted);
        self.gauge.wait_ns.fetch_add(admitted.since(arrived).0, Relaxed);
        Ok(permit.taken())
    }

    /// Replaces the limits. Nobody is dropped: with fewer places the next ones wait longer.
    pub(crate) fn set_limits(self: &Arc<Self>, limits: &LaneLimits) {
        let mut order = self.order();
        let (before, after) = (places(&order.limits), places(limits));
        order.limits = limits.clone();
        if after > before {
            let more = after - before;
            let forgiven = more.min(order.debt);
            order.debt -= forgiven;
            self.places.add_permits(more - forgiven);
        } else {
            let fewer = before - after;
            order.debt += fewer - self.places.forget_permits(fewer);
        }
        self.show_limit(limits);
        let undelivered = self.serve(&mut order);
        drop(order);
        drop(undelivered);
    }

    fn knock(self: &Arc<Self>, arrived: Stamp) -> Knock {
        self.gauge.arrivals.fetch_add(1, Relaxed);
        let mut order = self.order();
        if order.line.is_empty()
            && let Ok(place) = Arc::clone(&self.places).try_acquire_owned()
        {
            return Knock::Admitted(self.permit(place));
        }
        if order.line.len() >= order.limits.max_queued {
            self.gauge.rejected_full.fetch_add(1, Relaxed);
            return Knock::Full(predict(&order));
        }
        let ticket = order.next_ticket;
        order.next_ticket += 1;
        let (sender, hand_over) = oneshot::channel();
        order.line.push_back(Waiter { ticket, hand_over: sender });
        self.gauge.queued.fetch_add(1, Relaxed);
        let waiting = Waiting { lane: Arc::clone(self), ticket, arrived, over: false };
        Knock::Queued { waiting, hand_over, timeout: order.limits.queue_timeout }
    }

    /// Hands free places to the head of the line. What could not be delivered is returned, to be
    /// dropped without the lock, which a permit takes when it is dropped.
    fn serve(self: &Arc<Self>, order: &mut Order) -> Vec<LanePermit> {
        let mut undelivered = Vec::new();
        while !order.line.is_empty() {
            let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { break };
            let Some(waiter) = order.line.pop_front() else { break };
            if let Err(permit) = waiter.hand_over.send(self.permit(place)) {
                undelivered.push(permit);
            }
        }
        undelivered
    }

    fn permit(self: &Arc<Self>, place: OwnedSemaphorePermit) -> LanePermit {
        self.gauge.in_flight.fetch_add(1, Relaxed);
        LanePermit { lane: Arc::clone(self), place: Some(place), taken: false }
    }

    fn predicted_wait(&self) -> Option<Duration> {
        predict(&self.order())
    }

    fn show_limit(&self, limits: &LaneLimits) {
        let limit = limits.max_concurrent.map_or(UNLIMITED, |limit| limit as u64);
        self.gauge.limit.store(limit, Relaxed);
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LanePermit {
    /// The gauge of the lane.
    pub(crate) fn gauge(&self) -> Arc<LaneGauge> {
        Arc::clone(&self.lane.gauge)
    }

    fn taken(mut self) -> Self {
        self.taken = true;
        self
    }
}

impl Drop for LanePermit {
    fn drop(&mut self) {
        let lane = Arc::clone(&self.lane);
        lane.gauge.in_flight.fetch_sub(1, Relaxed);
        let mut order = lane.order();
        if self.taken {
            lane.gauge.completions.fetch_add(1, Relaxed);
            order.departures.count(monotonic());
        }
        let place = self.place.take();
        if order.debt > 0 {
            order.debt -= 1;
            if let Some(place) = place {
                place.forget();
            }
        } else {
            drop(place);
        }
        let undelivered = lane.serve(&mut order);
        drop(order);
        drop(undelivered);
    }
}

enum Knock {
    Admitted(LanePermit),
    Full(Option<Duration>),
    Queued { waiting: Waiting, hand_over: oneshot::Receiver<LanePermit>, timeout: Duration },
}

/// A place in the line; leaves it when dropped, whichever way the wait ended.
struct Waiting {
    lane: Arc<Lane>,
    ticket: u64,
    arrived: Stamp,
    over: bool,
}

impl Waiting {
    fn admitted(mut self, at: Stamp) {
        self.over = true;
        self.lane.gauge.stages.queue.leave(self.arrived, at);
        self.lane.gauge.queued.fetch_sub(1, Relaxed);
    }

    fn leave(mut self, counter: &AtomicU64) {
        self.over = true;
        self.step_out(counter);
    }

    fn step_out(&self, counter: &AtomicU64) {
        let mut order = self.lane.order();
        order.line.retain(|waiter| waiter.ticket != self.ticket);
        drop(order);
        self.lane.gauge.stages.queue.leave(self.arrived, monotonic());
        self.lane.gauge.queued.fetch_sub(1, Relaxed);
        counter.fetch_add(1, Relaxed);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.over {
            self.step_out(&self.lane.gauge.abandoned);
        }
    }
}

/// How many places the semaphore starts with.
fn places(limits: &LaneLimits) -> usize {
    limits.max_concurrent.unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS)
}

/// The wait of a newcomer at the end of the line.
fn predict(order: &Order) -> Option<Duration> {
    predicted_wait(order.line.len() as u64 + 1, order.departures.per_second(monotonic()))
}
