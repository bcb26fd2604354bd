//! Carries single actions out: begins them, takes them up again, and ends them.

use std::sync::Arc;

use tokio::sync::mpsc;
use weir_analysis::alert::Transition;
use weir_analysis::alert::action::{Action, ScaleUpConfig};
use weir_analysis::time::Moment;
use weir_core::observation::LandmarkEvent;
use weir_core::policy::{Fallback, Throttle};
use weir_telemetry::notify::Notification;
use weir_telemetry::{ActionCounts, ActionFate};

use super::investigations::Investigations;
use super::ledger::{Begun, Key};
use super::notice;
use super::post::Post;
use super::replicas::Replicas;
use crate::regulator::Regulator;

/// What actions work on.
#[derive(Debug)]
pub(super) struct Hands {
    pub(super) regulator: Arc<Regulator>,
    pub(super) landmarks: mpsc::Sender<(LandmarkEvent, String)>,
    pub(super) counts: Arc<ActionCounts>,
    pub(super) replicas: Replicas,
    pub(super) post: Post,
    pub(super) investigations: Investigations,
}

/// Why something is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over<'a> {
    pub(super) at: Moment,
    /// That the alert has ceased to fire; `None`: the file does not ask for the action any more.
    pub(super) by: Option<&'a Transition>,
}

impl Hands {
    /// Begins an action. Says what became of it; an investigation counts itself when it is done.
    pub(super) fn begin(&mut self, key: &Key, action: &Action, told: &Notification) -> ActionFate {
        let done = match action {
            Action::Webhook(_) | Action::AlertmanagerPush(_) => self.post.send(&key.action, told.clone()),
            Action::Throttle { .. } => {
                self.resume(key, action, told);
                true
            }
            Action::FallbackModel { .. } => {
                self.resume(key, action, told);
                return ActionFate::NotAvailable;
            }
            Action::ScaleUp(config) => self.scale_up(key, config, told),
            // Handed over as a case, which knows more of the alert.
            Action::Investigate { .. } => true,
        };
        if !done {
            return ActionFate::Failed;
        }
        self.mark(LandmarkEvent::ActionFired, format!("{}: {}", key.alert, key.action));
        ActionFate::Begun
    }

    /// Has in force again what is to be while an alert fires. Nobody is called for it but an Alertmanager,
    /// which forgets what it does not hear of.
    pub(super) fn resume(&mut self, key: &Key, action: &Action, told: &Notification) {
        match action {
            Action::Throttle { model, to } => {
                let throttle = Throttle { model: model.clone(), to: *to };
                let changes = self.regulator.throttle(&key.to_string(), throttle);
                self.limits(key, &changes);
            }
            Action::FallbackModel { to, model } => {
                let fallback = Fallback { model: model.clone(), to: to.clone() };
                self.regulator.fall_back(&key.to_string(), fallback);
                tracing::warn!(
                    alert = %key.alert, action = %key.action, ?model, %to,
                    "a fallback model is set, but this version does not route requests by it"
                );
            }
            Action::ScaleUp(config) => self.replicas.ask(key, config),
            Action::AlertmanagerPush(_) => {
                self.post.send(&key.action, told.clone());
            }
            Action::Webhook(_) | Action::Investigate { .. } => {}
        }
    }

    /// Ends what was begun.
    pub(super) fn end(&mut self, key: &Key, begun: &Begun, over: Over<'_>) {
        match &begun.action {
            Action::Webhook(config) if !config.send_resolved => return,
            Action::Investigate { .. } => return,
            Action::Webhook(_) | Action::AlertmanagerPush(_) => {
                let resolved = notice::resolved(&begun.told, over.at, over.by);
                self.post.send(&key.action, resolved);
            }
            Action::Throttle { .. } => {
                let changes = self.regulator.release(&key.to_string());
                self.limits(key, &changes);
            }
            Action::FallbackModel { .. } => {
                self.regulator.release(&key.to_string());
                // It was never counted as begun.
                return;
            }
            Action::ScaleUp(_) => self.replicas.withdraw(key),
        }
        tracing::info!(alert = %key.alert, action = %key.action, "an action was ended");
        self.counts.count(&key.action, ActionFate::Ended);
    }

    /// Asks for more replicas, and calls the scaler if there is one. What cannot be called is not asked.
    fn scale_up(&mut self, key: &Key, config: &ScaleUpConfig, told: &Notification) -> bool {
        self.replicas.ask(key, config);
        let mut told = told.clone();
        if let Some(desired) = self.replicas.desired() {
            told.annotations.insert(notice::DESIRED_REPLICAS.to_owned(), desired.to_string());
        }
        let done = config.call.is_none() || self.post.send(&key.action, told);
        if !done {
            self.replicas.withdraw(key);
        }
        done
    }

    /// Tells which limits changed.
    fn limits(&self, key: &Key, changes: &[String]) {
        let (alert, action) = (&key.alert, &key.action);
        if changes.is_empty() {
            tracing::info!(%alert, %action, "no limit changed");
        }
        for change in changes {
            tracing::info!(%alert, %action, %change, "a limit changed");
            self.mark(LandmarkEvent::LimitChanged, format!("{change} ({alert}: {action})"));
        }
    }

    /// Where too much happens at once it is not told.
    fn mark(&self, event: LandmarkEvent, detail: String) {
        let _ = self.landmarks.try_send((event, detail));
    }
}
