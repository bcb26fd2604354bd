//! How far a run is, told while it goes on.

use std::time::Duration;

use super::sample::End;

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Since the start.
    pub elapsed: Duration,
    /// How many requests there will be, where that is known.
    pub total: Option<usize>,
    /// Requests sent.
    pub sent: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Complete answers.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Events with output, of all requests so far.
    pub chunks: u64,
    /// Complete answers per second since the progress was told last.
    pub requests_per_s: f64,
    /// Events with output per second since the progress was told last.
    pub chunks_per_s: f64,
}

impl Progress {
    /// Counts how a request ended.
    pub(super) fn count(&mut self, end: &End) {
        match end {
            End::Complete => self.completed += 1,
            End::Failed(..) => self.failed += 1,
            End::Left | End::Cancelled => {}
        }
    }

    /// Sets the rates by what it was `before`.
    pub(super) fn since(mut self, before: &Progress) -> Self {
        let span = self.elapsed.saturating_sub(before.elapsed).as_secs_f64();
        if span > 0.0 {
            self.requests_per_s = (self.completed - before.completed) as f64 / span;
            self.chunks_per_s = (self.chunks - before.chunks) as f64 / span;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_since_the_last_time() {
        let before =
            Progress { elapsed: Duration::from_secs(2), completed: 4, chunks: 100, ..Progress::default() };
        let mut now = Progress { elapsed: Duration::from_secs(4), chunks: 150, ..before };
        now.count(&End::Complete);
        now.count(&End::Left);
        let told = now.since(&before);
        assert_eq!((told.completed, told.failed), (5, 0));
        assert_eq!((told.requests_per_s, told.chunks_per_s), (0.5, 25.0));
    }
}
