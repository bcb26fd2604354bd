//! What the time of a call went into: spans below it, and moments in it.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use weir_core::exchange::{LISTED_STALLS, Side};
use weir_core::timeline::{Mark, Offset};

use super::{Attributes, Subject, below};

/// A shorter wait is no phase: its span would only be in the way.
const SHORTEST: Offset = Offset(1_000_000);

/// The name by which OpenInference's instrumentations tell of the first token.
const FIRST_TOKEN: &str = "First Token Stream Event";

/// Adds the phases of a call.
pub(super) fn add(subject: &Subject<'_>, spans: &mut Vec<Span>) {
    let timeline = &subject.exchange.timeline;
    let ended = subject.exchange.duration();
    let until = |marks: &[Mark]| marks.iter().find_map(|mark| timeline.at(*mark)).unwrap_or(ended);
    let begun = |mark| timeline.at(mark);
    let phases = [
        ("queue", begun(Mark::Queued), until(&[Mark::Admitted]), SHORTEST),
        ("connect", begun(Mark::Admitted), until(&[Mark::Connected]), SHORTEST),
        ("prefill", begun(Mark::Dispatched), until(&[Mark::FirstToken]), Offset(0)),
        ("decode", begun(Mark::FirstToken), until(&[Mark::LastToken]), Offset(0)),
    ];
    for (nth, (name, from, to, shortest)) in (0..).zip(phases) {
        let Some(from) = from.filter(|from| to.0.saturating_sub(from.0) >= shortest.0) else { continue };
        // Of an answer that comes in one piece nobody can tell which part of its time was which.
        let name = if name == "prefill" && begun(Mark::FirstToken).is_none() { "generate" } else { name };
        let mut span = subject.span(
            name.to_owned(),
            SpanKind::Internal,
            (from, to),
            below(subject.place.client_span, nth),
        );
        span.parent_span_id = subject.place.client_span.bytes().to_vec();
        let mut list = Attributes::with_room(1);
        list.text("openinference.span.kind", "CHAIN");
        span.attributes = list.list();
        spans.push(span);
    }
}

/// The moments of a call: its first token, and the stalls.
pub(super) fn events(subject: &Subject<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some(at) = subject.exchange.timeline.at(Mark::FirstToken) {
        events.push(event(subject, FIRST_TOKEN, at, Attributes::default()));
    }
    let output = subject.exchange.answer.output.as_ref();
    for stall in output.into_iter().flat_map(|output| &output.stalls).take(LISTED_STALLS) {
        let name = match stall.side {
            Side::Upstream => "weir.upstream_stall",
            Side::Downstream => "weir.downstream_stall",
        };
        let mut list = Attributes::with_room(1);
        list.number("weir.stall.duration", stall.length.as_secs_f64());
        events.push(event(subject, name, stall.from, list));
    }
    events
}

fn event(subject: &Subject<'_>, name: &str, at: Offset, list: Attributes) -> Event {
    Event {
        time_unix_nano: subject.at(at),
        name: name.to_owned(),
        attributes: list.list(),
        ..Event::default()
    }
}
