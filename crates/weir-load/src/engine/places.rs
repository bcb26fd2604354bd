//! The places of the plain model: as many requests generate at once as there are places, and the
//! others wait in their order.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::stats::Counters;
use crate::clock;

/// Gives out the places.
#[derive(Debug)]
pub(crate) struct Places {
    /// Tokio's semaphore serves its waiters in order.
    places: Arc<Semaphore>,
    counters: Arc<Counters>,
}

impl Places {
    pub(crate) fn new(max_concurrent: Option<usize>, counters: Arc<Counters>) -> Self {
        let places = max_concurrent.unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Places { places: Arc::new(Semaphore::new(places)), counters }
    }

    /// A place at once where one is free, a wait otherwise.
    pub(crate) fn enter(&self) -> Standing {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => Standing::Running(Place::take(permit, Arc::clone(&self.counters))),
            Err(_) => Standing::Waiting(Waiting::join(Arc::clone(&self.places), Arc::clone(&self.counters))),
        }
    }
}

/// A request's standing.
#[derive(Debug)]
pub(crate) enum Standing {
    Waiting(Waiting),
    Running(Place),
}

impl Standing {
    /// Waits for the place, and tells since when it is held. `None` never comes while the engine
    /// runs: the semaphore is not closed.
    pub(crate) async fn admitted(&mut self) -> Option<Instant> {
        if let Standing::Waiting(waiting) = self {
            let permit = Arc::clone(&waiting.places).acquire_owned().await.ok()?;
            *self = Standing::Running(Place::take(permit, Arc::clone(&waiting.counters)));
        }
        match self {
            Standing::Running(place) => Some(place.since),
            Standing::Waiting(_) => None,
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

/// A place, held until it is dropped.
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
        let places = Places::new(Some(1), Arc::clone(&counters));
        let mut first = places.enter();
        let mut second = places.enter();
        let mut third = places.enter();
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
        let places = Places::new(None, Arc::clone(&counters));
        let turns: Vec<Standing> = (0..1000).map(|_| places.enter()).collect();
        assert_eq!(counters.read(0).active, 1000);
        drop(turns);
        assert_eq!(counters.read(0).peak_active, 1000);
    }
}
