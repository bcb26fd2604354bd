//! The two forms of Alertmanager: what it sends to webhooks (`notify/webhook`, version 4), and what its API
//! takes (`POST /api/v2/alerts`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use weir_core::exchange::WallTime;

use super::super::fingerprint::fingerprint;
use super::super::notification::{Notification, Status};
use super::{NO_TIME, written};

type Texts<'a> = BTreeMap<&'a str, &'a str>;

/// A message to a webhook. Each is a group of one alert, as with `group_by: ['...']`: what a receiver keeps
/// by the group's key is then kept by alert.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Webhook<'a> {
    version: &'static str,
    group_key: String,
    truncated_alerts: u64,
    status: Status,
    receiver: &'a str,
    group_labels: Texts<'a>,
    common_labels: Texts<'a>,
    common_annotations: Texts<'a>,
    #[serde(rename = "externalURL")]
    external_url: &'a str,
    alerts: [Alert<'a>; 1],
}

/// An alert in it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Alert<'a> {
    status: Status,
    labels: Texts<'a>,
    annotations: Texts<'a>,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: &'a str,
    fingerprint: String,
}

impl<'a> Webhook<'a> {
    pub(super) fn new(of: &'a Notification, receiver: &'a str, external_url: &'a str, now: WallTime) -> Self {
        let (labels, annotations) = (of.label_set(), of.all_annotations());
        let ends_at = match of.status {
            Status::Firing => NO_TIME.to_owned(),
            Status::Resolved => written(of.ends_at.unwrap_or(now)),
        };
        let alert = Alert {
            status: of.status,
            fingerprint: fingerprint(&labels),
            labels: labels.clone(),
            annotations: annotations.clone(),
            starts_at: written(of.starts_at),
            ends_at,
            generator_url: external_url,
        };
        Self {
            version: "4",
            group_key: group_key(&labels),
            truncated_alerts: 0,
            status: of.status,
            receiver,
            group_labels: labels.clone(),
            common_labels: labels,
            common_annotations: annotations,
            external_url,
            alerts: [alert],
        }
    }
}

/// The route, which is the root, and the labels of the group.
fn group_key(labels: &Texts<'_>) -> String {
    let mut key = "{}:{".to_owned();
    for (i, (name, value)) in labels.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(key, "{comma}{name}={value:?}");
    }
    key + "}"
}

/// An alert as the API takes it. Its label set is its identity.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pushed<'a> {
    labels: Texts<'a>,
    annotations: Texts<'a>,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL", skip_serializing_if = "str::is_empty")]
    generator_url: &'a str,
}

impl<'a> Pushed<'a> {
    /// One that fires ends at `until` unless it is sent again; one that is resolved has ended.
    pub(super) fn new(of: &'a Notification, external_url: &'a str, now: WallTime, until: WallTime) -> Self {
        let ends_at = match of.status {
            Status::Firing => until,
            Status::Resolved => of.ends_at.unwrap_or(now).min(now),
        };
        Self {
            labels: of.label_set(),
            annotations: of.all_annotations(),
            starts_at: written(of.starts_at),
            ends_at: written(ends_at),
            generator_url: external_url,
        }
    }
}
