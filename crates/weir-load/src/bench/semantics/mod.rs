//! What the figures of one request mean. Tools disagree, so the report says whose definitions it follows.
//!
//! | figure | Weir | `vllm bench serve` 0.33 | OpenTelemetry |
//! | --- | --- | --- | --- |
//! | success | a complete answer | status 200 and one token; errors after it do not count | a complete answer |
//! | TTFT | first event with output − sent | first event that its rule takes for a token − sent | first event of any kind − sent |
//! | ITL | gap between events with output, divided by the later one's tokens where they are told, once per token | gap between its tokens' events | gap between any two events |
//! | E2E | last event with output − sent | last token's event − sent | end of the answer − sent |
//! | TPOT | (last − first)/(N − 1) | (E2E − TTFT)/(N − 1) | (E2E − TTFT)/(N − 1) |
//! | N | usage, else tokens that events tell, else events with output | usage of an event that is no token, else (in the place of its tokenizer) its tokens' events | as Weir |
//!
//! *Sent* is just before a request is handed to the HTTP client, after any wait for a free place: connecting and
//! all queues behind it are in. TPOT needs N > 1. An answer that is no stream has an E2E, which ends with it, and
//! none of the others.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::run::{Arrival, End, Sample};

/// Whose definitions figures follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Semantics {
    /// Weir's own, as in its `docs/measurement.md`.
    #[default]
    Weir,
    /// Those of `vllm bench serve`.
    Vllm,
    /// Those of OpenTelemetry's metrics for clients of generative models.
    Otel,
}

/// One request under some semantics. Times are in seconds after it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Whether it counts as a success.
    pub is_success: bool,
    /// Time to the first token.
    pub ttft_s: Option<f64>,
    /// Latencies between tokens.
    pub itls_s: Vec<f64>,
    /// Time per output token after the first.
    pub tpot_s: Option<f64>,
    /// Time to the end.
    pub e2e_s: Option<f64>,
    /// Tokens of the prompt.
    pub input: Length,
    /// Tokens of the answer.
    pub output: Length,
}

/// A number of tokens and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The server's usage told it.
    Usage(u64),
    /// Events told of each token.
    Told(u64),
    /// Events were counted: an estimate, as one may carry several tokens.
    Counted(u64),
    /// The data set said it.
    DataSet(u64),
    /// Nobody knows.
    Unknown,
}

impl Length {
    /// How many tokens, if anybody knows.
    pub fn tokens(self) -> Option<u64> {
        match self {
            Length::Usage(tokens)
            | Length::Told(tokens)
            | Length::Counted(tokens)
            | Length::DataSet(tokens) => Some(tokens),
            Length::Unknown => None,
        }
    }
}

impl Semantics {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Semantics::Weir => "weir",
            Semantics::Vllm => "vllm",
            Semantics::Otel => "otel",
        }
    }

    /// Whether an event counts for times.
    pub fn counts(self, arrival: &Arrival) -> bool {
        match self {
            Semantics::Weir => arrival.output.is_some(),
            Semantics::Vllm => arrival.is_vllm_token,
            Semantics::Otel => true,
        }
    }

    /// Whether a request counts as a success.
    pub fn is_success(self, sample: &Sample) -> bool {
        match self {
            Semantics::Weir | Semantics::Otel => sample.end == End::Complete,
            Semantics::Vllm => sample.vllm.is_success,
        }
    }

    /// A request as these semantics see it.
    pub fn view(self, sample: &Sample) -> View {
        let since = |at_ns: u64| at_ns.saturating_sub(sample.times.sent_ns) as f64 / 1e9;
        let events: Vec<&Arrival> = sample.arrivals.iter().filter(|arrival| self.counts(arrival)).collect();
        let ttft_s = events.first().map(|first| since(first.at_ns));
        let last = match self {
            Semantics::Weir | Semantics::Vllm => events.last().map(|last| last.at_ns),
            Semantics::Otel => None,
        };
        let has_end = sample.end == End::Complete && (self == Semantics::Otel || !sample.wire.is_stream);
        let e2e_s = last.or(has_end.then_some(sample.times.ended_ns)).map(since);
        let output = self.output(sample);
        View {
            is_success: self.is_success(sample),
            ttft_s,
            itls_s: self.itls(&events),
            tpot_s: tpot(ttft_s, e2e_s, output.tokens()),
            e2e_s,
            input: input(sample),
            output,
        }
    }

    fn itls(self, events: &[&Arrival]) -> Vec<f64> {
        let mut itls = Vec::with_capacity(events.len());
        for pair in events.windows(2) {
            let gap = pair[1].at_ns.saturating_sub(pair[0].at_ns) as f64 / 1e9;
            let tokens = pair[1].tokens.filter(|_| self == Semantics::Weir).unwrap_or(1).max(1);
            itls.extend((0..tokens).map(|_| gap / f64::from(tokens)));
        }
        itls
    }

    fn output(self, sample: &Sample) -> Length {
        let usage = match self {
            Semantics::Weir | Semantics::Otel => sample.usage.output,
            Semantics::Vllm => sample.vllm.output_tokens,
        };
        if let Some(tokens) = usage {
            return Length::Usage(tokens);
        }
        let counted = |counts: fn(&Arrival) -> bool| {
            let events = sample.arrivals.iter().filter(|arrival| counts(arrival)).count();
            if events == 0 { Length::Unknown } else { Length::Counted(events as u64) }
        };
        match self {
            Semantics::Vllm => counted(|arrival| arrival.is_vllm_token),
            Semantics::Weir | Semantics::Otel => {
                told(sample).unwrap_or_else(|| counted(|arrival| arrival.output.is_some()))
            }
        }
    }
}

/// The tokens that events tell, if each event with output does.
fn told(sample: &Sample) -> Option<Length> {
    let mut outputs = sample.arrivals.iter().filter(|arrival| arrival.output.is_some()).peekable();
    outputs.peek()?;
    outputs.map(|arrival| arrival.tokens.map(u64::from)).sum::<Option<u64>>().map(Length::Told)
}

fn input(sample: &Sample) -> Length {
    let meant = || sample.asked.input_tokens.map(|tokens| Length::DataSet(tokens.into()));
    sample.usage.input.map(Length::Usage).or_else(meant).unwrap_or(Length::Unknown)
}

fn tpot(ttft_s: Option<f64>, e2e_s: Option<f64>, tokens: Option<u64>) -> Option<f64> {
    let after_first = tokens?.checked_sub(1).filter(|tokens| *tokens > 0)?;
    Some((e2e_s? - ttft_s?) / after_first as f64)
}

impl fmt::Display for Semantics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Semantics {
    type Err = UnknownSemantics;

    fn from_str(name: &str) -> Result<Self, UnknownSemantics> {
        match name {
            "weir" => Ok(Semantics::Weir),
            "vllm" => Ok(Semantics::Vllm),
            "otel" => Ok(Semantics::Otel),
            _ => Err(UnknownSemantics(name.to_owned())),
        }
    }
}

/// A name that no semantics have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSemantics(String);

impl fmt::Display for UnknownSemantics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` are no semantics: allowed are weir, vllm and otel", self.0)
    }
}

impl std::error::Error for UnknownSemantics {}

#[cfg(test)]
mod tests;
