//! The spans of HTTP: the exchange as its client sees it, and a call that is of no model.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use weir_core::timeline::Mark;

use super::verdict::{Seen, Verdict};
use super::{Attributes, PARENT_REMOTE, Subject, backends};

/// Methods that stand for themselves. A client can make up others without end.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// The exchange as its client sees it.
pub(super) fn server(subject: &Subject<'_>) -> Span {
    let exchange = subject.exchange;
    let verdict = Verdict::of(exchange, Seen::ByServer);
    let mut list = Attributes::with_room(16);
    let method = method(&mut list, &exchange.request.method);
    list.text("url.scheme", subject.scheme);
    list.text("url.path", &*exchange.request.path);
    list.text("network.protocol.name", "http");
    list.text("network.protocol.version", exchange.request.http.as_str());
    list.some_count("http.response.status_code", exchange.status.map(u64::from));
    list.count("http.request.body.size", exchange.request.bytes);
    list.count("http.response.body.size", exchange.answer.bytes);
    list.some_text("error.type", verdict.error_type.clone());
    list.text("weir.request_id", &*exchange.request_id);
    list.text("weir.outcome", exchange.outcome.as_str());
    let route = exchange.request.dialect.route();
    list.some_text("http.route", route);
    backends::server(subject, &mut list);
    let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
    let mut span = subject.span(name, SpanKind::Server, subject.whole(), subject.place.server_span);
    if let Some(parent) = &subject.place.parent {
        span.parent_span_id = parent.span_id.bytes().to_vec();
        span.flags |= PARENT_REMOTE;
    }
    span.attributes = list.list();
    span.status = Some(verdict.status());
    span
}

/// A call to the upstream that is of no model.
pub(super) fn client(subject: &Subject<'_>) -> Span {
    let exchange = subject.exchange;
    let verdict = Verdict::of(exchange, Seen::ByClient);
    let mut list = Attributes::with_room(8);
    let method = method(&mut list, &exchange.request.method).to_owned();
    upstream(subject, &mut list);
    list.some_count("http.response.status_code", exchange.status.map(u64::from));
    list.some_text("error.type", verdict.error_type.clone());
    let from = exchange.timeline.at(Mark::Dispatched).unwrap_or_default();
    let interval = (from, exchange.duration());
    let mut span = subject.span(method, SpanKind::Client, interval, subject.place.client_span);
    span.parent_span_id = subject.place.server_span.bytes().to_vec();
    span.attributes = list.list();
    span.status = Some(verdict.status());
    span
}

/// Where the upstream is.
pub(super) fn upstream(subject: &Subject<'_>, list: &mut Attributes) {
    if let Some(upstream) = subject.upstream {
        list.text("server.address", &*upstream.address);
        list.integer("server.port", upstream.port.into());
    }
    list.text("weir.upstream", &*subject.exchange.upstream);
}

/// The method as a span names it.
fn method<'a>(list: &mut Attributes, method: &'a str) -> &'a str {
    if METHODS.contains(&method) {
        list.text("http.request.method", method);
        return method;
    }
    list.text("http.request.method", "_OTHER");
    list.text("http.request.method_original", method);
    "HTTP"
}
