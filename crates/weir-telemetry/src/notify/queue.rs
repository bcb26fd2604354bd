//! What waits for a target.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::counts::{Lost, TargetCounts};
use super::notification::Notification;

/// How many notifications may wait. For one more the oldest is dropped: what is new says how things are.
pub(super) const ROOM: usize = 256;

/// A bounded queue that keeps order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<Notification>>,
    bell: Notify,
}

impl Queue {
    pub(super) fn push(&self, notification: Notification, counts: &TargetCounts) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        counts.came();
        if waiting.len() >= ROOM && waiting.pop_front().is_some() {
            counts.lose(Lost::QueueFull);
        }
        waiting.push_back(notification);
        self.bell.notify_one();
    }

    pub(super) fn pop(&self) -> Option<Notification> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Waits until something may have come.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }
}
