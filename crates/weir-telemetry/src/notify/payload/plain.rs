//! A notification as it is; also what templates see.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::notification::{Notification, Status};
use super::written;

/// The fields by their names.
#[derive(Debug, Serialize)]
pub(super) struct Plain<'a> {
    receiver: &'a str,
    alert: &'a str,
    status: Status,
    severity: &'a str,
    summary: &'a str,
    condition: &'a str,
    value: &'a str,
    labels: &'a BTreeMap<String, String>,
    annotations: &'a BTreeMap<String, String>,
    starts_at: String,
    /// `null` while it fires.
    ends_at: Option<String>,
}

impl<'a> Plain<'a> {
    pub(super) fn new(notification: &'a Notification, receiver: &'a str) -> Self {
        Self {
            receiver,
            alert: &notification.alert,
            status: notification.status,
            severity: &notification.severity,
            summary: &notification.summary,
            condition: &notification.condition,
            value: &notification.value,
            labels: &notification.labels,
            annotations: &notification.annotations,
            starts_at: written(notification.starts_at),
            ends_at: notification.ends_at.map(written),
        }
    }
}
