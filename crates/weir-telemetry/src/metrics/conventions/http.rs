//! HTTP requests, those of clients to Weir and those of Weir to upstreams.

use weir_core::exchange::{Exchange, HttpVersion};
use weir_core::timeline::Mark;

use super::Names;
use crate::config::Scheme;
use crate::metrics::bounds::HTTP_SECONDS;
use crate::metrics::capped::Capped;
use crate::metrics::histogram::Histogram;
use crate::metrics::labels::LabelId;
use crate::metrics::snapshot::{Label, Snapshot};
use crate::names;
use crate::semconv::{self, Side};

/// Requests by what is said of them.
#[derive(Debug)]
pub(super) struct Http {
    scheme: Scheme,
    server: Capped<ServerKey, Histogram>,
    client: Capped<ClientKey, Histogram>,
}

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ServerKey {
    method: &'static str,
    status: Option<u16>,
    route: Option<&'static str>,
    version: HttpVersion,
    error: Option<&'static str>,
}

/// A request to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClientKey {
    method: &'static str,
    upstream: LabelId,
    status: Option<u16>,
    error: Option<&'static str>,
}

impl Http {
    /// No requests. Clients speak `scheme`.
    pub(super) const fn new(scheme: Scheme) -> Self {
        Self { scheme, server: Capped::new(), client: Capped::new() }
    }

    /// Counts an exchange; as a request to an upstream only if it was sent.
    pub(super) fn add(&mut self, exchange: &Exchange, upstream: LabelId) {
        let request = &exchange.request;
        let method = semconv::method(&request.method);
        let key = ServerKey {
            method,
            status: semconv::status(exchange, Side::Server),
            route: semconv::route(request.dialect, &request.path),
            version: request.http,
            error: semconv::error_type(exchange, Side::Server),
        };
        let seconds = || Histogram::new(HTTP_SECONDS);
        self.server.of(key, seconds).observe(exchange.duration().as_secs_f64());
        if let Some(duration) = exchange.timeline.between(Mark::Dispatched, Mark::Ended) {
            let status = semconv::status(exchange, Side::Client);
            let error = semconv::error_type(exchange, Side::Client);
            let key = ClientKey { method, upstream, status, error };
            self.client.of(key, seconds).observe(duration.as_secs_f64());
        }
    }

    /// Adds the metrics to a snapshot.
    pub(super) fn write(&self, snapshot: &mut Snapshot, names: &Names<'_>) {
        let mut family = snapshot.family(names::SERVER_DURATION);
        for (key, histogram) in self.server.iter() {
            family.capped(key.map(|key| key.labels(self.scheme)), histogram);
        }
        let mut family = snapshot.family(names::CLIENT_DURATION);
        for (key, histogram) in self.client.iter() {
            family.capped(key.map(|key| key.labels(names)), histogram);
        }
    }
}

impl ServerKey {
    fn labels(&self, scheme: Scheme) -> [Label; 6] {
        let Self { method, status, route, version, error } = *self;
        [
            method.into(),
            scheme.as_str().into(),
            status.into(),
            route.into(),
            version.as_str().into(),
            error.into(),
        ]
    }
}

impl ClientKey {
    fn labels(&self, names: &Names<'_>) -> [Label; 5] {
        let [address, port] = names.server(self.upstream);
        [self.method.into(), address, port, self.status.into(), self.error.into()]
    }
}
