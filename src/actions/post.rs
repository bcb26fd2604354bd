//! Where notifications are handed over. Their thread is started when there is somebody to tell.

use std::sync::Arc;
use std::time::Duration;

use weir_telemetry::ActionCounts;
use weir_telemetry::clock::Clock;
use weir_telemetry::notify::{Notification, Notifier, NotifyOptions, Target};

/// The near end of all targets.
#[derive(Debug)]
pub(super) struct Post {
    options: NotifyOptions,
    clock: Clock,
    counts: Arc<ActionCounts>,
    notifier: Option<Notifier>,
}

impl Post {
    /// Nobody is to be told of anything yet.
    pub(super) const fn new(options: NotifyOptions, clock: Clock, counts: Arc<ActionCounts>) -> Self {
        Self { options, clock, counts, notifier: None }
    }

    /// Other targets hold from now on. Each was checked before.
    pub(super) fn replace(&mut self, targets: Vec<Target>) {
        let replaced = match &mut self.notifier {
            Some(notifier) => notifier.replace(targets).map_err(|error| error.to_string()),
            None if targets.is_empty() => Ok(()),
            None => Notifier::start(targets, self.options.clone(), self.clock)
                .map(|notifier| self.notifier = Some(notifier))
                .map_err(|error| error.to_string()),
        };
        if let Err(error) = replaced {
            tracing::error!(error, "the targets of notifications stay as they were");
        }
        let told = self.notifier.iter().flat_map(Notifier::counts);
        self.counts.set_targets(told.map(|(name, counts)| (name.into(), Arc::clone(counts))).collect());
    }

    /// Hands a notification over, and never waits. False where there is no such target.
    pub(super) fn send(&self, target: &str, notification: Notification) -> bool {
        self.notifier.as_ref().is_some_and(|notifier| notifier.send(target, notification))
    }

    /// Waits until all is sent, but not for longer than `limit`.
    pub(super) async fn finish(self, limit: Duration) {
        if let Some(notifier) = self.notifier {
            notifier.finish(limit).await;
        }
    }
}
