//! The task of one target: it sends what waits, one after the other and in order.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_core::exchange::WallTime;

use super::NotifyOptions;
use super::counts::{Lost, TargetCounts};
use super::firing::Firing;
use super::http::{Http, Sent};
use super::notification::{Notification, Status};
use super::payload::Payload;
use super::queue::Queue;
use super::target::{Format, Target};
use crate::clock::{Clock, wall};
use crate::otlp::Backoff;
use crate::rate_limit::RateLimit;

/// An alert at an Alertmanager ends by itself after so many missed resends.
const MISSED_RESENDS: u32 = 4;

/// The far end of a target.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) target: Target,
    pub(super) options: NotifyOptions,
    pub(super) http: Http,
    pub(super) payload: Payload,
    pub(super) queue: Arc<Queue>,
    pub(super) counts: Arc<TargetCounts>,
    pub(super) firing: Arc<Mutex<Firing>>,
    pub(super) stopping: CancellationToken,
    pub(super) clock: Clock,
    pub(super) log: RateLimit,
}

impl Delivery {
    /// Sends until nothing more will come and nothing waits.
    pub(super) async fn run(mut self) {
        let mut resend = Instant::now() + self.options.resend;
        loop {
            if self.pushes() && Instant::now() >= resend && !self.stopping.is_cancelled() {
                self.resend().await;
                resend = Instant::now() + self.options.resend;
            }
            if let Some(notification) = self.queue.pop() {
                self.deliver(&notification).await;
            } else if self.stopping.is_cancelled() {
                return;
            } else {
                tokio::select! {
                    () = self.queue.rung() => {}
                    () = self.stopping.cancelled() => {}
                    () = tokio::time::sleep_until(resend), if self.pushes() => {}
                }
            }
        }
    }

    async fn deliver(&mut self, notification: &Notification) {
        if notification.status == Status::Resolved && !self.target.send_resolved && !self.pushes() {
            return self.counts.skip();
        }
        match self.tried(notification).await {
            Ok(()) => self.counts.went(),
            Err((lost, why)) => {
                self.counts.lose(lost);
                self.tell(&notification.alert, &why);
            }
        }
    }

    /// Tries until it is taken. A body is made anew for each attempt: it may say when it was sent.
    async fn tried(&mut self, notification: &Notification) -> Result<(), (Lost, String)> {
        let deadline = Instant::now() + self.options.deadline;
        let mut backoff = Backoff::default();
        for attempt in 0_u32.. {
            let body = self.body(std::slice::from_ref(notification));
            let body = body.map_err(|why| (Lost::Unrenderable, why))?;
            let (after, why) = match self.http.send(body).await {
                Sent::Taken => return Ok(()),
                Sent::Refused(why) => return Err((Lost::Refused, why)),
                Sent::Later { after, why } => (after, why),
            };
            let again = Instant::now() + backoff.next(after);
            if attempt >= self.target.max_retries || again > deadline {
                return Err((Lost::GaveUp, why));
            }
            tokio::time::sleep_until(again).await;
            self.counts.retry();
        }
        Err((Lost::GaveUp, "tried too often".to_owned()))
    }

    /// Tells an Alertmanager of all that still fires. Where that fails, the next time is soon enough.
    async fn resend(&mut self) {
        let all = self.firing.lock().unwrap_or_else(PoisonError::into_inner).all();
        if all.is_empty() {
            return;
        }
        let sent = match self.body(&all) {
            Ok(body) => self.http.send(body).await,
            Err(why) => Sent::Refused(why),
        };
        self.counts.resent(sent == Sent::Taken);
        if let Sent::Refused(why) | Sent::Later { why, .. } = sent {
            self.tell("all that fire", &why);
        }
    }

    fn body(&self, notifications: &[Notification]) -> Result<Bytes, String> {
        let now = wall();
        let lasting = (self.options.resend * MISSED_RESENDS).as_nanos();
        let until = now.0.saturating_add(u64::try_from(lasting).unwrap_or(u64::MAX));
        self.payload.body(notifications, now, WallTime(until))
    }

    fn pushes(&self) -> bool {
        self.target.format == Format::AlertmanagerPush
    }

    fn tell(&mut self, alert: &str, why: &str) {
        if let Some(held_back) = self.log.pass((self.clock)()) {
            let target = &*self.target.name;
            tracing::warn!(target_name = target, alert, why, held_back, "a notification was not delivered");
        }
    }
}
