//! Chat and text completions, streamed or whole.

use std::sync::Arc;

use http::{Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};

use super::Shared;
use super::ask::{Api, Ask};
use super::call::{Call, refused};
use super::events::Events;
use super::faults::Fault;
use super::generation::Generation;
use super::http::{Answer, response};
use super::pace::Pace;
use super::playback::{Break, Playback};
use super::record::Record;
use super::refusal::Refusal;
use super::render;
use super::whole::Whole;
use crate::truth::{StreamEnd, StreamTruth};

/// Answers a completion request.
pub(crate) async fn answer(shared: &Shared, call: Call, api: Api) -> Response<Answer> {
    let default_model = shared.config.models.first().map_or("", String::as_str);
    let ask = Ask::parse(api, &call.body, &call.behaviour, default_model)
        .and_then(|ask| shared.knows(&ask.model).map(|()| ask));
    match ask {
        Ok(ask) if ask.stream => streamed(shared, call, ask),
        Ok(ask) => whole(shared, call, ask).await,
        Err(refusal) => refused(call.visit, &refusal),
    }
}

impl Shared {
    /// Whether a model of that name is served.
    pub(crate) fn knows(&self, model: &str) -> Result<(), Refusal> {
        if self.config.strict_models && !self.config.models.iter().any(|known| known == model) {
            return Err(Refusal::model_not_found(model));
        }
        Ok(())
    }
}

fn streamed(shared: &Shared, call: Call, ask: Ask) -> Response<Answer> {
    let turn = shared.scheduler.enter();
    let truth = StreamTruth {
        id: call.draw.id.clone(),
        t_first_byte: call.received_ns.0,
        t_request: call.received_ns.1,
        spec: spec(&call, &ask),
        end: StreamEnd::Gone,
        t_end: 0,
        writes: Vec::new(),
    };
    let fails_at = match call.fault {
        Some(Fault::Error { at }) => Some(at),
        _ => None,
    };
    let pace = Pace::new(&call.behaviour, call.draw.gaps);
    let generation = generation(ask, &call.draw.id, call.draw.wording);
    let events = Events::new(generation, pace, call.behaviour.role, fails_at);
    let complete = if fails_at.is_some() { StreamEnd::Injected } else { StreamEnd::Ok };
    let total = events.total();
    let breaks = call.fault.and_then(Break::of).map(|(at, how)| (at.min(total), how));
    // The head goes out at once, as vLLM's does: only the events wait.
    call.link.arm();
    let file = shared.truth.as_ref().map(Arc::clone);
    let record = Record::begin(call.link, call.visit, file, truth, (total, complete));
    let playback = Playback { events, turn, breaks, record };
    let body = StreamBody::new(playback.into_stream()).boxed_unsync();
    response(StatusCode::OK, "text/event-stream; charset=utf-8", body)
}

async fn whole(shared: &Shared, call: Call, ask: Ask) -> Response<Answer> {
    let turn = shared.scheduler.enter();
    let last_token = ask.tokens - 1;
    let due = Pace::new(&call.behaviour, call.draw.gaps).due(last_token);
    let bytes = render::whole(&generation(ask, &call.draw.id, call.draw.wording));
    let whole = Whole { turn, link: call.link, visit: call.visit, fault: call.fault };
    whole.answer(bytes, due).await
}

fn generation(ask: Ask, id: &str, wording: u64) -> Generation {
    let prefix = match ask.api {
        Api::Chat => "chatcmpl",
        Api::Completions => "cmpl",
    };
    Generation { ask, id: format!("{prefix}-{id}"), wording }
}

/// The stream's shape in words, for whoever reads the truth.
fn spec(call: &Call, ask: &Ask) -> String {
    let api = match ask.api {
        Api::Chat => "chat",
        Api::Completions => "completions",
    };
    let fault = call.fault.map(|fault| format!(" fault={fault}")).unwrap_or_default();
    format!(
        "{api} n={} choices={} per_chunk={} ttft={}us tps={} interval={:?} role={:?}{fault}",
        ask.tokens,
        ask.choices,
        ask.tokens_per_chunk,
        call.behaviour.ttft.as_micros(),
        call.behaviour.tps,
        call.behaviour.interval,
        call.behaviour.role,
    )
}
