//! What is written down when an alert fires: how things stood, and which exchanges were slow or failed.
//! Nothing in it tells what was said or on whose behalf.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use weir_analysis::alert::Transition;
use weir_analysis::api::ExchangeSummary;
use weir_analysis::snapshot::Snapshot;
use weir_core::inflight::{Inflight, LiveReading};
use weir_core::timeline::Stamp;

/// The form of a bundle. It changes when a reader of the old form would misread the new one.
const FORM: u32 = 1;

/// So many exchanges in flight are written down, those that were silent for the longest.
const MAX_IN_FLIGHT: usize = 1_000;

/// A bundle.
#[derive(Debug, Serialize)]
pub(super) struct Bundle {
    version: u32,
    /// That the alert began to fire.
    transition: Transition,
    /// How things stood.
    #[serde(serialize_with = "shared")]
    snapshot: Arc<Snapshot>,
    /// Absent where they could not be asked for.
    exchanges: Option<Vec<ExchangeSummary>>,
    /// What was in flight, the longest silence first.
    in_flight: Vec<Running>,
}

/// An exchange in flight.
#[derive(Debug, Serialize)]
struct Running {
    id: u64,
    model: Option<Box<str>>,
    upstream: Option<Box<str>>,
    phase: &'static str,
    age_s: f64,
    silent_s: f64,
    ttft_s: Option<f64>,
    chunks: u64,
    tokens: u64,
}

fn shared<S: Serializer>(snapshot: &Arc<Snapshot>, serializer: S) -> Result<S::Ok, S::Error> {
    snapshot.serialize(serializer)
}

impl Bundle {
    pub(super) fn new(
        transition: Transition,
        snapshot: Arc<Snapshot>,
        exchanges: Option<Vec<ExchangeSummary>>,
        inflight: &Inflight,
        now: Stamp,
    ) -> Self {
        let in_flight = inflight.by_silence(now).into_iter().take(MAX_IN_FLIGHT);
        let in_flight = in_flight.map(|reading| Running::of(reading, now)).collect();
        Self { version: FORM, transition, snapshot, exchanges, in_flight }
    }
}

impl Running {
    fn of(reading: LiveReading, now: Stamp) -> Self {
        Self {
            id: reading.id.0,
            phase: reading.phase.as_str(),
            age_s: now.since(reading.received).as_secs_f64(),
            silent_s: reading.silence(now).as_secs_f64(),
            ttft_s: reading.first_token.map(|at| at.as_secs_f64()),
            chunks: reading.chunks,
            tokens: reading.tokens,
            model: reading.model,
            upstream: reading.upstream,
        }
    }
}

/// Those that are worth a look, given all, the newest first: one that failed and one that was slow to its
/// first token in turn, so that neither kind keeps out the other. The newest failure stands before older
/// ones, the slowest before the faster.
pub(super) fn worth_a_look(all: Vec<ExchangeSummary>, most: usize) -> Vec<ExchangeSummary> {
    let (failed, mut slow): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|exchange| exchange.error_type.is_some());
    slow.retain(|exchange| exchange.timings.ttft_s.is_some());
    let ttft = |exchange: &ExchangeSummary| exchange.timings.ttft_s.unwrap_or_default();
    slow.sort_by(|a, b| ttft(b).total_cmp(&ttft(a)));
    let (mut failed, mut slow) = (failed.into_iter(), slow.into_iter());
    let mut chosen = Vec::new();
    while chosen.len() < most {
        let next: Vec<_> = failed.next().into_iter().chain(slow.next()).collect();
        if next.is_empty() {
            break;
        }
        chosen.extend(next);
    }
    chosen.truncate(most);
    chosen
}

#[cfg(test)]
mod tests {
    use weir_analysis::api::{ExchangeSummary, RequestSummary, Timings, TokenSummary};
    use weir_analysis::time::Moment;

    use super::worth_a_look;

    fn exchange(id: &str, ttft_s: Option<f64>, error_type: Option<&str>) -> ExchangeSummary {
        ExchangeSummary {
            request_id: id.to_owned(),
            trace_id: None,
            at: Moment(1),
            request: RequestSummary {
                model: None,
                upstream: "default".to_owned(),
                path: "/v1/chat/completions".to_owned(),
                dialect: "chat".to_owned(),
                stream: true,
            },
            status: Some(200),
            outcome: "completed".to_owned(),
            error_type: error_type.map(str::to_owned),
            tokens: TokenSummary { input: None, output: None, output_provenance: None, cached_input: None },
            timings: Timings {
                queue_wait_s: None,
                ttft_s,
                upstream_ttft_s: None,
                tpot_s: None,
                tps: None,
                e2e_s: None,
                duration_s: 1.0,
            },
            flow: None,
            cost_usd: None,
            waterfall: Vec::new(),
        }
    }

    #[test]
    fn neither_failures_nor_slowness_keep_out_the_other() {
        let all = vec![
            exchange("fast", Some(0.1), None),
            exchange("new failure", None, Some("stream_error")),
            exchange("slowest", Some(9.0), None),
            exchange("no stream", None, None),
            exchange("slow", Some(2.0), None),
            exchange("old failure", Some(10.0), Some("stream_error")),
            exchange("older failure", None, Some("auth")),
        ];
        let chosen = |most| -> Vec<String> {
            worth_a_look(all.clone(), most).into_iter().map(|exchange| exchange.request_id).collect()
        };
        assert_eq!(chosen(1), ["new failure"]);
        assert_eq!(chosen(4), ["new failure", "slowest", "old failure", "slow"]);
        let whole = ["new failure", "slowest", "old failure", "slow", "older failure", "fast"];
        assert_eq!(chosen(100), whole);
        assert!(worth_a_look(Vec::new(), 5).is_empty());
    }
}
