//! What can be asked of the running analysis, and told to it, as plain data: by those who ask over the
//! admin port, and by whoever answers.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::exchange::{Exchange, Output, Stalls};
use weir_core::lanes::UNKNOWN;
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::timeline::{Mark, Offset};

use crate::time::Moment;

/// Which of the exchanges that are kept are asked for. Each condition that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeFilter {
    /// The model asked for; `unknown` for those that name none.
    pub model: Option<String>,
    /// The name of the upstream.
    pub upstream: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What went wrong.
    pub error_type: Option<ErrorType>,
    /// The time to first token is known and at least so long.
    pub min_ttft: Option<Offset>,
    /// The time to the last token, or to the end of any other answer, is at least so long.
    pub min_e2e: Option<Offset>,
    /// It was received at or after this moment.
    pub since: Option<Moment>,
    /// Its request id.
    pub request_id: Option<String>,
    /// How many are wanted at most, the newest first.
    pub limit: usize,
}

impl ExchangeFilter {
    /// Whether an exchange is among those asked for. The limit is for whoever collects them.
    pub fn matches(&self, exchange: &Exchange) -> bool {
        let timeline = &exchange.timeline;
        let model = exchange.request.model.as_deref().unwrap_or(UNKNOWN);
        self.model.as_deref().is_none_or(|wanted| wanted == model)
            && self.upstream.as_deref().is_none_or(|wanted| wanted == &*exchange.upstream)
            && self.outcome.is_none_or(|wanted| wanted == exchange.outcome)
            && self.error_type.is_none_or(|wanted| Some(wanted) == exchange.error_type)
            && self.min_ttft.is_none_or(|least| timeline.ttft().is_some_and(|ttft| ttft >= least))
            && self.min_e2e.is_none_or(|least| timeline.e2e().is_some_and(|e2e| e2e >= least))
            && self.since.is_none_or(|since| exchange.received.0 >= since.0)
            && self.request_id.as_deref().is_none_or(|wanted| wanted == &*exchange.request_id)
    }
}

/// An exchange in short. It tells neither what was said nor on whose behalf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeSummary {
    /// The client's `x-request-id`, else one made for it.
    pub request_id: String,
    /// The trace that it belongs to, in hexadecimal.
    pub trace_id: Option<String>,
    /// When its request head was read, in nanoseconds since the Unix epoch.
    pub at: Moment,
    /// What was asked of whom.
    pub request: RequestSummary,
    /// The status that the client got; absent when it left before one.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: String,
    /// What went wrong, if anything did.
    pub error_type: Option<String>,
    /// How many tokens went in and out.
    pub tokens: TokenSummary,
    /// How long things took.
    pub timings: Timings,
    /// How evenly its output flowed; absent where none did.
    pub flow: Option<Flow>,
    /// What it cost, in US dollars; absent where no price is known.
    pub cost_usd: Option<f64>,
    /// When things happened, in the order in which they normally come.
    pub waterfall: Vec<Waypoint>,
}

/// What was asked of whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSummary {
    /// The model asked for.
    pub model: Option<String>,
    /// The name of the upstream.
    pub upstream: String,
    /// The path, without the query.
    pub path: String,
    /// The dialect that the path names.
    pub dialect: String,
    /// Whether a stream was asked for.
    pub stream: bool,
}

/// Token counts of one exchange. Absent is unknown, which is not zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenSummary {
    /// Tokens of the prompt, cached ones included, as reported.
    pub input: Option<u64>,
    /// Tokens generated, reasoning included.
    pub output: Option<u64>,
    /// Where `output` is known from: `reported`, `engine_timings`, `token_ids`, `logprobs`, or
    /// `counted_chunks`, where chunks stand in for tokens.
    pub output_provenance: Option<String>,
    /// Prompt tokens that came from a cache, as reported.
    pub cached_input: Option<u64>,
}

/// How long the parts of an exchange took, in seconds. Absent where a part did not come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timings {
    /// Waiting for admission.
    pub queue_wait_s: Option<f64>,
    /// From the request head to the first token, the wait for admission included.
    pub ttft_s: Option<f64>,
    /// From the hand-over to the upstream to the first token.
    pub upstream_ttft_s: Option<f64>,
    /// Per output token after the first: (last token − first token)/(N − 1).
    pub tpot_s: Option<f64>,
    /// Output tokens per second after the first.
    pub tps: Option<f64>,
    /// From the request head to the last token, or to the end of any other answer.
    pub e2e_s: Option<f64>,
    /// From the request head to the end, however it ended.
    pub duration_s: f64,
}

