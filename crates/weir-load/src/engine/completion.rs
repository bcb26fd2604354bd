//! Answers that are generated, streamed or whole, whichever API they are written in.

use std::sync::Arc;

use http::header::CONTENT_ENCODING;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};

use super::Shared;
use super::api::Api;
use super::api::script::Request;
use super::ask::{Ask, MAX_TOKENS};
use super::batch::Cached;
use super::call::{Call, refused};
use super::events::Events;
use super::faults::Fault;
use super::generation::Generation;
use super::http::{Answer, response};
use super::pace::Pace;
use super::pack::Packer;
use super::playback::{Break, Playback};
use super::record::Record;
use super::refusal::Refusal;
use super::whole::Whole;
use crate::truth::{StreamEnd, StreamTruth};

/// A request that can be served.
struct Prepared {
    request: Request,
    /// Chooses the words.
    wording: u64,
    packer: Packer,
}

/// Answers a request.
pub(crate) async fn answer(shared: &Shared, call: Call, api: Api) -> Response<Answer> {
    match shared.prepare(&call, api) {
        Ok(prepared) if prepared.request.ask.stream => streamed(shared, call, api, prepared).await,
        Ok(prepared) => whole(shared, call, prepared).await,
        Err(refusal) => refused(call.visit, &refusal, call.shape),
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

    /// The model that answers a request that names none.
    pub(crate) fn model(&self) -> &str {
        self.config.models.first().map_or("", String::as_str)
    }

    /// Tokens of a prompt and its answer together, at most.
    pub(crate) fn context(&self) -> u64 {
        self.config.batching.as_ref().map_or(MAX_TOKENS, |batching| u64::from(batching.context()))
    }

    fn prepare(&self, call: &Call, api: Api) -> Result<Prepared, Refusal> {
        let packer = Packer::read(&call.headers)?;
        let Request { ask, script } = api.read(call, self.model())?;
        self.knows(&ask.model)?;
        let wording = ask.wording(call.draw.wording);
        let ask = self.scheduler.fit(ask, wording)?;
        Ok(Prepared { request: Request { ask, script }, wording, packer })
    }
}

async fn streamed(shared: &Shared, call: Call, api: Api, prepared: Prepared) -> Response<Answer> {
    let Prepared { request: Request { ask, script }, wording, packer } = prepared;
    let truth = StreamTruth {
        id: call.draw.id.clone(),
        t_first_byte: call.received_ns.0,
        t_request: call.received_ns.1,
        spec: spec(&call, api, &ask),
        end: StreamEnd::Gone,
        t_end: 0,
        writes: Vec::new(),
        batch: None,
    };
    let fails_at = match call.fault {
        Some(Fault::Error { at }) => Some(at),
        _ => None,
    };
    let media = script.media();
    let coding = packer.header();
    let cached = Cached::default();
    let pace = Pace::new(&call.behaviour, call.draw.gaps);
    let turn = shared.scheduler.enter(&ask, wording, cached.clone(), pace).await;
    let events = Events::new(Generation::new(ask, wording, cached), script, fails_at);
    let complete = if fails_at.is_some() { StreamEnd::Injected } else { StreamEnd::Ok };
    let total = events.total();
    let breaks = call.fault.and_then(Break::of).map(|(at, how)| (at.min(total), how));
    // The head goes out at once, as vLLM's does: only the events wait.
    call.link.arm();
    let file = shared.truth.as_ref().map(Arc::clone);
    let mut record = Record::begin(call.link, call.visit, file, truth, (total, complete));
    if let Some(progress) = turn.progress() {
        record.follow(progress);
    }
    let playback = Playback { events, turn, packer, breaks, record };
    let body = StreamBody::new(playback.into_stream()).boxed_unsync();
    let mut response = response(StatusCode::OK, media, body);
    response.headers_mut().extend(coding.map(|coding| (CONTENT_ENCODING, coding)));
    response
}

async fn whole(shared: &Shared, call: Call, prepared: Prepared) -> Response<Answer> {
    let Prepared { request: Request { ask, mut script }, wording, packer } = prepared;
    let last_token = ask.tokens - 1;
    let cached = Cached::default();
    let pace = Pace::new(&call.behaviour, call.draw.gaps);
    let turn = shared.scheduler.enter(&ask, wording, cached.clone(), pace).await;
    let generation = Generation::new(ask, wording, cached);
    let whole = Whole {
        turn,
        link: call.link,
        visit: call.visit,
        fault: call.fault,
        shape: call.shape,
        media: script.whole_media(),
        packer,
    };
    whole.answer(last_token, || script.whole(&generation)).await
}

/// The stream's shape in words, for whoever reads the truth.
fn spec(call: &Call, api: Api, ask: &Ask) -> String {
    let fault = call.fault.map(|fault| format!(" fault={fault}")).unwrap_or_default();
    format!(
        "{} n={} choices={} per_chunk={} ttft={}us tps={} interval={:?} role={:?}{fault}",
        api.name(),
        ask.tokens,
        ask.choices,
        call.behaviour.tokens_per_chunk,
        call.behaviour.ttft.as_micros(),
        call.behaviour.tps,
        call.behaviour.interval,
        call.behaviour.role,
    )
}
