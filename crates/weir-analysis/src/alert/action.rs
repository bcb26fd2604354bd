//! What an alert may have done: plain data, carried out elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_core::policy::ThrottleTo;

use super::secret::{Endpoint, Secret};

/// Names of actions that a rule may use although they are not set up. Then they are only logged.
pub const BUILT_IN: [&str; 5] =
    ["notify_team", "throttle_requests", "fallback_model", "scale_up", "investigate"];

/// An action as it is set up.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionConfig {
    /// What is done.
    pub action: Action,
    /// It is logged what would be done, and nothing is done.
    pub dry_run: bool,
    /// It is begun at most once in this time, for each alert.
    pub min_interval: Duration,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Something is posted to a web address.
    Webhook(WebhookConfig),
    /// The alert is pushed into an Alertmanager, by its API of version 2.
    AlertmanagerPush(PushConfig),
    /// A limit is lowered while the alert fires.
    Throttle {
        /// The model whose lane is lowered; `None`: the global one.
        model: Option<Box<str>>,
        /// To how much.
        to: ThrottleTo,
    },
    /// Requests go to another model while the alert fires.
    FallbackModel {
        /// The model that is asked instead.
        to: Box<str>,
        /// The model that is replaced; `None`: every one.
        model: Option<Box<str>>,
    },
    /// More replicas are asked for.
    ScaleUp(ScaleUpConfig),
    /// What was slow or failed is written down to be looked at.
    Investigate {
        /// How many exchanges at most.
        exchanges: usize,
    },
}

impl Action {
    /// The word that stands for it behind `type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::AlertmanagerPush(_) => "alertmanager",
            Self::Throttle { .. } => "throttle",
            Self::FallbackModel { .. } => "fallback_model",
            Self::ScaleUp(_) => "scale_up",
            Self::Investigate { .. } => "investigate",
        }
    }
}

/// How a web address is called.
#[derive(Clone, Debug, PartialEq)]
pub struct CallConfig {
    /// Where to.
    pub url: Endpoint,
    /// Headers that are sent, too.
    pub headers: BTreeMap<Box<str>, Secret>,
    /// What the body is signed with, if it is.
    pub secret: Option<Secret>,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How many further attempts are made.
    pub max_retries: u32,
}

/// A post to a web address.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookConfig {
    /// How it is called.
    pub call: CallConfig,
    /// What is posted.
    pub format: Format,
    /// Whether it is told that an alert is over, too.
    pub send_resolved: bool,
}

/// A push into an Alertmanager.
#[derive(Clone, Debug, PartialEq)]
pub struct PushConfig {
    /// How it is called. The address is that of the Alertmanager itself.
    pub call: CallConfig,
}

/// A wish for more replicas.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleUpConfig {
    /// How the scaler is called; `None`: the wish is only shown, for a scaler that reads it.
    pub call: Option<CallConfig>,
    /// What is posted.
    pub format: Format,
    /// How many more replicas are asked for at once.
    pub step: u32,
    /// How many are asked for at most; `None`: any number.
    pub max_replicas: Option<u32>,
}

/// What a post holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// What an Alertmanager sends to its webhooks, version 4.
    Alertmanager,
    /// A message for Slack and what understands the same.
    Slack,
    /// A template, filled in.
    Template(Box<str>),
}
