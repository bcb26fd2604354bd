//! Exchanges for unit tests, and what a snapshot is taken from.

use std::sync::Arc;

use weir_analysis::cost::Valuation;
use weir_analysis::snapshot::Snapshot as AnalysisSnapshot;
use weir_analysis::time::Moment;
use weir_core::dialect::Dialect;
use weir_core::exchange::{
    Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, Output, TokenCount, WallTime,
};
use weir_core::gaps::GapCell;
use weir_core::inflight::Inflight;
use weir_core::lanes::Lanes;
use weir_core::observation::Observation;
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::tally::Tally;
use weir_core::timeline::{Mark, Offset, Stamp, Timeline};
use weir_core::trace::{SpanId, TraceId, TracePlace};
use weir_core::usage::{Provenance, Usage};

use crate::action_counts::ActionCounts;
use crate::config::TelemetryConfig;
use crate::metrics::{Live, Metrics, Snapshot};
use crate::recorder::{Beside, Recorder};
use crate::self_metrics::{LoopLag, SelfMetrics};

pub(crate) const MS: u64 = 1_000_000;

/// When the recorder began.
pub(crate) const STARTED: WallTime = WallTime(1_700_000_000_000_000_000);

/// When every exchange was received.
pub(crate) const RECEIVED: WallTime = WallTime(1_709_210_096_000_000_070);

/// A recorder with everything that it reads.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) metrics: Metrics,
    pub(crate) inflight: Inflight,
    pub(crate) lanes: Lanes,
    pub(crate) tally: Tally,
    pub(crate) own: SelfMetrics,
    pub(crate) actions: ActionCounts,
    pub(crate) analysis: AnalysisSnapshot,
}

impl House {
    pub(crate) fn new(config: &TelemetryConfig) -> Self {
        Self {
            metrics: Metrics::new(config),
            inflight: Inflight::new(16),
            lanes: Lanes::default(),
            tally: Tally::default(),
            own: SelfMetrics::new(STARTED, Arc::<LoopLag>::default(), None, None),
            actions: ActionCounts::default(),
            analysis: AnalysisSnapshot::empty(Moment(0), Moment(0)),
        }
    }

    pub(crate) fn record(&mut self, exchange: Exchange, kept: bool) {
        let beside = Beside { valuation: Valuation::UNKNOWN, kept };
        self.metrics.record(&Observation::Exchange(Box::new(exchange)), &beside);
    }

    /// A snapshot, so many seconds after the start.
    pub(crate) fn snapshot(&self, seconds: u64) -> Snapshot {
        self.metrics.snapshot(&Live {
            now: Stamp(0),
            wall: after(seconds),
            stall_after: Offset(1_000 * MS),
            inflight: &self.inflight,
            lanes: &self.lanes,
            tally: &self.tally,
            own: &self.own,
            analysis: &self.analysis,
            state: None,
            actions: &self.actions,
            otlp: None,
        })
    }
}

/// So many seconds after the start.
pub(crate) const fn after(seconds: u64) -> WallTime {
    WallTime(STARTED.0 + seconds * 1_000_000_000)
}

/// A whole stream: the first event at 90 ms, four chunks at 100, 110, 120 and 150 ms, over at 151 ms.
pub(crate) fn stream(model: &str) -> Exchange {
    let cell = GapCell::default();
    for gap in [10, 10, 30] {
        cell.add(gap * MS, 1);
    }
    let marks = [
        (Mark::Queued, 1),
        (Mark::Admitted, 21),
        (Mark::Connected, 22),
        (Mark::Dispatched, 23),
        (Mark::ResponseHead, 90),
        (Mark::FirstByte, 90),
        (Mark::FirstEvent, 90),
        (Mark::FirstToken, 100),
        (Mark::LastToken, 150),
        (Mark::Terminal, 150),
        (Mark::Ended, 151),
    ];
    let mut exchange = exchange(Dialect::Chat, Some(200), Outcome::Completed, None, &marks);
    exchange.request.model = Some(model.into());
    exchange.answer = Answer {
        bytes: 400,
        stream: true,
        model: Some(format!("{model}-0613").into()),
        finish_reasons: vec!["stop".into()],
        usage: Some(Usage { input: Some(9), output: Some(4), cached_input: Some(3), ..Usage::default() }),
        tokens: Some(TokenCount { count: 4, provenance: Provenance::Reported }),
        output: Some(Output { chunks: 4, tokens: 4, gaps: cell.read(), ..Output::default() }),
        ..Answer::default()
    };
    exchange
}

/// A request that was turned away because the queue was full.
pub(crate) fn turned_away() -> Exchange {
    let error = Some(ErrorType::ProxyQueueFull);
    exchange(Dialect::Chat, Some(429), Outcome::QueueFull, error, &[(Mark::Queued, 1), (Mark::Ended, 2)])
}

/// An exchange with these marks, in milliseconds.
pub(crate) fn exchange(
    dialect: Dialect,
    status: Option<u16>,
    outcome: Outcome,
    error_type: Option<ErrorType>,
    marks: &[(Mark, u64)],
) -> Exchange {
    let mut timeline = Timeline::default();
    for &(mark, at) in marks {
        timeline.set(mark, Offset(at * MS));
    }
    Exchange {
        id: ExchangeId(1),
        request_id: "request".into(),
        trace: TraceId::new([0xab; 16]).zip(SpanId::new([0xcd; 8])).map(|(trace_id, span)| {
            Box::new(TracePlace { trace_id, server_span: span, client_span: span, parent: None })
        }),
        received: RECEIVED,
        received_mono: Stamp(1_000 * MS),
        request: Asked {
            method: "POST".into(),
            http: HttpVersion::Http2,
            path: "/v1/chat/completions".into(),
            dialect,
            model: Some("m".into()),
            stream: true,
            choices: 1,
            bytes: 77,
            settings: Box::default(),
            prompt_hash: None,
            caller: Caller::default(),
        },
        upstream: "default".into(),
        status,
        outcome,
        error_type,
        timeline,
        body_wait: Offset(0),
        answer: Answer::default(),
        content: None,
    }
}
