//! The record of an exchange under way: whichever way the exchange ends, it is written once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use weir_core::draft::{Draft, End};
use weir_core::exchange::Exchange;
use weir_core::timeline::Mark;
use weir_core::trace::TracePlace;

use crate::admission::Permit;
use crate::clock::monotonic;
use crate::drain::Drain;
use crate::outlet::Outlet;

/// Owns the draft and the permit of an exchange. Dropped before it was closed, it says that the
/// client went away: that is what dropping a request's future or a response's body means.
#[derive(Debug)]
pub(crate) struct Record {
    draft: Option<Box<Draft>>,
    permit: Option<Permit>,
    /// Bytes of the request body that pass while the exchange runs.
    passing: Option<Arc<AtomicU64>>,
    /// Bytes of an answer that passes unseen.
    unseen: Option<Arc<AtomicU64>>,
    outlet: Outlet,
    drain: Drain,
}

impl Record {
    pub(crate) fn new(draft: Draft, outlet: Outlet, drain: Drain) -> Self {
        Self { draft: Some(Box::new(draft)), permit: None, passing: None, unseen: None, outlet, drain }
    }

    /// The draft, until the record is closed.
    pub(crate) fn draft(&mut self) -> Option<&mut Draft> {
        self.draft.as_deref_mut()
    }

    /// The exchange's place in a trace.
    pub(crate) fn trace(&self) -> Option<&TracePlace> {
        self.draft.as_deref().and_then(Draft::trace)
    }

    /// A moment of the exchange is now.
    pub(crate) fn mark(&mut self, mark: Mark) {
        if let Some(draft) = self.draft() {
            draft.mark(mark, monotonic());
        }
    }

    /// Keeps a permit until the exchange is over. To be called before that is marked as admitted.
    pub(crate) fn hold(&mut self, permit: Permit) {
        if let Some(draft) = self.draft() {
            draft.goes_through(permit.lanes());
        }
        self.permit = Some(permit);
    }

    /// Counts the request bytes that are still to pass.
    pub(crate) fn follow(&mut self, passing: Option<Arc<AtomicU64>>) {
        self.passing = passing;
    }

    /// Counts the bytes of an answer that is not looked at.
    pub(crate) fn follow_answer(&mut self, unseen: Arc<AtomicU64>) {
        self.unseen = Some(unseen);
    }

    /// Whether the record was written.
    pub(crate) fn is_closed(&self) -> bool {
        self.draft.is_none()
    }

    /// Whether a client that leaves now has had all it needs.
    pub(crate) fn is_settled(&self) -> bool {
        self.draft.as_deref().is_some_and(Draft::is_settled)
    }

    /// The exchange is over. Only the first call counts.
    pub(crate) fn close(&mut self, end: End) {
        let Some(mut draft) = self.draft.take() else { return };
        if let Some(passed) = &self.passing {
            draft.request_bytes(passed.load(Relaxed));
        }
        if let Some(passed) = &self.unseen {
            draft.answer_bytes(passed.load(Relaxed));
        }
        let exchange: Exchange = draft.finish(end, monotonic());
        self.outlet.offer(exchange);
        // Only now may the next one come: the record of this one is on its way.
        self.permit = None;
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let end = if self.drain.is_cut() { End::Shutdown } else { End::ClientGone };
        self.close(end);
    }
}
