//! `/api/alerts/{name}/…`: commands to alerts.

use std::time::Duration;

use http::Method;
use http::request::Parts;
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use weir_analysis::api::AlertCommand;

use super::body::read;
use crate::handles::{AdminHandles, ask};
use crate::refusal::Refusal;

/// The longest silence.
const MAX_SILENCE: Duration = Duration::from_secs(30 * 86_400);

/// The longest note, in bytes.
const MAX_NOTE: usize = 1_024;

/// No alert has a longer name.
const MAX_NAME: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Silence {
    r#for: Length,
}

/// A length of time: a number of seconds, or text such as `2h 30m`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Length {
    Seconds(f64),
    Text(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unsilence {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Acknowledgement {
    #[serde(default)]
    note: String,
}

/// The command that a request to `{name}/{what}` gives.
pub(super) async fn command(target: &str, head: &Parts, body: Incoming) -> Result<AlertCommand, Refusal> {
    let (name, what) = target.split_once('/').ok_or(Refusal::NotFound)?;
    let alert = percent_decode_str(name).decode_utf8().map_err(|_| Refusal::NotFound)?;
    let known = matches!(what, "silence" | "unsilence" | "acknowledge");
    if !known || !(1..=MAX_NAME).contains(&alert.len()) {
        return Err(Refusal::NotFound);
    }
    if head.method != Method::POST {
        return Err(Refusal::Method("POST"));
    }
    let alert = alert.into_owned();
    Ok(match what {
        "silence" => {
            let Silence { r#for } = read(&head.headers, body).await?;
            AlertCommand::Silence { alert, length: r#for.read()? }
        }
        "unsilence" => {
            let Unsilence {} = read(&head.headers, body).await?;
            AlertCommand::Unsilence { alert }
        }
        _ => {
            let Acknowledgement { note } = read(&head.headers, body).await?;
            if note.len() > MAX_NOTE {
                return Err(Refusal::Body(format!("note: longer than {MAX_NOTE} bytes")));
            }
            AlertCommand::Acknowledge { alert, note }
        }
    })
}

/// Has a command carried out.
pub(super) async fn carry_out(command: AlertCommand, handles: &AdminHandles) -> Result<(), Refusal> {
    ask(&handles.alerts, command).await.map_err(Refusal::Unanswered)?.map_err(Refusal::Command)
}

impl Length {
    fn read(self) -> Result<Duration, Refusal> {
        let length = match self {
            Self::Seconds(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            Self::Text(text) => humantime::parse_duration(&text).ok(),
        };
        let allowed = length.filter(|length| !length.is_zero() && *length <= MAX_SILENCE);
        allowed.ok_or_else(|| {
            Refusal::Body("for: has to be a length of time such as \"2h\", or seconds, up to 30 days".into())
        })
    }
}