/// How evenly the output of a stream flowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Mean gap per token, in seconds.
    pub itl_mean_s: Option<f64>,
    /// 95th percentile of the gap per token, in seconds.
    pub itl_p95_s: Option<f64>,
    /// Times in which the upstream sent no output for longer than `stall_after`.
    pub upstream_stalls: StallSummary,
    /// Times in which the client took no bytes.
    pub downstream_stalls: StallSummary,
}

/// Interruptions of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallSummary {
    /// How many.
    pub count: u32,
    /// The longest, in seconds; absent where there was none.
    pub longest_s: Option<f64>,
}

/// Something that happened in an exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waypoint {
    /// What: `received`, `queued`, `admitted`, `connected`, `dispatched`, `response_head`, `first_byte`,
    /// `first_event`, `first_token`, `first_answer`, `last_token`, `terminal` or `ended`.
    pub mark: String,
    /// When, in seconds since the request head was read.
    pub at_s: f64,
}

impl ExchangeSummary {
    /// An exchange in short, with what it cost, if that is known.
    pub fn of(exchange: &Exchange, cost_usd: Option<f64>) -> Self {
        let (asked, timeline) = (&exchange.request, &exchange.timeline);
        Self {
            request_id: exchange.request_id.to_string(),
            trace_id: exchange.trace.as_ref().map(|place| place.trace_id.to_string()),
            at: Moment(exchange.received.0),
            request: RequestSummary {
                model: asked.model.as_deref().map(str::to_owned),
                upstream: exchange.upstream.to_string(),
                path: asked.path.to_string(),
                dialect: asked.dialect.as_str().to_owned(),
                stream: asked.stream,
            },
            status: exchange.status,
            outcome: exchange.outcome.as_str().to_owned(),
            error_type: exchange.error_type.map(|error| error.as_str().to_owned()),
            tokens: TokenSummary::of(exchange),
            timings: Timings::of(exchange),
            flow: exchange.answer.output.as_ref().map(Flow::of),
            cost_usd,
            waterfall: timeline.iter().map(Waypoint::from).collect(),
        }
    }
}

impl TokenSummary {
    fn of(exchange: &Exchange) -> Self {
        let (usage, tokens) = (exchange.answer.usage, exchange.answer.tokens);
        Self {
            input: usage.and_then(|usage| usage.input),
            output: tokens.map(|tokens| tokens.count),
            output_provenance: tokens.map(|tokens| tokens.provenance.as_str().to_owned()),
            cached_input: usage.and_then(|usage| usage.cached_input),
        }
    }
}

impl Timings {
    fn of(exchange: &Exchange) -> Self {
        let timeline = &exchange.timeline;
        Self {
            queue_wait_s: seconds(timeline.queue_wait()),
            ttft_s: seconds(timeline.ttft()),
            upstream_ttft_s: seconds(timeline.upstream_ttft()),
            tpot_s: exchange.tpot(),
            tps: exchange.tps(),
            e2e_s: seconds(timeline.e2e()),
            duration_s: exchange.duration().as_secs_f64(),
        }
    }
}

impl Flow {
    fn of(output: &Output) -> Self {
        let itl = &output.gaps.itl;
        Self {
            itl_mean_s: seconds(itl.mean()),
            itl_p95_s: seconds(itl.quantile(0.95)),
            upstream_stalls: StallSummary::from(output.upstream_stalls),
            downstream_stalls: StallSummary::from(output.downstream_stalls),
        }
    }
}

impl From<Stalls> for StallSummary {
    fn from(stalls: Stalls) -> Self {
        let longest = (stalls.count > 0).then_some(stalls.longest);
        Self { count: stalls.count, longest_s: seconds(longest) }
    }
}

impl From<(Mark, Offset)> for Waypoint {
    fn from((mark, at): (Mark, Offset)) -> Self {
        Self { mark: mark.as_str().to_owned(), at_s: at.as_secs_f64() }
    }
}

fn seconds(offset: Option<Offset>) -> Option<f64> {
    offset.map(Offset::as_secs_f64)
}

/// What an operator may do with an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlertCommand {
    /// Tell nobody of it for a while.
    Silence {
        /// The alert's name.
        alert: String,
        /// For how long from now.
        length: Duration,
    },
    /// Tell of it again.
    Unsilence {
        /// The alert's name.
        alert: String,
    },
    /// Somebody has seen that it fires.
    Acknowledge {
        /// The alert's name.
        alert: String,
        /// What they say to it; may be empty.
        note: String,
    },
}

/// Why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// There is no alert of this name.
    UnknownAlert,
    /// Only an alert that fires can be acknowledged.
    NotFiring,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownAlert => "there is no alert of this name",
            Self::NotFiring => "the alert does not fire: there is nothing to acknowledge",
        })
    }
}

