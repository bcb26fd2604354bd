//! Which side an exchange falls on, for availability and for the error rate: one table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::outcome::{ErrorType, Outcome};

/// Where an exchange falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It counts, as a good event.
    Good,
    /// It counts, as a bad event.
    Bad,
    /// It does not count.
    Out,
    /// Weir itself refused it: it counts as [`OwnRefusals`] says.
    Own,
}

/// Where an exchange falls, for both objectives that go by how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Availability: bad is what the server's side failed to serve.
    pub availability: Side,
    /// Error rate: bad is any error answered that the client did not cause.
    pub error_rate: Side,
}

/// How Weir's own refusals count: a full queue, the queue's timeout, shutting down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnRefusals {
    /// As bad: whoever asked was not served.
    #[default]
    Bad,
    /// Not at all: turning away what is too much is what limits are for.
    Out,
}

/// An event of an SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Good,
    Bad,
}

impl Event {
    pub(super) const fn good_if(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }
}

impl Side {
    /// The event that this side makes of an exchange, if any.
    pub(super) const fn event(self, own: OwnRefusals) -> Option<Event> {
        match (self, own) {
            (Self::Good, _) => Some(Event::Good),
            (Self::Bad, _) | (Self::Own, OwnRefusals::Bad) => Some(Event::Bad),
            (Self::Out, _) | (Self::Own, OwnRefusals::Out) => None,
        }
    }
}

const GOOD: Sides = both(Side::Good);
const FAULT: Sides = both(Side::Bad);
const OUT: Sides = both(Side::Out);
const OWN: Sides = both(Side::Own);
/// An error answered that is no fault of the server's side.
const ANSWERED: Sides = Sides { availability: Side::Out, error_rate: Side::Bad };

const fn both(side: Side) -> Sides {
    Sides { availability: side, error_rate: side }
}

/// The table. The outcome decides where the error type is but a remark; else the error type does, and the
/// outcome again where there is none.
pub const fn sides(outcome: Outcome, error_type: Option<ErrorType>) -> Sides {
    use ErrorType as T;
    use Outcome as O;
    match (outcome, error_type) {
        // A stream that came to its end without a token served nobody.
        (O::Completed, Some(T::EmptyStream)) => FAULT,
        // All that mattered had come: what is remarked does not spoil the answer.
        (O::Completed, _) => GOOD,
        // A tunnel's bytes are nobody's answer.
        (O::Upgraded, _) => OUT,
        // Why a client left is not known.
        (O::ClientGoneBeforeFirstToken | O::ClientGoneMidStream, _) => OUT,
        (_, Some(error_type)) => of_error(error_type),
        (O::Truncated | O::StreamError | O::UpstreamError | O::UpstreamUnreachable | O::Timeout, None) => {
            FAULT
        }
        (O::QueueFull | O::Refused, None) => OWN,
    }
}

const fn of_error(error_type: ErrorType) -> Sides {
    use ErrorType as T;
    match error_type {
        T::BadRequest | T::ContextLength | T::Auth | T::NotFound | T::Unprocessable | T::Http4xx => OUT,
        T::ClientRequest => OUT,
        // The prompt met the provider's rule: nothing broke, and yet no answer came.
        T::ContentFilter => ANSWERED,
        // Whoever asks through Weir was not served, whichever limit of the upstream it was.
        T::RateLimited | T::Quota | T::Overloaded => FAULT,
        T::Upstream5xx | T::UpstreamConnect | T::UpstreamReset => FAULT,
        T::UpstreamTimeoutHeaders | T::UpstreamTimeoutIdle => FAULT,
        T::StreamError | T::StreamTruncated | T::EmptyStream => FAULT,
        T::MissingDone | T::MissingFinish => FAULT,
        T::ClientDisconnectBeforeFirstToken | T::ClientDisconnectMidStream => OUT,
        T::ProxyQueueFull | T::ProxyQueueTimeout | T::ProxyShutdown => OWN,
    }
}

#[cfg(test)]
mod tests {
    use weir_core::outcome::{ErrorType as T, Outcome as O};

    use super::{Event, OwnRefusals, Side, sides};

    #[test]
    fn a_remark_does_not_spoil_an_answer_but_an_empty_stream_does() {
        for error_type in [None, Some(T::MissingDone), Some(T::MissingFinish), Some(T::UpstreamReset)] {
            assert_eq!(sides(O::Completed, error_type).availability, Side::Good, "{error_type:?}");
        }
        assert_eq!(sides(O::Completed, Some(T::EmptyStream)).availability, Side::Bad);
        assert_eq!(sides(O::Truncated, Some(T::UpstreamReset)).availability, Side::Bad);
    }

    #[test]
    fn own_refusals_count_as_configured() {
        for (outcome, error_type) in [
            (O::QueueFull, T::ProxyQueueFull),
            (O::Timeout, T::ProxyQueueTimeout),
            (O::Refused, T::ProxyShutdown),
            (O::Truncated, T::ProxyShutdown),
        ] {
            let side = sides(outcome, Some(error_type)).availability;
            assert_eq!(side.event(OwnRefusals::Bad), Some(Event::Bad), "{error_type}");
            assert_eq!(side.event(OwnRefusals::Out), None, "{error_type}");
        }
        assert_eq!(sides(O::Refused, Some(T::ClientRequest)).error_rate, Side::Out);
    }

    #[test]
    fn what_the_error_rate_counts_and_availability_does_not_is_the_content_filter() {
        for &outcome in O::ALL {
            for error_type in T::ALL.iter().copied().map(Some).chain([None]) {
                let sides = sides(outcome, error_type);
                let differs = sides.availability != sides.error_rate;
                let filtered = error_type == Some(T::ContentFilter) && sides.error_rate == Side::Bad;
                assert_eq!(differs, filtered, "{outcome} {error_type:?}");
            }
        }
    }
}
