//! What is counted in the words of OpenTelemetry's semantic conventions: for OTLP only.

mod genai;
mod http;

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::exchange::Exchange;

use super::labels::{LabelId, Labels};
use super::snapshot::{Label, Snapshot};
use crate::config::{Scheme, UpstreamFacts};
use genai::GenAi;
use http::Http;

/// The metrics of the conventions.
#[derive(Debug)]
pub(super) struct Conventions {
    servers: BTreeMap<LabelId, Server>,
    response_models: Labels,
    genai: GenAi,
    http: Http,
}

/// What is said of an upstream.
#[derive(Debug)]
struct Server {
    provider: Option<Arc<str>>,
    address: Arc<str>,
    port: u16,
}

/// The texts that keys stand for.
#[derive(Debug)]
struct Names<'a> {
    request_models: &'a Labels,
    response_models: &'a Labels,
    servers: &'a BTreeMap<LabelId, Server>,
}

impl Conventions {
    /// No observations. `upstreams` gives the upstreams their ids, `max_models` bounds the models that
    /// answers name.
    pub(super) fn new(
        facts: &[UpstreamFacts],
        scheme: Scheme,
        upstreams: &mut Labels,
        max_models: usize,
    ) -> Self {
        let server = |facts: &UpstreamFacts| Server {
            provider: facts.provider.as_deref().map(Into::into),
            address: Arc::from(&*facts.address),
            port: facts.port,
        };
        let servers = facts.iter().map(|facts| (upstreams.id(Some(&facts.name), true), server(facts)));
        Self {
            servers: servers.collect(),
            response_models: Labels::new([], max_models),
            genai: GenAi::default(),
            http: Http::new(scheme),
        }
    }

    /// Counts an exchange, of this model at this upstream.
    pub(super) fn add(&mut self, exchange: &Exchange, model: LabelId, upstream: LabelId) {
        let named = |model: &Option<Box<str>>| model.as_ref().is_some_and(|model| !model.is_empty());
        let answer = &exchange.answer.model;
        let response_model = named(answer).then(|| self.response_models.id(answer.as_deref(), true));
        let request_model = named(&exchange.request.model).then_some(model);
        self.genai.add(exchange, upstream, request_model, response_model);
        self.http.add(exchange, upstream);
    }

    /// Adds every metric of the conventions to a snapshot. `request_models` knows the models.
    pub(super) fn write(&self, snapshot: &mut Snapshot, request_models: &Labels) {
        let names = Names { request_models, response_models: &self.response_models, servers: &self.servers };
        self.genai.write(snapshot, &names);
        self.http.write(snapshot, &names);
    }
}

impl Names<'_> {
    /// Whose kind of API the upstream has: what is said of it, else what the dialect tells.
    fn provider(&self, upstream: LabelId, told: &'static str) -> Label {
        let server = self.servers.get(&upstream);
        server.and_then(|server| server.provider.as_ref()).map_or(told.into(), Into::into)
    }

    /// The address and the port, where the upstream is known.
    fn server(&self, upstream: LabelId) -> [Label; 2] {
        match self.servers.get(&upstream) {
            Some(server) => [(&server.address).into(), server.port.into()],
            None => [Label::Absent, Label::Absent],
        }
    }

    fn request_model(&self, model: Option<LabelId>) -> Label {
        model.map(|model| self.request_models.name(model)).into()
    }

    fn response_model(&self, model: Option<LabelId>) -> Label {
        model.map(|model| self.response_models.name(model)).into()
    }
}
