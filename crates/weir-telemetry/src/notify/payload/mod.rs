//! What is sent, in each of the formats.

mod alertmanager;
mod plain;
mod slack;
mod template;

use bytes::Bytes;
use weir_core::exchange::WallTime;

use super::NotifyOptions;
use super::notification::Notification;
use super::target::{Format, Target, TargetError};
use crate::clock::rfc3339;
use template::Template;

/// What stands behind the URL of an Alertmanager.
pub(super) const PUSH_PATH: &str = "/api/v2/alerts";

/// A longer body is not sent, but for the list of all that fires.
const MAX_BODY: usize = 256 * 1024;

/// `time.Time` of Go when nothing was set; Alertmanager's way to write that an alert has no end.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// Makes bodies.
#[derive(Debug)]
pub(super) struct Payload {
    receiver: Box<str>,
    external_url: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Webhook,
    Push,
    Slack,
    Plain,
    Template(Box<Template>),
}

impl Payload {
    /// Compiles the template, if there is one.
    pub(super) fn new(target: &Target, options: &NotifyOptions) -> Result<Self, TargetError> {
        let kind = match &target.format {
            Format::AlertmanagerWebhook => Kind::Webhook,
            Format::AlertmanagerPush => Kind::Push,
            Format::Slack => Kind::Slack,
            Format::Json => Kind::Plain,
            Format::Template(source) => {
                let template = Template::compile(source.clone()).map_err(|why| target.error(why))?;
                Kind::Template(Box::new(template))
            }
        };
        Ok(Self { receiver: target.name.clone(), external_url: options.external_url.clone(), kind })
    }

    /// The body for notifications: one, but where an Alertmanager is told of all that fires. `until` is when
    /// such an Alertmanager is to take them for resolved.
    pub(super) fn body(
        &self,
        notifications: &[Notification],
        now: WallTime,
        until: WallTime,
    ) -> Result<Bytes, String> {
        let first = notifications.first().ok_or("nothing to tell")?;
        let body = match &self.kind {
            Kind::Push => {
                let alerts = notifications.iter();
                let alerts: Vec<_> = alerts
                    .map(|one| alertmanager::Pushed::new(one, &self.external_url, now, until))
                    .collect();
                return serde_json::to_vec(&alerts).map(Bytes::from).map_err(|error| error.to_string());
            }
            Kind::Webhook => {
                let webhook = alertmanager::Webhook::new(first, &self.receiver, &self.external_url, now);
                serde_json::to_vec(&webhook)
            }
            Kind::Slack => serde_json::to_vec(&slack::message(first)),
            Kind::Plain => serde_json::to_vec(&plain::Plain::new(first, &self.receiver)),
            Kind::Template(template) => {
                Ok(template.render(&plain::Plain::new(first, &self.receiver), MAX_BODY)?)
            }
        };
        let body = body.map_err(|error| error.to_string())?;
        if body.len() > MAX_BODY {
            return Err(format!("longer than {MAX_BODY} bytes"));
        }
        Ok(body.into())
    }
}

/// A year of five digits cannot be written, and is none that a clock gives.
fn written(time: WallTime) -> String {
    rfc3339(time).unwrap_or_else(|| NO_TIME.to_owned())
}
