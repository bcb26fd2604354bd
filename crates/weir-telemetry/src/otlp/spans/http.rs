//! The spans of HTTP: the exchange as its client sees it, and a call that is of no model.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use weir_core::exchange::Exchange;
use weir_core::timeline::Mark;

use super::verdict::Verdict;
use super::{Attributes, PARENT_REMOTE, Subject, backends, content};
use crate::semconv::{self, Side};

/// The exchange as its client sees it.
pub(super) fn server(subject: &Subject<'_>) -> Span {
    let exchange = subject.exchange;
    let verdict = Verdict::of(exchange, Side::Server);
    let mut list = Attributes::with_room(16);
    let method = method(&mut list, &exchange.request.method);
    list.text("url.scheme", subject.scheme);
    list.text("url.path", &*exchange.request.path);
    list.text("network.protocol.name", "http");
    list.text("network.protocol.version", exchange.request.http.as_str());
    list.some_count("http.response.status_code", status(exchange, Side::Server));
    list.count("http.request.body.size", exchange.request.bytes);
    list.count("http.response.body.size", exchange.answer.bytes);
    list.some_text("error.type", verdict.error_type);
    list.text("weir.request_id", &*exchange.request_id);
    list.text("weir.outcome", exchange.outcome.as_str());
    let route = semconv::route(exchange.request.dialect, &exchange.request.path);
    list.some_text("http.route", route);
    backends::server(subject, &mut list);
    content::add_to_root(subject, &mut list);
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
    let verdict = Verdict::of(exchange, Side::Client);
    let mut list = Attributes::with_room(8);
    let method = method(&mut list, &exchange.request.method).to_owned();
    upstream(subject, &mut list);
    list.some_count("http.response.status_code", status(exchange, Side::Client));
    list.some_text("error.type", verdict.error_type);
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

fn status(exchange: &Exchange, side: Side) -> Option<u64> {
    semconv::status(exchange, side).map(u64::from)
}

/// The method as a span names it.
fn method(list: &mut Attributes, given: &str) -> &'static str {
    let method = semconv::method(given);
    list.text("http.request.method", method);
    if method == given {
        return method;
    }
    list.text("http.request.method_original", given);
    "HTTP"
}
