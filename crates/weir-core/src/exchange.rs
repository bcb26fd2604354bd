//! One request with its response: the frozen record of it, and the figures derived from that.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::dialect::Dialect;
use crate::gaps::GapRecord;
use crate::outcome::{ErrorType, Outcome};
use crate::setting::Setting;
use crate::timeline::{Mark, Offset, Stamp, Timeline};
use crate::trace::TracePlace;
use crate::usage::{Provenance, Usage};

/// The ordinal of an exchange within its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExchangeId(pub u64);

/// Wall-clock time in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallTime(pub u64);

/// The record of one exchange. It is made once, when the exchange is over, and never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Its ordinal; joins it with its [`Pulse`]s.
    pub id: ExchangeId,
    /// The client's `x-request-id`, else one made for it.
    pub request_id: Box<str>,
    /// Its place in a trace; absent where none is continued or begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<TracePlace>>,
    /// When the request head was read, by the wall clock.
    pub received: WallTime,
    /// The same moment by the monotonic clock; the timeline counts from here.
    pub received_mono: Stamp,
    /// What was asked.
    pub request: Asked,
    /// The name of the upstream.
    pub upstream: Box<str>,
    /// The status that the client got; absent when it left before one.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong, if anything did.
    pub error_type: Option<ErrorType>,
    /// When things happened.
    pub timeline: Timeline,
    /// Time spent waiting for the client's request body.
    pub body_wait: Offset,
    /// What was answered.
    pub answer: Answer,
    /// What both said, where that is kept. Exporters may be told; files never are.
    #[serde(skip)]
    pub content: Option<Box<Content>>,
}

/// What the client asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The HTTP method.
    pub method: Box<str>,
    /// The version of HTTP that the client speaks.
    #[serde(default)]
    pub http: HttpVersion,
    /// The path, without the query, cut at a bound.
    pub path: Box<str>,
    /// The dialect that the path names.
    pub dialect: Dialect,
    /// The model, where the body names one.
    pub model: Option<Box<str>>,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// How many choices were asked for, for all prompts together; at least so many, where a list of
    /// prompts was too long to be seen whole.
    pub choices: u32,
    /// Bytes of the request body that were read.
    pub bytes: u64,
    /// How to generate, as far as the body says so.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub settings: Box<[Setting]>,
    /// The keyed hash of the prompt's head, where one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_hash: Option<Box<str>>,
    /// On whose behalf. Exporters may be told; files never are.
    #[serde(skip)]
    pub caller: Caller,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0.
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    Http11,
    /// HTTP/2.
    #[serde(rename = "2")]
    Http2,
}

impl HttpVersion {
    /// The version as OpenTelemetry writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "1.0",
            Self::Http11 => "1.1",
            Self::Http2 => "2",
        }
    }
}

/// On whose behalf a request was made, as the client says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The session or conversation.
    pub session: Option<Box<str>>,
    /// The end user.
    pub user: Option<Box<str>>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Bytes of the response body that were relayed.
    pub bytes: u64,
    /// Whether it was a stream of a known dialect, in events or in lines.
    pub stream: bool,
    /// The model that the answer names.
    pub model: Option<Box<str>>,
    /// The id that the answer gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Box<str>>,
    /// The finish reason of each choice that finished, in the order of choices.
    pub finish_reasons: Vec<Box<str>>,
    /// Token counts as the engine reported them.
    pub usage: Option<Usage>,
    /// The number of output tokens, with where it is known from.
    pub tokens: Option<TokenCount>,
    /// What flowed, where anything did.
    pub output: Option<Output>,
    /// What the scanner met.
    pub scan: ScanCounts,
    /// How a packed body could be read; absent for one that was not packed.
    pub unpacked: Option<Unpacked>,
}

/// How far the copy of a packed body that is unpacked for reading could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unpacked {
    /// Each event could be read when the packer had flushed it: its time is right.
    Timed,
    /// The packer did not flush at events: what they say is known, when they came is not.
    Untimed,
    /// It is not what its coding says: what came before could be read.
    Corrupt,
    /// It unpacks to more than is read for the sake of a record.
    OverBound,
    /// The coding is not understood.
    Unknown,
}

