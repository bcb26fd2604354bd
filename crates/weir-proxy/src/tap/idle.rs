//! The idle timeout: how long the upstream may send nothing.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};
use weir_core::timeline::{Offset, Stamp};

/// A timer that each frame starts anew at the cost of a store: it is set once, and only when it
/// rings does it look at how long ago the last frame came.
#[derive(Debug)]
pub(crate) struct Idle {
    limit: Duration,
    timer: Pin<Box<Sleep>>,
    last: Stamp,
    /// Whether anything came since the timer was last looked at.
    touched: bool,
    /// The timer does not ring before this.
    rings: Stamp,
    /// Who is woken when the timer rings.
    registered: Option<Waker>,
}

impl Idle {
    pub(crate) fn new(limit: Duration, now: Stamp) -> Self {
        Self {
            limit,
            timer: Box::pin(sleep(limit)),
            last: now,
            touched: false,
            rings: now.plus(limit.into()),
            registered: None,
        }
    }

    /// Something came.
    pub(crate) fn touch(&mut self, now: Stamp) {
        self.last = now;
        self.touched = true;
    }

    /// Ready once nothing has come for the limit. `now` is read only when the timer rings.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, now: impl Fn() -> Stamp) -> Poll<()> {
        let touched = std::mem::take(&mut self.touched);
        let waits = self.registered.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        // Woken by what came before the timer could ring: it lies elsewhere in memory, and need not
        // be looked at.
        if waits && ((touched && self.last < self.rings) || !self.timer.is_elapsed()) {
            return Poll::Pending;
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = now();
            let silent = now.since(self.last);
            let left = Offset::from(self.limit).0.saturating_sub(silent.0);
            if left == 0 {
                return Poll::Ready(());
            }
            self.rings = now.plus(Offset(left));
            self.timer.as_mut().reset(Instant::now() + Duration::from_nanos(left));
        }
        self.registered = Some(cx.waker().clone());
        Poll::Pending
    }
}
