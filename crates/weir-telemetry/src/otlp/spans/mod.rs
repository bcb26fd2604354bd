//! The spans of an exchange, built from its record when it is over.
//!
//! A server span is the exchange as its client sees it. Below it stands the call of the model, and
//! below that its phases. All end with the exchange, whichever way it ended.

mod attributes;
mod backends;
mod content;
mod genai;
mod http;
mod phases;
#[cfg(test)]
mod tests;
mod verdict;

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use weir_analysis::cost::Valuation;
use weir_core::exchange::Exchange;
use weir_core::timeline::{Mark, Offset};
use weir_core::trace::{SpanId, TracePlace};

use super::Surroundings;
use super::config::SpanRules;
use crate::config::UpstreamFacts;
use crate::valued::Valued;
use attributes::Attributes;

/// Says in a span's flags whether its parent came over the network, and that this is known.
const PARENT_KNOWN: u32 = 0x100;
const PARENT_REMOTE: u32 = 0x200;
const SAMPLED: u32 = 1;

/// What spans are written by.
#[derive(Debug)]
pub(super) struct SpanWriter {
    rules: SpanRules,
    as_root: bool,
    around: Surroundings,
}

/// One exchange with what is known around it.
#[derive(Clone, Copy, Debug)]
struct Subject<'a> {
    exchange: &'a Exchange,
    valuation: &'a Valuation,
    place: &'a TracePlace,
    rules: &'a SpanRules,
    as_root: bool,
    upstream: Option<&'a UpstreamFacts>,
    scheme: &'static str,
}

impl SpanWriter {
    pub(super) fn new(rules: SpanRules, as_root: bool, around: Surroundings) -> Self {
        Self { rules, as_root, around }
    }

    /// The spans of an exchange; none for one without a place in a trace.
    pub(super) fn spans(&self, Valued { exchange, valuation }: &Valued) -> Vec<Span> {
        let Some(place) = &exchange.trace else { return Vec::new() };
        let upstream = self.around.upstreams.iter().find(|upstream| upstream.name == exchange.upstream);
        let subject = Subject {
            exchange,
            valuation,
            place,
            rules: &self.rules,
            as_root: self.as_root,
            upstream,
            scheme: self.around.scheme.as_str(),
        };
        let mut spans = Vec::with_capacity(6);
        spans.push(http::server(&subject));
        if genai::is_told(exchange) {
            spans.push(genai::call(&subject));
            phases::add(&subject, &mut spans);
        } else if exchange.timeline.at(Mark::Dispatched).is_some() {
            spans.push(http::client(&subject));
        }
        spans
    }
}

impl Subject<'_> {
    /// A moment of the exchange in nanoseconds since the Unix epoch.
    fn at(&self, offset: Offset) -> u64 {
        self.exchange.received.0.saturating_add(offset.0)
    }

    /// A span of this exchange's trace, from and to these moments of the exchange.
    fn span(&self, name: String, kind: SpanKind, (from, to): (Offset, Offset), id: SpanId) -> Span {
        Span {
            trace_id: self.place.trace_id.bytes().to_vec(),
            span_id: id.bytes().to_vec(),
            trace_state: self.place.parent.as_ref().map(|it| it.state.to_string()).unwrap_or_default(),
            flags: SAMPLED | PARENT_KNOWN,
            name,
            kind: kind.into(),
            start_time_unix_nano: self.at(from),
            end_time_unix_nano: self.at(to),
            ..Span::default()
        }
    }

    /// From the request head to the end.
    fn whole(&self) -> (Offset, Offset) {
        (Offset(0), self.exchange.duration())
    }
}

/// The id of the nth span below the call. It follows from the call's own, so that a span that is sent
/// twice, or to two destinations that meet again, is one.
fn below(call: SpanId, nth: u8) -> SpanId {
    let mut bytes = *call.bytes();
    bytes[7] = bytes[7].wrapping_add(nth + 1);
    // Only a call whose other bytes are zero, one of 2^56, could come to nothing.
    SpanId::new(bytes).unwrap_or(call)
}
