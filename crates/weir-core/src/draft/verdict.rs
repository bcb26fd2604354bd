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
    if status == Some(SWITCHING_PROTOCOLS) && !matches!(end, End::Refused(..)) {
        return (Outcome::Upgraded, tunnel_error(end));
    }
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

/// The status that begins a tunnel.
const SWITCHING_PROTOCOLS: u16 = 101;

/// What went wrong in a tunnel. That one end closed it is how tunnels end.
fn tunnel_error(end: End) -> Option<ErrorType> {
    match end {
        End::Broken(error_type) => Some(error_type),
        End::Shutdown => Some(ErrorType::ProxyShutdown),
        End::Complete | End::ClientGone | End::Refused(..) => None,
    }
}

/// Finish reasons of answers that need no token: refused ones, calls of a tool that takes no
/// arguments, and those that only load a model or drop it.
const WITHOUT_TOKENS: [&str; 5] = ["content_filter", "refusal", "tool_use", "load", "unload"];

/// The verdict over a stream that told its own end; `None` for one that did not, and for an
/// answer that is no stream.
fn settled_stream(reader: &Reader, end: End, token_seen: bool) -> Option<(Outcome, Option<ErrorType>)> {
    let facts = reader.facts();
    // At a clean end, or behind the terminal event, no choice is still to come: some servers give one,
    // whatever was asked for.
    let over = end == End::Complete || facts.terminal;
    let finished = facts.all_finished || (over && facts.choices.seen_are_finished());
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
    } else if !token_seen && !WITHOUT_TOKENS.iter().any(|reason| facts.finished_for(reason)) {
        Some(ErrorType::EmptyStream)
    } else {
        None
    };
    Some((Outcome::Completed, remark))
}

#[cfg(test)]
mod tests {
    use super::{End, judge};
    use crate::dialect::{Dialect, RequestPeek};
    use crate::outcome::{ErrorType, Outcome};
    use crate::reader::{Reader, ResponseHead, Seen};

    const EVENTS: &str = "text/event-stream";
    const LINES: &str = "application/x-ndjson";

    fn verdict(
        dialect: Dialect,
        content_type: &str,
        end: End,
        data: &[&str],
    ) -> (Outcome, Option<ErrorType>) {
        let head =
            ResponseHead { status: 200, content_type: Some(content_type.as_bytes()), content_encoding: None };
        let mut reader = Reader::new(dialect, &RequestPeek::default(), &head);
        let mut token_seen = false;
        let mut on = |seen| token_seen |= matches!(seen, Seen::Output { .. });
        for data in data {
            let event = if content_type == LINES { format!("{data}\n") } else { format!("data: {data}\n\n") };
            reader.feed(event.as_bytes(), &mut on);
        }
        reader.finish(&mut on);
        judge(end, Some(200), Some(&reader), token_seen)
    }

    const COMPLETED: (Outcome, Option<ErrorType>) = (Outcome::Completed, None);

    #[test]
    fn each_dialect_has_an_end_of_its_own() {
        let text = r#"{"type":"content_block_delta","delta":{"text":"a"}}"#;
        let reason = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
        let stop = r#"{"type":"message_stop"}"#;
        let error = r#"{"type":"error","error":{"type":"overloaded_error"}}"#;
        let messages = |data: &[&str]| verdict(Dialect::Messages, EVENTS, End::Complete, data);
        assert_eq!(messages(&[text, reason, stop]), COMPLETED);
        assert_eq!(messages(&[text, reason]), (Outcome::Completed, Some(ErrorType::MissingDone)));
        assert_eq!(messages(&[text, stop]), (Outcome::Completed, Some(ErrorType::MissingFinish)));
        assert_eq!(messages(&[text]), (Outcome::Truncated, Some(ErrorType::StreamTruncated)));
        assert_eq!(messages(&[text, error]), (Outcome::StreamError, Some(ErrorType::StreamError)));

        let line = r#"{"response":"a","done":false}"#;
        let ollama = |data: &[&str]| verdict(Dialect::OllamaGenerate, LINES, End::Complete, data);
        assert_eq!(ollama(&[line, r#"{"response":"","done":true}"#]), COMPLETED);
        assert_eq!(ollama(&[line]), (Outcome::Truncated, Some(ErrorType::StreamTruncated)));

        let delta = r#"{"type":"transcript.text.delta","delta":"a"}"#;
        let done = r#"{"type":"transcript.text.done","text":"a"}"#;
        assert_eq!(verdict(Dialect::Transcription, EVENTS, End::Complete, &[delta, done]), COMPLETED);
        assert_eq!(
            verdict(Dialect::Transcription, EVENTS, End::ClientGone, &[delta]),
            (Outcome::ClientGoneMidStream, Some(ErrorType::ClientDisconnectMidStream))
        );
    }

    #[test]
    fn a_client_may_leave_behind_the_last_event() {
        let delta = r#"{"type":"response.output_text.delta","delta":"a"}"#;
        let done = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
        let gone = |data: &[&str]| verdict(Dialect::Responses, EVENTS, End::ClientGone, data);
        assert_eq!(gone(&[delta, done]), COMPLETED);
        assert_eq!(gone(&[delta]).0, Outcome::ClientGoneMidStream);
    }

    #[test]
    fn some_answers_need_no_token() {
        let of = |reason: &str| {
            let reason = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
            verdict(Dialect::Messages, EVENTS, End::Complete, &[&reason, r#"{"type":"message_stop"}"#])
        };
        assert_eq!(of("refusal"), COMPLETED);
        assert_eq!(of("tool_use"), COMPLETED);
        assert_eq!(of("end_turn"), (Outcome::Completed, Some(ErrorType::EmptyStream)));
        let load = r#"{"response":"","done":true,"done_reason":"load"}"#;
        assert_eq!(verdict(Dialect::OllamaGenerate, LINES, End::Complete, &[load]), COMPLETED);
    }
}
