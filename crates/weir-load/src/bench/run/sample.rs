//! What is known of one request in the end.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::bench::backend::{Output, Piece, Server, Usage};

/// One request and what became of it. All times are nanoseconds after the start of the run, on the monotonic
/// clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Which request of the run, in the order in which the data set gave them.
    pub index: u64,
    /// Its `x-request-id`.
    pub id: String,
    /// What the data set said of it.
    pub asked: Asked,
    /// When what happened to it as a whole.
    pub times: Times,
    /// The events of its stream in order, without `[DONE]`.
    pub arrivals: Vec<Arrival>,
    /// How it ended.
    pub end: End,
    /// Token counts that the server told.
    pub usage: Usage,
    /// What `vllm bench serve` would have made of it, where that cannot be told from the rest.
    pub vllm: VllmView,
    /// What vLLM told of its own times.
    pub server: Server,
    /// What came over the wire.
    pub wire: Wire,
    /// Why generation ended, in the server's word.
    pub finish: Option<String>,
    /// The text of the answer without its reasoning, if it was to be kept.
    pub text: Option<String>,
}

/// What a data set said of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Tokens that the prompt was meant to have.
    pub input_tokens: Option<u32>,
    /// The limit of its answer.
    pub output_tokens: Option<u32>,
    /// Its conversation and which turn of it.
    pub turn: Option<(u64, u32)>,
}

/// Times of a request as a whole, in nanoseconds after the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// When it was due.
    pub intended_ns: u64,
    /// Just before it was handed to the HTTP client: connecting and the server's queue come after.
    pub sent_ns: u64,
    /// When the response's head was there.
    pub head_ns: Option<u64>,
    /// When its answer was over, or it was given up.
    pub ended_ns: u64,
}

impl Times {
    /// How late it was sent.
    pub fn lateness_ns(&self) -> u64 {
        self.sent_ns.saturating_sub(self.intended_ns)
    }
}

/// What `vllm bench serve` would have made of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VllmView {
    /// The output tokens of the last usage that stood on no token.
    pub output_tokens: Option<u64>,
    /// Whether it succeeded: any token will do, even with an error after it.
    pub is_success: bool,
}

/// What came over the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// The response's status.
    pub status: Option<u16>,
    /// Whether the answer was a stream of events.
    pub is_stream: bool,
    /// Bytes of the response's body.
    pub bytes: u64,
}

/// One event of a stream. Events that one read brought share its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the read returned that completed it, in nanoseconds after the start of the run.
    pub at_ns: u64,
    /// Output by Weir's rule; `None`: it carries none.
    pub output: Option<Output>,
    /// Whether `vllm bench serve` takes it for a token.
    pub is_vllm_token: bool,
    /// Tokens in it, where it tells.
    pub tokens: Option<u32>,
}

impl Arrival {
    pub(super) fn new(at_ns: u64, piece: Piece) -> Self {
        let Piece { output, is_vllm_token, tokens } = piece;
        Arrival { at_ns, output, is_vllm_token, tokens }
    }
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With a complete answer.
    Complete,
    /// Its client left as the data set said.
    Left,
    /// The run ended first.
    Cancelled,
    /// Otherwise; the text says more.
    Failed(Failure, String),
}

impl End {
    /// The name of how it ended: `ok`, `left`, `cancelled`, or the class of its failure.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            End::Complete => "ok".into(),
            End::Left => "left".into(),
            End::Cancelled => "cancelled".into(),
            End::Failed(failure, _) => failure.name(),
        }
    }
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// A status other than 200.
    Status(u16),
    /// No connection.
    Connect,
    /// No end within the time allowed.
    Timeout,
    /// The connection broke.
    Broken,
    /// An error within the answer.
    InBand,
    /// A stream that ended cleanly, but neither with a finish reason nor with its terminal event.
    Truncated,
    /// A complete answer without any output.
    Empty,
    /// An answer that cannot be read.
    Malformed,
}

impl Failure {
    /// Its name: `http_429` and the like for a status, else one word.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Failure::Status(status) => format!("http_{status}").into(),
            Failure::Connect => "connect".into(),
            Failure::Timeout => "timeout".into(),
            Failure::Broken => "broken".into(),
            Failure::InBand => "stream_error".into(),
            Failure::Truncated => "truncated".into(),
            Failure::Empty => "empty".into(),
            Failure::Malformed => "malformed".into(),
        }
    }
}

impl Sample {
    /// A request that is about to be sent.
    pub(super) fn new(index: u64, id: String, asked: Asked, intended_ns: u64) -> Self {
        Sample {
            index,
            id,
            asked,
            times: Times { intended_ns, ..Times::default() },
            arrivals: Vec::new(),
            end: End::Cancelled,
            usage: Usage::default(),
            vllm: VllmView::default(),
            server: Server::default(),
            wire: Wire::default(),
            finish: None,
            text: None,
        }
    }
}