impl Unpacked {
    /// The name as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timed => "timed",
            Self::Untimed => "untimed",
            Self::Corrupt => "corrupt",
            Self::OverBound => "over_bound",
            Self::Unknown => "unknown",
        }
    }

    /// Whether all of it could be read.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Timed | Self::Untimed)
    }

    /// Whether times of events are worth anything.
    pub const fn is_timed(self) -> bool {
        matches!(self, Self::Timed)
    }
}

/// A number of output tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCount {
    /// How many.
    pub count: u64,
    /// Where the number is known from.
    pub provenance: Provenance,
}

/// The output of a stream as it flowed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Events that carried output.
    pub chunks: u64,
    /// Tokens as they flowed: known counts where chunks tell them, else one a chunk.
    pub tokens: u64,
    /// What `gaps.itl` divides by.
    pub itl_basis: ItlBasis,
    /// The gaps between chunks that both arrived under watch.
    pub gaps: GapRecord,
    /// Every gap in order, where all are kept.
    pub all_gaps: Option<Vec<Offset>>,
    /// Gaps longer than `stall_after` in which the upstream sent no output.
    pub upstream_stalls: Stalls,
    /// Times in which the client took no bytes, so that the upstream could not be watched.
    pub downstream_stalls: Stalls,
    /// The first stalls of both kinds, up to [`LISTED_STALLS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
}

/// As many stalls of an exchange are told one by one. All are counted.
pub const LISTED_STALLS: usize = 16;

/// One interruption of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// When it began.
    pub from: Offset,
    /// How long it was.
    pub length: Offset,
    /// Which side was silent.
    pub side: Side,
}

/// One of the two sides of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The engine.
    Upstream,
    /// The client.
    Downstream,
}

/// What the gap per token was worked out from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItlBasis {
    /// No chunk told how many tokens it carried: each counts as one.
    #[default]
    Chunks,
    /// Every chunk told how many tokens it carried.
    Tokens,
    /// Some chunks told it.
    Mixed,
}

impl ItlBasis {
    /// The name as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            ItlBasis::Chunks => "chunks",
            ItlBasis::Tokens => "tokens",
            ItlBasis::Mixed => "mixed",
        }
    }
}

/// Interruptions of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stalls {
    /// How many.
    pub count: u32,
    /// Their length, summed.
    pub total: Offset,
    /// The longest.
    pub longest: Offset,
}

impl Stalls {
    /// Adds one of `length`.
    pub fn add(&mut self, length: Offset) {
        self.count = self.count.saturating_add(1);
        self.total = Offset(self.total.0.saturating_add(length.0));
        self.longest = self.longest.max(length);
    }
}

/// What the scanner met in a response body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanCounts {
    /// Events with data, or lines.
    pub events: u64,
    /// Comment lines.
    pub comments: u64,
    /// Events whose data is not the JSON it should be.
    pub broken: u64,
    /// Events too long to be looked at.
    pub oversized: u64,
    /// Whether the last event lacked its blank line, or the last line its end.
    pub unterminated: bool,
}

impl Exchange {
    /// Time per output token after the first, in seconds: (last token − first token)/(N − 1).
    /// Absent for fewer than two tokens and for more than one choice.
    pub fn tpot(&self) -> Option<f64> {
        let (span, steps) = self.token_span()?;
        Some(span.as_secs_f64() / steps as f64)
    }

    /// Tokens per second after the first: (N − 1)/(last token − first token). Absent where TPOT
    /// is, and where all tokens came at once.
    pub fn tps(&self) -> Option<f64> {
        let (span, steps) = self.token_span()?;
        (span.0 > 0).then(|| steps as f64 / span.as_secs_f64())
    }

    /// Time Weir itself took before the request was handed on; see [`Timeline::overhead`].
    pub fn overhead(&self) -> Option<Offset> {
        self.timeline.overhead(self.body_wait)
    }

    /// From the request head to the end, however it ended.
    pub fn duration(&self) -> Offset {
        self.timeline.at(Mark::Ended).unwrap_or_default()
    }

    fn token_span(&self) -> Option<(Offset, u64)> {
        let steps = self.answer.tokens?.count.checked_sub(1)?;
        let span = self.timeline.between(Mark::FirstToken, Mark::LastToken)?;
        // Where the request was not seen whole, the answer may tell of more choices than it did.
        let single = self.request.choices <= 1 && self.answer.finish_reasons.len() <= 1;
        (steps > 0 && single).then_some((span, steps))
    }
}