impl std::error::Error for CommandError {}

#[cfg(test)]
mod tests {
    use weir_core::exchange::{Caller, Stalls, WallTime};
    use weir_core::outcome::{ErrorType, Outcome};
    use weir_core::timeline::{Offset, Timeline};

    use super::{ExchangeFilter, ExchangeSummary, StallSummary};
    use crate::fixture::{MS, stream};
    use crate::time::Moment;

    #[test]
    fn every_condition_has_to_hold() {
        let mut exchange = stream(800, &[20, 30]);
        exchange.received = WallTime(1_000);
        let all = ExchangeFilter {
            model: Some("m".into()),
            upstream: Some("default".into()),
            outcome: Some(Outcome::Completed),
            error_type: None,
            min_ttft: Some(Offset(800 * MS)),
            min_e2e: Some(Offset(850 * MS)),
            since: Some(Moment(1_000)),
            request_id: Some("r".into()),
            limit: 1,
        };
        assert!(all.matches(&exchange));
        assert!(ExchangeFilter::default().matches(&exchange));
        for changed in [
            ExchangeFilter { model: Some("n".into()), ..all.clone() },
            ExchangeFilter { upstream: Some("m".into()), ..all.clone() },
            ExchangeFilter { outcome: Some(Outcome::Truncated), ..all.clone() },
            ExchangeFilter { error_type: Some(ErrorType::Auth), ..all.clone() },
            ExchangeFilter { min_ttft: Some(Offset(800 * MS + 1)), ..all.clone() },
            ExchangeFilter { min_e2e: Some(Offset(850 * MS + 1)), ..all.clone() },
            ExchangeFilter { since: Some(Moment(1_001)), ..all.clone() },
            ExchangeFilter { request_id: Some("R".into()), ..all.clone() },
        ] {
            assert!(!changed.matches(&exchange), "{changed:?}");
        }
    }

    #[test]
    fn what_has_no_first_token_has_no_long_one_and_what_names_no_model_is_unknown() {
        let mut exchange = stream(800, &[]);
        exchange.timeline = Timeline::default();
        exchange.request.model = None;
        let least = ExchangeFilter { min_ttft: Some(Offset(0)), ..ExchangeFilter::default() };
        assert!(!least.matches(&exchange));
        let unknown = ExchangeFilter { model: Some("unknown".into()), ..ExchangeFilter::default() };
        assert!(unknown.matches(&exchange));
    }

    #[test]
    fn a_summary_tells_the_times_in_seconds_and_nothing_of_what_was_said() {
        let mut exchange = stream(800, &[20, 30]);
        exchange.request.caller = Caller { session: Some("secret".into()), user: Some("secret".into()) };
        let summary = ExchangeSummary::of(&exchange, Some(0.25));
        let timings = &summary.timings;
        assert_eq!(
            (timings.queue_wait_s, timings.ttft_s, timings.upstream_ttft_s),
            (Some(0.001), Some(0.8), Some(0.799))
        );
        assert_eq!((timings.tpot_s, timings.tps), (Some(0.025), Some(40.0)));
        assert_eq!((timings.e2e_s, timings.duration_s), (Some(0.85), 0.851));
        assert_eq!(
            (summary.tokens.input, summary.tokens.output, summary.tokens.cached_input),
            (Some(10), Some(3), None)
        );
        let flow = summary.flow.as_ref().unwrap();
        assert_eq!(flow.itl_mean_s, Some(0.025));
        // Of two gaps the second is the 95th percentile; its bin is at most 6.25 % wide.
        let p95 = flow.itl_p95_s.unwrap();
        assert!((0.028..=0.03).contains(&p95), "{p95}");
        let names: Vec<&str> = summary.waterfall.iter().map(|point| point.mark.as_str()).collect();
        assert_eq!((names[0], names[8], names[11]), ("received", "first_token", "ended"));
        assert_eq!(summary.waterfall[8].at_s, 0.8);
        let text = serde_json::to_string(&summary).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(serde_json::from_str::<ExchangeSummary>(&text).unwrap(), summary);
    }

    #[test]
    fn no_stall_has_no_longest() {
        let mut stalls = Stalls::default();
        assert_eq!(StallSummary::from(stalls), StallSummary { count: 0, longest_s: None });
        stalls.add(Offset(1_500 * MS));
        stalls.add(Offset(500 * MS));
        assert_eq!(StallSummary::from(stalls), StallSummary { count: 2, longest_s: Some(1.5) });
    }
}
