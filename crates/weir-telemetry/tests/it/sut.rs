//! A pipeline with everything around it, and exchanges to feed it with.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::TaskTracker;
use weir_analysis::alert::Rules;
use weir_analysis::api::{AlertCommand, CommandError, ExchangeFilter, ExchangeSummary};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;
use weir_core::dialect::Dialect;
use weir_core::exchange::{
    Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, ItlBasis, Output, Stalls, TokenCount, WallTime,
};
use weir_core::gaps::GapCell;
use weir_core::inflight::Inflight;
use weir_core::lanes::Lanes;
use weir_core::observation::{LandmarkEvent, Observation};
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::page::PageFormat;
use weir_core::tally::Tally;
use weir_core::timeline::{Mark, Offset, Stamp, Timeline};
use weir_core::usage::{Provenance, Usage};
use weir_telemetry::{
    ActionCounts, AlertNews, Inputs, Pipeline, PipelineHandle, TelemetryConfig, read_records,
};

use crate::page::Page;

pub(crate) const MS: u64 = 1_000_000;

/// The runtime's clock, so that time stands still when tests pause it.
pub(crate) fn clock() -> Stamp {
    thread_local!(static START: tokio::time::Instant = tokio::time::Instant::now());
    Stamp(1_000_000 * MS).plus(START.with(|start| start.elapsed()).into())
}

/// The system under test.
pub(crate) struct Sut {
    pub(crate) exchanges: mpsc::Sender<Box<Exchange>>,
    pub(crate) pages: mpsc::Sender<(PageFormat, oneshot::Sender<String>)>,
    pub(crate) landmarks: mpsc::Sender<(LandmarkEvent, String)>,
    pub(crate) asking: mpsc::Sender<(ExchangeFilter, oneshot::Sender<Vec<ExchangeSummary>>)>,
    pub(crate) commands: mpsc::Sender<(AlertCommand, oneshot::Sender<Result<(), CommandError>>)>,
    pub(crate) rules: mpsc::Sender<Rules>,
    pub(crate) news: mpsc::Receiver<AlertNews>,
    pub(crate) snapshot: watch::Receiver<Arc<Snapshot>>,
    pub(crate) inflight: Arc<Inflight>,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) actions: Arc<ActionCounts>,
    pub(crate) handle: PipelineHandle,
    pub(crate) tracker: TaskTracker,
}

impl Sut {
    pub(crate) fn start(config: TelemetryConfig) -> Self {
        Self::try_start(config).unwrap()
    }

    pub(crate) fn try_start(config: TelemetryConfig) -> std::io::Result<Self> {
        let (exchanges, incoming) = mpsc::channel(8_192);
        let (pages, asked) = mpsc::channel(4);
        let (landmarks, happened) = mpsc::channel(4);
        let (asking, exchanges_asked) = mpsc::channel(4);
        let (commands, alert_commands) = mpsc::channel(4);
        let (rules, rules_read) = mpsc::channel(4);
        let (alert_news, news) = mpsc::channel(64);
        let begun = Arc::new(Snapshot::empty(Moment(0), Moment(0)));
        let (analysis, snapshot) = watch::channel(begun);
        let (inflight, lanes, tally) =
            (Arc::new(Inflight::new(1_024)), Arc::<Lanes>::default(), Arc::<Tally>::default());
        let actions = Arc::<ActionCounts>::default();
        let inputs = Inputs {
            exchanges: incoming,
            pages: asked,
            landmarks: happened,
            exchanges_asked,
            alert_commands,
            rules: rules_read,
            alert_news,
            actions: Arc::clone(&actions),
            analysis,
            inflight: Arc::clone(&inflight),
            lanes: Arc::clone(&lanes),
            tally: Arc::clone(&tally),
            clock,
        };
        let tracker = TaskTracker::new();
        let handle = Pipeline::start(config, inputs, &tracker)?;
        Ok(Self {
            exchanges,
            pages,
            landmarks,
            asking,
            commands,
            rules,
            news,
            snapshot,
            inflight,
            lanes,
            tally,
            actions,
            handle,
            tracker,
        })
    }

    pub(crate) async fn send(&self, exchange: Exchange) {
        self.exchanges.send(Box::new(exchange)).await.unwrap();
    }