/// What an exchange has put out since its last pulse, or since its first token. Added up, the
/// pulses of an exchange are its whole output: the last one comes right before its [`Exchange`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pulse {
    /// Which exchange.
    pub id: ExchangeId,
    /// When it was taken, by the monotonic clock.
    pub at: Stamp,
    /// The model asked for.
    pub model: Option<Box<str>>,
    /// The upstream that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Box<str>>,
    /// When the first token came; said in the first pulse only.
    pub first_token: Option<Offset>,
    /// Chunks of output since the last pulse.
    pub chunks: u64,
    /// Tokens since the last pulse: known counts where chunks tell them, else one a chunk.
    pub tokens: u64,
    /// Gaps since the last pulse.
    pub gaps: GapRecord,
    /// How long nothing had come from the upstream.
    pub silence: Offset,
}

#[cfg(test)]
mod tests {
    use super::{Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, TokenCount, WallTime};
    use crate::content::{Content, Input, Output, Part, Said};
    use crate::dialect::Dialect;
    use crate::outcome::Outcome;
    use crate::timeline::{Mark, Offset, Stamp, Timeline};
    use crate::usage::Provenance;

    const MS: u64 = 1_000_000;

    fn exchange(tokens: u64, choices: u32, first: u64, last: u64) -> Exchange {
        let mut timeline = Timeline::default();
        timeline.set(Mark::FirstToken, Offset(first * MS));
        timeline.set(Mark::LastToken, Offset(last * MS));
        timeline.set(Mark::Ended, Offset(last * MS + 1));
        Exchange {
            id: ExchangeId(1),
            request_id: "r".into(),
            trace: None,
            received: WallTime(1),
            received_mono: Stamp(1),
            request: Asked {
                method: "POST".into(),
                http: HttpVersion::Http11,
                path: "/v1/chat/completions".into(),
                dialect: Dialect::Chat,
                model: Some("m".into()),
                stream: true,
                choices,
                bytes: 10,
                settings: Box::default(),
                prompt_hash: None,
                caller: Caller::default(),
            },
            upstream: "default".into(),
            status: Some(200),
            outcome: Outcome::Completed,
            error_type: None,
            timeline,
            body_wait: Offset(0),
            answer: Answer {
                tokens: Some(TokenCount { count: tokens, provenance: Provenance::Reported }),
                ..Answer::default()
            },
            content: None,
        }
    }

    #[test]
    fn tpot_is_the_span_over_the_steps() {
        let exchange = exchange(50, 1, 800, 4067);
        assert!((exchange.tpot().unwrap() - 3.267 / 49.0).abs() < 1e-12);
        assert!((exchange.tps().unwrap() - 49.0 / 3.267).abs() < 1e-9);
    }

    #[test]
    fn one_token_or_two_choices_have_no_tpot() {
        assert_eq!(exchange(1, 1, 800, 800).tpot(), None);
        assert_eq!(exchange(0, 1, 800, 800).tpot(), None);
        assert_eq!(exchange(50, 2, 800, 4067).tpot(), None);
    }

    #[test]
    fn tokens_that_came_at_once_have_a_tpot_of_zero_and_no_rate() {
        let exchange = exchange(5, 1, 800, 800);
        assert_eq!(exchange.tpot(), Some(0.0));
        assert_eq!(exchange.tps(), None);
    }

    #[test]
    fn content_and_caller_are_never_written_down() {
        let input = Input { body: r#"{"prompt":"secret"}"#.into(), cut: false };
        let said = Said { parts: vec![Part::Text("secret".into())], ..Said::default() };
        let output = Output { choices: vec![said], cut: false };
        let mut exchange = exchange(50, 1, 800, 4067);
        exchange.content = Some(Box::new(Content { input: Some(input), output }));
        exchange.request.caller.user = Some("secret".into());
        let text = serde_json::to_string(&exchange).unwrap();
        assert!(!text.contains("secret") && !text.contains("content"), "{text}");
        assert_eq!(serde_json::from_str::<Exchange>(&text).unwrap().content, None);
        assert!(!format!("{:?}", exchange.content).contains("secret"));
    }

    #[test]
    fn a_record_survives_a_round_trip() {
        let exchange = exchange(50, 1, 800, 4067);
        let text = serde_json::to_string(&exchange).unwrap();
        assert_eq!(serde_json::from_str::<Exchange>(&text).unwrap(), exchange);
    }
}
