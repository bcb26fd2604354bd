//! The API: what is known, in JSON, and commands to alerts.

mod alerts;
mod body;
mod exchanges;
mod query;
mod schema;
mod snapshot;

pub use schema::snapshot_schema;

use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;

use crate::refusal::Refusal;
use crate::reply::{self, Body, events, json, written};
use crate::server::Visit;
use crate::stream;

/// Answers a request for something under `/api`.
pub(crate) async fn answer(request: Request<Incoming>, visit: &Visit) -> Result<Response<Body>, Refusal> {
    let (head, body) = request.into_parts();
    let surface = &visit.surface;
    surface.guard.admit(&head)?;
    let path = head.uri.path().strip_prefix("/api/").ok_or(Refusal::NotFound)?;
    if let Some(target) = path.strip_prefix("alerts/") {
        let command = alerts::command(target, &head, body).await?;
        alerts::carry_out(command, &surface.handles).await?;
        return Ok(reply::done());
    }
    let answer = Answer::of(path).ok_or(Refusal::NotFound)?;
    if head.method != Method::GET && head.method != Method::HEAD {
        return Err(Refusal::Method("GET, HEAD"));
    }
    let newest = Arc::clone(&surface.handles.snapshot.borrow());
    match answer {
        Answer::Snapshot => surface.rendered.json().map(json),
        Answer::Stream => stream::begin(visit).map(events),
        Answer::Exchanges => {
            let filter = query::filter(head.uri.query().unwrap_or_default(), newest.at)?;
            written(&exchanges::list(filter, &surface.handles).await?)
        }
        Answer::InFlight => written(&snapshot::in_flight(&newest)),
        Answer::Slo => written(&snapshot::slo(&newest)),
        Answer::Alerts => written(&snapshot::alerts(&newest)),
        Answer::Schema => Ok(json(snapshot_schema().into())),
    }
}

/// What can be had.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Snapshot,
    Stream,
    Exchanges,
    InFlight,
    Slo,
    Alerts,
    Schema,
}

impl Answer {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "snapshot" => Self::Snapshot,
            "stream" => Self::Stream,
            "exchanges" => Self::Exchanges,
            "inflight" => Self::InFlight,
            "slo" => Self::Slo,
            "alerts" => Self::Alerts,
            "schema" => Self::Schema,
            _ => return None,
        })
    }
}
