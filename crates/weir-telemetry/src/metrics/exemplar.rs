//! Examples of what a histogram counts: a value together with the trace that it stands in.

use weir_core::exchange::{Exchange, WallTime};
use weir_core::timeline::Offset;
use weir_core::trace::{SpanId, TraceId};

/// Where a value can be looked at more closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) trace_id: TraceId,
    /// The span of the call to the upstream.
    pub(crate) span_id: SpanId,
    /// When the exchange was over.
    pub(crate) at: WallTime,
}

/// A value with its witness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exemplar {
    pub(crate) value: f64,
    pub(crate) witness: Witness,
}

impl Witness {
    /// The place of an exchange in its trace; absent where it has none.
    pub(crate) fn of(exchange: &Exchange) -> Option<Self> {
        let place = exchange.trace.as_deref()?;
        let Offset(duration) = exchange.duration();
        Some(Self {
            trace_id: place.trace_id,
            span_id: place.client_span,
            at: WallTime(exchange.received.0.saturating_add(duration)),
        })
    }
}
