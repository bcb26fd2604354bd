//! Who generates now and who waits: a first-come, first-served batch of limited size.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::stats::Counters;
use crate::clock::{self, FOREVER};

/// Gives out the places in the running batch.
#[derive(Debug)]
pub(crate) struct Scheduler {
    /// Tokio's semaphore serves its waiters in order.
    places: Arc<Semaphore>,
    counters: Arc<Counters>,
}

impl Scheduler {
    pub(crate) fn new(max_concurrent: Option<usize>, counters: Arc<Counters>) -> Self {
        let places = max_concurrent.unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Scheduler { places: Arc::new(Semaphore::new(places)), counters }
    }

    /// A place at once where one is free, a wait otherwise.
    pub(crate) fn enter(&self) -> Turn {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => Turn::Running(Place::take(permit, Arc::clone(&self.counters))),
            Err(_) => Turn::Waiting(Waiting::join(Arc::clone(&self.places), Arc::clone(&self.counters))),
        }
    }
}

/// A request's standing with the scheduler.
#[derive(Debug)]
pub(crate) enum Turn {
    Waiting(Waiting),
    Running(Place),
}

impl Turn {
    /// Waits for the place, and then until it has been held for `delay`.
    pub(crate) async fn held_for(&mut self, delay: Duration) {
        if let Some(since) = self.admitted().await {
            sleep_until(since + delay.min(FOREVER)).await;
        }
    }

    /// Waits for the place, and tells since when it is held. `None` never comes while the engine
    /// runs: the semaphore is not closed.
    async fn admitted(&mut self) -> Option<Instant> {
        if let Turn::Waiting(waiting) = self {
            let permit = Arc::clone(&waiting.places).acquire_owned().await.ok()?;
            *self = Turn::Running(Place::take(permit, Arc::clone(&waiting.counters)));
        }
        match self {
            Turn::Running(place) => Some(place.since),
            Turn::Waiting(_) => None,
        }
    }
}

/// A request in the queue; it is counted there until it is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    places: Arc<Semaphore>,
    counters: Arc<Counters>,
}

impl Waiting {
    fn join(places: Arc<Semaphore>, counters: Arc<Counters>) -> Self {
        counters.queued.fetch_add(1, Ordering::Relaxed);
        Waiting { places, counters }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.counters.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place in the running batch, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
    counters: Arc<Counters>,
    since: Instant,
}

impl Place {
    fn take(permit: OwnedSemaphorePermit, counters: Arc<Counters>) -> Self {
        let active = counters.active.fetch_add(1, Ordering::Relaxed) + 1;
        counters.peak_active.fetch_max(active, Ordering::Relaxed);
        Place { _permit: permit, counters, since: clock::now() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Runs before the permit goes back, so `active` never exceeds the limit.
        self.counters.active.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn places_are_given_in_order_and_counted() {
        let counters = Arc::new(Counters::default());
        let scheduler = Scheduler::new(Some(1), Arc::clone(&counters));
        let mut first = scheduler.enter();
        let mut second = scheduler.enter();
        let mut third = scheduler.enter();
        assert!(first.admitted().now_or_never().flatten().is_some());

        let mut second_waits = Box::pin(second.admitted());
        let mut third_waits = Box::pin(third.admitted());
        assert!(second_waits.as_mut().now_or_never().is_none());
        assert!(third_waits.as_mut().now_or_never().is_none());
        let seen = counters.read(0);
        assert_eq!((seen.active, seen.queued), (1, 2));

        drop(first);
        assert!(third_waits.as_mut().now_or_never().is_none());
        assert!(second_waits.as_mut().now_or_never().flatten().is_some());
        drop(second_waits);
        drop(third_waits);
        drop(third);
        let seen = counters.read(0);
        assert_eq!((seen.active, seen.queued, seen.peak_active), (1, 0, 1));
        drop(second);
        assert_eq!(counters.read(0).active, 0);
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let counters = Arc::new(Counters::default());
        let scheduler = Scheduler::new(None, Arc::clone(&counters));
        let turns: Vec<Turn> = (0..1000).map(|_| scheduler.enter()).collect();
        assert_eq!(counters.read(0).active, 1000);
        drop(turns);
        assert_eq!(counters.read(0).peak_active, 1000);
    }
}
