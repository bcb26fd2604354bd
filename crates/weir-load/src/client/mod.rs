//! A small load driver: it sends a [`Workload`] to a server and counts what came of it.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use reqwest::Client;
use reqwest::redirect::Policy;
use tokio::time::{Instant, sleep_until, timeout_at};

use self::exchange::exchange;
use self::report::Outcome;
pub use self::report::Report;
use crate::arrival::Arrival;
use crate::clock::{self, FOREVER};
use crate::crypto;
use crate::workload::Workload;

mod exchange;
mod report;

/// How long the client waits for the next byte.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long requests in flight may take to end, once no new ones are sent.
const GRACE: Duration = Duration::from_secs(30);

/// Sends `workload` to `base_url` (scheme, host and port) for `duration`, waits for what is in
/// flight to end, and reports. `on_progress` is called after every request that ended. Dropping the
/// future stops everything.
pub async fn drive(
    base_url: &str,
    workload: &Workload,
    duration: Duration,
    seed: u64,
    on_progress: impl FnMut(&Report),
) -> reqwest::Result<Report> {
    crypto::choose();
    let client = Client::builder().no_proxy().redirect(Policy::none()).read_timeout(PATIENCE).build()?;
    let mut flight = Flight::new(workload, on_progress);
    let mut due = clock::now();
    let stop = due + duration.min(FOREVER);
    for (ordinal, gap) in (0..).zip(workload.arrival.gaps(seed)) {
        // Arrivals keep to their own times: one that is late does not put off the next.
        due += gap;
        if due >= stop {
            break;
        }
        flight.run_until(due).await;
        if !flight.make_room(stop).await {
            break;
        }
        let id = format!("load-{seed}-{ordinal}");
        flight.send(exchange(&client, base_url, id, workload.request(seed, ordinal)));
    }
    // A rate of few arrivals may have its next one after the end.
    flight.run_until(stop).await;
    Ok(flight.land().await)
}

/// The requests in flight. They all run in the driver's own task, so none outlives it.
struct Flight<F, P> {
    running: FuturesUnordered<F>,
    room: usize,
    /// Whether arrivals come by themselves, so that a full flight holds them back.
    open: bool,
    report: Report,
    on_progress: P,
}

impl<F: Future<Output = (Outcome, u64)>, P: FnMut(&Report)> Flight<F, P> {
    fn new(workload: &Workload, on_progress: P) -> Self {
        let (room, open) = match workload.arrival {
            Arrival::Closed { clients } => (clients.min(workload.max_in_flight), false),
            Arrival::Poisson { .. } | Arrival::Constant { .. } => (workload.max_in_flight, true),
        };
        Flight {
            running: FuturesUnordered::new(),
            room: room.max(1),
            open,
            report: Report::default(),
            on_progress,
        }
    }

    /// Adds a request.
    fn send(&mut self, request: F) {
        self.report.sent += 1;
        self.running.push(request);
    }

    /// Lets the requests go on until `deadline`.
    async fn run_until(&mut self, deadline: Instant) {
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.running.next() => self.count(ended),
                () = sleep_until(deadline) => return,
            }
        }
    }

    /// Waits until one more request may be sent, but no longer than `stop`.
    async fn make_room(&mut self, stop: Instant) -> bool {
        if self.open && self.running.len() >= self.room {
            self.report.held_back += 1;
        }
        while self.running.len() >= self.room {
            match timeout_at(stop, self.running.next()).await {
                Ok(Some(ended)) => self.count(ended),
                Ok(None) | Err(_) => return false,
            }
        }
        clock::now() < stop
    }

    /// Waits for the requests in flight to end; those that do not are cancelled.
    async fn land(mut self) -> Report {
        let end = clock::now() + GRACE;
        while let Ok(Some(ended)) = timeout_at(end, self.running.next()).await {
            self.count(ended);
        }
        for _ in 0..self.running.len() {
            self.count((Outcome::Cancelled, 0));
        }
        self.report
    }

    fn count(&mut self, (outcome, events): (Outcome, u64)) {
        self.report.count(outcome, events);
        (self.on_progress)(&self.report);
    }
}
