//! The ways in which a body is read, and which of them the response head asks for.

use super::answer::Answer;
use super::facts::Facts;
use super::lines::Lines;
use super::stream::Stream;
use super::token_rule::TokenRule;
use super::{ResponseHead, Seen};
use crate::content::{Capture, CaptureLimit};
use crate::dialect::{Dialect, RequestPeek};
use crate::error_class::{ErrorText, classify};
use crate::sse::Scanner;

/// How one body is read.
#[derive(Debug)]
pub(super) enum Mode {
    /// Server-sent events.
    Events { scanner: Scanner, stream: Box<Stream> },
    /// One JSON document a line.
    Lines { lines: Lines, stream: Box<Stream> },
    /// One JSON document.
    Document(Box<Answer>),
    /// An error body, of which the beginning is kept.
    Error { status: u16, prefix: Vec<u8> },
    /// Bytes that say nothing to us.
    Opaque,
}

/// How many bytes of an event may be held in a dialect whose last event repeats the whole answer:
/// without that event, nothing would be known of the end.
const WHOLE_ANSWER_LIMIT: usize = 4 * 1024 * 1024;

/// How much of an error body is kept to tell its class.
const ERROR_PREFIX: usize = 8 * 1024;

impl Mode {
    /// The mode that reads the body behind this head, once it is unpacked if it was packed.
    pub(super) fn of(dialect: Dialect, request: &RequestPeek, head: &ResponseHead<'_>) -> Self {
        if head.status >= 400 {
            return Self::Error { status: head.status, prefix: Vec::new() };
        }
        if !(200..300).contains(&head.status) {
            return Self::Opaque;
        }
        let stream = || Box::new(Stream::new(dialect, request));
        match media_type(head.content_type.unwrap_or_default()) {
            media if media.eq_ignore_ascii_case(b"text/event-stream") => {
                Self::Events { scanner: Scanner::new(event_limit(dialect)), stream: stream() }
            }
            media if is_lines(media) => {
                Self::Lines { lines: Lines::new(event_limit(dialect)), stream: stream() }
            }
            media if dialect != Dialect::Other && is_json(media) => {
                Self::Document(Box::new(Answer::new(dialect)))
            }
            _ => Self::Opaque,
        }
    }

    /// Output is told by this rule from here on.
    pub(super) fn count_by(&mut self, rule: TokenRule) {
        if let Self::Events { stream, .. } | Self::Lines { stream, .. } = self {
            stream.count_by(rule);
        }
    }

    /// What is said is kept from here on, within this limit. Errors are not.
    pub(super) fn capture(&mut self, limit: CaptureLimit) {
        match self {
            Self::Events { stream, .. } | Self::Lines { stream, .. } => stream.capture(limit),
            Self::Document(answer) => answer.capture(limit),
            Self::Error { .. } | Self::Opaque => {}
        }
    }

    /// What was kept.
    pub(super) fn captured(&mut self) -> Option<Box<Capture>> {
        match self {
            Self::Events { stream, .. } | Self::Lines { stream, .. } => stream.captured(),
            Self::Document(answer) => answer.captured(),
            Self::Error { .. } | Self::Opaque => None,
        }
    }

    /// Reads on. `on` is called once for each event that these bytes complete.
    #[inline]
    pub(super) fn feed(&mut self, chunk: &[u8], facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        match self {
            Self::Events { scanner, stream } => {
                scanner.feed(chunk, &mut |event| stream.event(event, facts, on));
            }
            Self::Lines { lines, stream } => {
                lines.feed(chunk, &mut |line| stream.event(line, facts, on));
            }
            Self::Document(answer) => answer.feed(chunk),
            Self::Error { prefix, .. } => {
                let room = ERROR_PREFIX - prefix.len();
                prefix.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Self::Opaque => {}
        }
    }

    /// The body is over: reads what was left unterminated, and settles the facts.
    pub(super) fn finish(&mut self, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        match self {
            Self::Events { scanner, stream } => {
                scanner.finish(&mut |event| stream.event(event, facts, on));
                facts.counts.comments = scanner.comments();
                facts.counts.oversized = scanner.oversized();
            }
            Self::Lines { lines, stream } => {
                lines.finish(&mut |line| stream.event(line, facts, on));
                facts.counts.oversized = lines.oversized();
            }
            Self::Document(answer) => answer.settle(facts, on),
            Self::Error { status, prefix } => {
                facts.fail(classify(*status, prefix), ErrorText::of_body(prefix));
            }
            Self::Opaque => {}
        }
    }

    /// Whether this is a stream of a dialect that is understood.
    pub(super) fn is_stream(&self) -> bool {
        match self {
            Self::Events { stream, .. } | Self::Lines { stream, .. } => stream.is_known(),
            Self::Document(_) | Self::Error { .. } | Self::Opaque => false,
        }
    }

    /// Whether what came so far ends where an event does; true of what has no events.
    pub(super) fn is_between_events(&self) -> bool {
        match self {
            Self::Events { scanner, .. } => scanner.is_between_events(),
            Self::Lines { lines, .. } => lines.is_between_lines(),
            Self::Document(_) | Self::Error { .. } | Self::Opaque => true,
        }
    }
}

fn event_limit(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Responses
        | Dialect::OllamaGenerate
        | Dialect::TgiGenerate
        | Dialect::Transcription
        | Dialect::Other => WHOLE_ANSWER_LIMIT,
        _ => crate::sse::DEFAULT_LIMIT,
    }
}

fn media_type(content_type: &[u8]) -> &[u8] {
    content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii()
}

/// One JSON document a line has no registered type: these are in use.
fn is_lines(media: &[u8]) -> bool {
    let known: [&[u8]; 5] = [
        b"application/x-ndjson",
        b"application/ndjson",
        b"application/jsonl",
        b"application/x-jsonlines",
        b"application/jsonlines",
    ];
    known.iter().any(|known| media.eq_ignore_ascii_case(known))
}

/// Some servers leave the type out; a document that is not JSON is then read to no effect.
fn is_json(media: &[u8]) -> bool {
    let suffix = media.len().checked_sub(5).map(|at| &media[at..]);
    media.is_empty()
        || media.eq_ignore_ascii_case(b"application/json")
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"))
}
