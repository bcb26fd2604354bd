//! A message to an incoming webhook of Slack.

use serde_json::{Value, json};

use super::super::notification::{Notification, Status};

/// Longer texts are cut; Slack folds them away anyhow.
const MAX_TEXT: usize = 1_000;

/// Labels beyond these are left out.
const MAX_FIELDS: usize = 20;

/// The message: a line for where only a line is shown, and an attachment with a colour.
pub(super) fn message(of: &Notification) -> Value {
    let status = match of.status {
        Status::Firing => "FIRING",
        Status::Resolved => "RESOLVED",
    };
    let title = format!("[{status}] {}", plain(&of.alert));
    let lines = [("", &of.summary), ("Condition: ", &of.condition), ("Value: ", &of.value)];
    let text: Vec<_> = lines
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(what, text)| format!("{what}{}", plain(text)))
        .collect();
    let text = text.join("\n");
    let fields: Vec<_> = of
        .labels
        .iter()
        .take(MAX_FIELDS)
        .map(|(name, value)| json!({"title": plain(name), "value": plain(value), "short": true}))
        .collect();
    let at = of.ends_at.filter(|_| of.status == Status::Resolved).unwrap_or(of.starts_at);
    json!({
        "text": title,
        "attachments": [{
            "color": colour(of),
            "fallback": format!("{title}: {}", plain(&of.summary)),
            "text": text,
            "fields": fields,
            "ts": at.0 / 1_000_000_000,
        }],
    })
}

fn colour(of: &Notification) -> &'static str {
    match (of.status, &*of.severity) {
        (Status::Resolved, _) => "good",
        (Status::Firing, "critical" | "page" | "error") => "danger",
        (Status::Firing, "info" | "none") => "#439fe0",
        (Status::Firing, _) => "warning",
    }
}

/// What is said, with nothing in it that Slack would take for a link or a mention.
fn plain(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
