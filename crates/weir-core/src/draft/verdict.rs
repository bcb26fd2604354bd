//! From how the relay ended to an outcome: one table for every exchange.

use crate::outcome::{ErrorType, Outcome};
use crate::reader::Reader;

/// How the relay of an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The upstream's body came to its proper end and was passed on.
    Complete,
    /// The upstream failed after its head: its connection broke, or fell silent beyond `idle`.
    Broken(ErrorType),
    /// The client went away.
    ClientGone,
    /// Weir answered by itself.
    Refused(Outcome, ErrorType),
    /// Weir shut down before the end.
    Shutdown,
}

/// The outcome of an exchange, and the class of what went wrong.
pub(super) fn judge(
    end: End,
    status: Option<u16>,
    reader: Option<&Reader>,
    token_seen: bool,
) -> (Outcome, Option<ErrorType>) {
    let settled = reader.and_then(|reader| settled_stream(reader, end, token_seen));
    match end {
        End::Refused(outcome, error_type) => (outcome, Some(error_type)),
        End::Complete => match (reader, settled) {
            (Some(reader), _) if status.is_some_and(|status| status >= 400) => {
                (Outcome::UpstreamError, reader.facts().error.as_ref().map(|error| error.error_type))
            }
            (Some(reader), None) if reader.is_stream() => match reader.facts().error {
                Some(_) => (Outcome::StreamError, Some(ErrorType::StreamError)),
                None => (Outcome::Truncated, Some(ErrorType::StreamTruncated)),
            },
            (Some(reader), None) if reader.facts().error.is_some() => {
                (Outcome::StreamError, Some(ErrorType::StreamError))
            }
            (_, Some(verdict)) => verdict,
            (_, None) => (Outcome::Completed, None),
        },
        // All that matters had come before: what broke is only worth a remark.
        End::Broken(error_type) => match settled {
            Some((Outcome::Completed, _)) => (Outcome::Completed, Some(error_type)),
            Some(verdict) => verdict,
            None if error_type == ErrorType::UpstreamTimeoutIdle => (Outcome::Timeout, Some(error_type)),
            None => (Outcome::Truncated, Some(error_type)),
        },
        End::ClientGone => match settled {
            // The client need not read on for a terminal marker that it has no use for.
            Some((outcome, Some(ErrorType::MissingDone))) => (outcome, None),
            Some(verdict) => verdict,
            None if token_seen => (Outcome::ClientGoneMidStream, Some(ErrorType::ClientDisconnectMidStream)),
            None => (Outcome::ClientGoneBeforeFirstToken, Some(ErrorType::ClientDisconnectBeforeFirstToken)),
        },
        End::Shutdown => settled.unwrap_or((Outcome::Truncated, Some(ErrorType::ProxyShutdown))),
    }
}

/// The verdict over a stream that told its own end; `None` for one that did not, and for an
/// answer that is no stream.
fn settled_stream(reader: &Reader, end: End, token_seen: bool) -> Option<(Outcome, Option<ErrorType>)> {
    let facts = reader.facts();
    // At a clean end no choice is still to come: some servers give one, whatever was asked for.
    let finished = facts.all_finished || (end == End::Complete && facts.choices.seen_are_finished());
    if !reader.is_stream() {
        return None;
    }
    if facts.error.is_some() {
        return Some((Outcome::StreamError, Some(ErrorType::StreamError)));
    }
    if !facts.terminal && !finished {
        return None;
    }
    let remark = if !finished {
        Some(ErrorType::MissingFinish)
    } else if !facts.terminal {
        Some(ErrorType::MissingDone)
    } else if !token_seen && !facts.finished_for("content_filter") {
        Some(ErrorType::EmptyStream)
    } else {
        None
    };
    Some((Outcome::Completed, remark))
}
