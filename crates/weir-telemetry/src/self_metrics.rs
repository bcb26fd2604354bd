//! What Weir tells about its own telemetry: how late it is, and what was lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_core::exchange::{Exchange, WallTime};
use weir_core::timeline::{Offset, Stamp};

use crate::clock::Clock;
use crate::line_writer::LineCounts;
use crate::metrics::{Histogram, LAG};

/// How long the canary sleeps: ten wake-ups a second cost nothing that could be measured.
const CANARY_SLEEP: Duration = Duration::from_millis(100);

/// The figures, owned by the pipeline.
#[derive(Debug)]
pub(crate) struct SelfMetrics {
    pub(crate) started: WallTime,
    pub(crate) pipeline_lag: Histogram,
    loop_lag: Arc<LoopLag>,
    access_log: Arc<LineCounts>,
    record: Arc<LineCounts>,
}

impl SelfMetrics {
    /// Begins with what others count into. A recorder that is switched off counts nothing.
    pub(crate) fn new(
        started: WallTime,
        loop_lag: Arc<LoopLag>,
        access_log: Option<Arc<LineCounts>>,
        record: Option<Arc<LineCounts>>,
    ) -> Self {
        Self {
            started,
            pipeline_lag: Histogram::new(LAG),
            loop_lag,
            access_log: access_log.unwrap_or_default(),
            record: record.unwrap_or_default(),
        }
    }

    /// An exchange was taken in.
    pub(crate) fn taken(&mut self, exchange: &Exchange, now: Stamp) {
        let ended = exchange.received_mono.plus(exchange.duration());
        self.pipeline_lag.observe_time(Some(now.since(ended)), None);
    }

    /// How many lines were lost, by cause.
    pub(crate) fn drops(&self) -> [(&'static str, u64); 4] {
        [
            ("access_log_full", self.access_log.full()),
            ("access_log_error", self.access_log.error()),
            ("record_full", self.record.full()),
            ("record_error", self.record.error()),
        ]
    }

    /// How late the canary woke.
    pub(crate) fn event_loop_lag(&self) -> Histogram {
        self.loop_lag.read()
    }
}

/// How late the canary woke: one writer, read when a snapshot is made.
///
/// A lock, since a histogram is more than numbers that could be written one by one. It is taken ten times
/// a second to count, and a few times a minute to copy some hundred bytes.
#[derive(Debug)]
pub(crate) struct LoopLag {
    histogram: Mutex<Histogram>,
}

impl Default for LoopLag {
    fn default() -> Self {
        Self { histogram: Mutex::new(Histogram::new(LAG)) }
    }
}

impl LoopLag {
    /// Starts a canary on this runtime: a task that sleeps, and measures how late it is woken.
    pub(crate) fn watch(clock: Clock, stop: CancellationToken, tracker: &TaskTracker) -> Arc<Self> {
        let lag = Arc::new(Self::default());
        let canary = Arc::clone(&lag);
        tracker.spawn(async move {
            loop {
                let asleep = clock();
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = sleep(CANARY_SLEEP) => {}
                }
                canary.add(clock().since(asleep.plus(CANARY_SLEEP.into())));
            }
        });
        lag
    }

    fn add(&self, late: Offset) {
        self.lock().observe_time(Some(late), None);
    }

    fn read(&self) -> Histogram {
        self.lock().clone()
    }

    /// Nothing panics under the lock, and if it did, what was counted would still be right.
    fn lock(&self) -> MutexGuard<'_, Histogram> {
        self.histogram.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use weir_core::timeline::Offset;

    use super::LoopLag;

    #[test]
    fn a_late_canary_is_counted_where_it_belongs() {
        let lag = LoopLag::default();
        lag.add(Offset(300_000));
        lag.add(Offset(1_000_000));
        lag.add(Offset(60_000_000_000));
        let histogram = lag.read();
        let at = |bound: f64| histogram.cumulative().find(|(b, _)| *b == bound).unwrap().1;
        assert_eq!((at(0.000_1), at(0.000_5), at(0.001), at(10.0)), (0, 1, 2, 2));
        assert_eq!(histogram.count(), 3);
        assert!((histogram.sum() - 60.001_3).abs() < 1e-9);
    }
}