    /// The page, once everything sent was taken in.
    pub(crate) async fn page(&self) -> Page {
        Page::parse(&self.text().await)
    }

    pub(crate) async fn text(&self) -> String {
        self.text_in(PageFormat::Text).await
    }

    pub(crate) async fn text_in(&self, format: PageFormat) -> String {
        let (reply, page) = oneshot::channel();
        self.pages.send((format, reply)).await.unwrap();
        page.await.unwrap()
    }

    pub(crate) async fn shutdown(self) {
        self.handle.shutdown().await;
        self.tracker.close();
        tokio::time::timeout(Duration::from_secs(2), self.tracker.wait()).await.unwrap();
    }
}

/// The exchanges and pulses of a record file.
pub(crate) fn recorded(path: &Path) -> Vec<Observation> {
    let flows =
        |observation: &Observation| matches!(observation, Observation::Exchange(_) | Observation::Pulse(_));
    all_recorded(path).into_iter().filter(flows).collect()
}

/// All observations of a record file.
pub(crate) fn all_recorded(path: &Path) -> Vec<Observation> {
    read_records(path).unwrap().map(Result::unwrap).collect()
}

/// A whole stream: 4 chunks of one token, at 100, 110, 120 and 150 ms, over at 151 ms.
pub(crate) fn stream(id: u64, model: &str) -> Exchange {
    let cell = GapCell::default();
    for gap in [10, 10, 30] {
        cell.add(gap * MS, 1);
    }
    let output = Output {
        chunks: 4,
        tokens: 4,
        itl_basis: ItlBasis::Tokens,
        gaps: cell.read(),
        all_gaps: None,
        upstream_stalls: Stalls::default(),
        downstream_stalls: Stalls { count: 1, total: Offset(5 * MS), longest: Offset(5 * MS) },
        stalls: Vec::new(),
    };
    let answer = Answer {
        bytes: 400,
        stream: true,
        model: Some(model.into()),
        finish_reasons: vec!["stop".into()],
        usage: Some(Usage { input: Some(9), output: Some(4), total: Some(13), ..Usage::default() }),
        tokens: Some(TokenCount { count: 4, provenance: Provenance::Reported }),
        output: Some(output),
        ..Answer::default()
    };
    let marks = [
        (Mark::Queued, 1),
        (Mark::Admitted, 21),
        (Mark::Connected, 22),
        (Mark::Dispatched, 23),
        (Mark::ResponseHead, 90),
        (Mark::FirstByte, 90),
        (Mark::FirstToken, 100),
        (Mark::FirstAnswer, 110),
        (Mark::LastToken, 150),
        (Mark::Terminal, 150),
        (Mark::Ended, 151),
    ];
    Exchange { answer, ..exchange(id, Some(model), Some(200), Outcome::Completed, None, &marks) }
}

/// A request that was turned away because the queue was full.
pub(crate) fn turned_away(id: u64, model: Option<&str>) -> Exchange {
    let marks = [(Mark::Queued, 1), (Mark::Ended, 2)];
    let error = Some(ErrorType::ProxyQueueFull);
    exchange(id, model, Some(429), Outcome::QueueFull, error, &marks)
}

pub(crate) fn exchange(
    id: u64,
    model: Option<&str>,
    status: Option<u16>,
    outcome: Outcome,
    error_type: Option<ErrorType>,
    marks: &[(Mark, u64)],
) -> Exchange {
    let mut timeline = Timeline::default();
    for &(mark, at) in marks {
        timeline.set(mark, Offset(at * MS));
    }
    let request = Asked {
        method: "POST".into(),
        http: HttpVersion::Http11,
        path: "/v1/chat/completions".into(),
        dialect: Dialect::Chat,
        model: model.map(Into::into),
        stream: true,
        choices: 1,
        bytes: 77,
        settings: Box::default(),
        prompt_hash: None,
        caller: Caller::default(),
    };
    Exchange {
        id: ExchangeId(id),
        request_id: format!("request-{id}").into(),
        trace: None,
        received: WallTime(1_709_210_096_000_000_070),
        received_mono: Stamp(clock().0 - 151 * MS),
        request,
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
