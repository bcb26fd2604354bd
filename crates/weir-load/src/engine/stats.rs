//! What the engine counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::truth::StreamEnd;

/// The engine's counters at one moment.
///
/// Every API request ends as exactly one of `completed`, `gone`, `injected` and `refused`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub connections: u64,
    /// Requests to the completion and embedding endpoints.
    pub requests: u64,
    /// Requests that generate now; in a batch, sequences that do: each choice is one.
    pub active: u64,
    /// The most that ever generated at once.
    pub peak_active: u64,
    /// Requests that wait for their turn now; in a batch, sequences.
    pub queued: u64,
    /// Requests answered in full.
    pub completed: u64,
    /// Requests whose other side left first.
    pub gone: u64,
    /// Requests that a fault ended; a stall counts here once the other side has left.
    pub injected: u64,
    /// Requests that were not valid.
    pub refused: u64,
    /// Lines that the truth file lost, because its queue was full or its disk failed.
    pub truth_lost: u64,
}

/// The counters themselves.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) active: AtomicU64,
    pub(crate) peak_active: AtomicU64,
    pub(crate) queued: AtomicU64,
    requests: AtomicU64,
    completed: AtomicU64,
    gone: AtomicU64,
    injected: AtomicU64,
    refused: AtomicU64,
}

impl Counters {
    /// A part of `active` was `before` and is `now`.
    pub(crate) fn change_active(&self, before: u64, now: u64) {
        let change = now.wrapping_sub(before);
        let active = self.active.fetch_add(change, Ordering::Relaxed).wrapping_add(change);
        self.peak_active.fetch_max(active, Ordering::Relaxed);
    }

    /// Reads every counter.
    pub(crate) fn read(&self, truth_lost: u64) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            connections: get(&self.connections),
            requests: get(&self.requests),
            active: get(&self.active),
            peak_active: get(&self.peak_active),
            queued: get(&self.queued),
            completed: get(&self.completed),
            gone: get(&self.gone),
            injected: get(&self.injected),
            refused: get(&self.refused),
            truth_lost,
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Completed,
    Gone,
    Injected,
    Refused,
}

impl From<StreamEnd> for Ending {
    fn from(end: StreamEnd) -> Self {
        match end {
            StreamEnd::Ok => Ending::Completed,
            StreamEnd::Gone => Ending::Gone,
            StreamEnd::Injected | StreamEnd::Stall => Ending::Injected,
        }
    }
}

/// One request being served. It is dropped with the request's future or body, so until it is told
/// otherwise it takes its end for the other side's leaving.
#[derive(Debug)]
pub(crate) struct Visit {
    counters: Arc<Counters>,
    ending: Ending,
}

impl Visit {
    /// Counts a request that has come.
    pub(crate) fn begin(counters: Arc<Counters>) -> Self {
        counters.requests.fetch_add(1, Ordering::Relaxed);
        Visit { counters, ending: Ending::Gone }
    }

    /// Says how the request ends.
    pub(crate) fn end(&mut self, ending: Ending) {
        self.ending = ending;
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let counter = match self.ending {
            Ending::Completed => &self.counters.completed,
            Ending::Gone => &self.counters.gone,
            Ending::Injected => &self.counters.injected,
            Ending::Refused => &self.counters.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
