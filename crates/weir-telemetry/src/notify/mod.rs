//! Tells the outside world over HTTP when an alert fires and when it is resolved.
//!
//! All of it runs on a thread of its own with a small runtime of its own. Every target has a queue and a
//! task: a slow one delays no other, and nobody who hands a notification over ever waits.
//! `docs/notifications.md` describes what is sent.

mod counts;
mod delivery;
mod fingerprint;
mod firing;
mod http;
mod notification;
mod payload;
mod queue;
mod secret;
mod target;

pub use counts::{Lost, TargetCounts};
pub use notification::{Notification, Status};
pub use secret::Secret;
pub use target::{Format, Target, TargetError};

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::rate_limit::RateLimit;
use delivery::Delivery;
use firing::Firing;
use queue::Queue;

/// What all targets share.
#[derive(Clone, Debug)]
pub struct NotifyOptions {
    /// Where people see Weir: goes into payloads as the link to the source. Empty where there is none.
    pub external_url: String,
    /// How often an Alertmanager is told again of what still fires. It takes an alert for resolved when it
    /// has heard nothing for four times as long.
    pub resend: Duration,
    /// No notification is tried for longer than this.
    pub deadline: Duration,
}

impl Default for NotifyOptions {
    fn default() -> Self {
        let external_url = String::new();
        Self { external_url, resend: Duration::from_secs(60), deadline: Duration::from_secs(300) }
    }
}

/// The near end of all targets.
#[derive(Debug)]
pub struct Notifier {
    options: NotifyOptions,
    clock: Clock,
    lanes: BTreeMap<Box<str>, Lane>,
    tasks: TaskTracker,
    runtime: Handle,
    /// Ends the thread, whatever it does.
    abandon: DropGuard,
    /// Told by the thread, by dropping its end, when it has ended.
    done: oneshot::Receiver<()>,
}

/// The near end of one target.
#[derive(Debug)]
struct Lane {
    target: Target,
    queue: Arc<Queue>,
    counts: Arc<TargetCounts>,
    firing: Arc<Mutex<Firing>>,
    /// Nothing more will come: the task ends when its queue is empty.
    stopping: CancellationToken,
}

impl Lane {
    /// Keeps in mind what fires at an Alertmanager. That is done here rather than where it is sent, so that a
    /// task which ends cannot bring back what has been resolved since.
    fn note(&self, notification: &Notification) {
        if self.target.format != Format::AlertmanagerPush {
            return;
        }
        let mut firing = self.firing.lock().unwrap_or_else(PoisonError::into_inner);
        if !firing.note(notification) {
            self.counts.leave_out();
        }
    }
}

impl Notifier {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When there can be no thread, or a target cannot be sent to at all.
    pub fn start(targets: Vec<Target>, options: NotifyOptions, clock: Clock) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (tasks, abandoned) = (TaskTracker::new(), CancellationToken::new());
        let (ended, done) = oneshot::channel();
        let mut notifier = Self {
            options,
            clock,
            lanes: BTreeMap::new(),
            tasks: tasks.clone(),
            runtime: runtime.handle().clone(),
            abandon: abandoned.clone().drop_guard(),
            done,
        };
        if let Err(error) = notifier.replace(targets) {
            // Dropping it would wait, which is not allowed within another runtime.
            runtime.shutdown_background();
            return Err(io::Error::other(error));
        }
        std::thread::Builder::new().name("weir notify".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = tasks.wait() => {}
                    () = abandoned.cancelled() => {}
                }
            });
            drop(runtime);
            drop(ended);
        })?;
        Ok(notifier)
    }

    /// Changes the targets. One that stays as it is keeps its queue; one that goes or changes is still sent
    /// what waits for it. Counts, and what fires at an Alertmanager, go by the name.
    ///
    /// # Errors
    ///
    /// When a target cannot be sent to at all; then nothing changes.
    pub fn replace(&mut self, targets: Vec<Target>) -> Result<(), TargetError> {
        let mut begun = Vec::new();
        let mut lanes = BTreeMap::new();
        for target in targets {
            let earlier = self.lanes.get(&target.name);
            if lanes.contains_key(&target.name) {
                return Err(TargetError::twice(&target.name));
            }
            if earlier.is_some_and(|lane| lane.target == target) {
                lanes.insert(target.name.clone(), None);
                continue;
            }
            let (lane, delivery) = self.lane(target, earlier)?;
            lanes.insert(lane.target.name.clone(), Some(lane));
            begun.push(delivery);
        }
        let mut earlier = std::mem::take(&mut self.lanes);
        for (name, lane) in lanes {
            if let Some(lane) = lane.or_else(|| earlier.remove(&name)) {
                self.lanes.insert(name, lane);
            }
        }
        earlier.into_values().for_each(|lane| lane.stopping.cancel());
        for delivery in begun {
            self.tasks.spawn_on(delivery.run(), &self.runtime);
        }
        Ok(())
    }

    fn lane(&self, target: Target, earlier: Option<&Lane>) -> Result<(Lane, Delivery), TargetError> {
        let counts = earlier.map(|lane| Arc::clone(&lane.counts)).unwrap_or_default();
        let firing = earlier.map(|lane| Arc::clone(&lane.firing)).unwrap_or_default();
        let (queue, stopping) = (Arc::<Queue>::default(), CancellationToken::new());
        let delivery = Delivery {
            http: http::Http::new(&target)?,
            payload: payload::Payload::new(&target, &self.options)?,
            target: target.clone(),
            options: self.options.clone(),
            queue: Arc::clone(&queue),
            counts: Arc::clone(&counts),
            firing: Arc::clone(&firing),
            stopping: stopping.clone(),
            clock: self.clock,
            log: RateLimit::default(),
        };
        Ok((Lane { target, queue, counts, firing, stopping }, delivery))
    }

    /// Hands a notification over to a target. Never waits: where too many wait, the oldest is dropped, and
    /// counted. False where there is no such target.
    pub fn send(&self, target: &str, notification: Notification) -> bool {
        let Some(lane) = self.lanes.get(target) else { return false };
        lane.note(&notification);
        lane.queue.push(notification, &lane.counts);
        true
    }

    /// What became of notifications, by target.
    pub fn counts(&self) -> impl Iterator<Item = (&str, &Arc<TargetCounts>)> {
        self.lanes.iter().map(|(name, lane)| (&**name, &lane.counts))
    }

    /// Waits until everything is sent, but not for longer than `limit`.
    pub async fn finish(self, limit: Duration) {
        let Self { lanes, tasks, abandon, mut done, .. } = self;
        lanes.values().for_each(|lane| lane.stopping.cancel());
        tasks.close();
        if tokio::time::timeout(limit, &mut done).await.is_err() {
            drop(abandon);
            let _ = tokio::time::timeout(limit, done).await;
        }
        for (target, lane) in lanes {
            let lost = lane.counts.shut_down();
            if lost > 0 {
                tracing::warn!(%target, lost, "notifications were not sent in time");
            }
        }
    }
}
