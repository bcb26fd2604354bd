//! The pipeline: one task that owns every recorder and hands each observation to all of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use weir_analysis::api::{ExchangeFilter, ExchangeSummary};
use weir_analysis::observatory::Observatory;
use weir_analysis::snapshot::Snapshot as AnalysisSnapshot;
use weir_analysis::time::Epoch;
use weir_core::exchange::Exchange;
use weir_core::inflight::Inflight;
use weir_core::lanes::Lanes;
use weir_core::observation::{Landmark, LandmarkEvent, Observation, Tick};
use weir_core::page::PageFormat;
use weir_core::tally::Tally;
use weir_core::timeline::Offset;

use crate::access_log::AccessLog;
use crate::clock::{self, Clock};
use crate::config::TelemetryConfig;
use crate::metrics::{Live, Metrics, Snapshot};
use crate::otlp::{Otlp, SnapshotAsk, Surroundings};
use crate::pulses::Pulses;
use crate::recent::Recent;
use crate::record_file::RecordFile;
use crate::recorder::Recorder;
use crate::self_metrics::{LoopLag, SelfMetrics};

/// How often exchanges in flight are looked at.
const TICK: Duration = Duration::from_secs(1);

/// How often exchanges that are over are taken in. Waking up for each of them would cost more than
/// recording it.
const GATHER: Duration = Duration::from_millis(50);

/// What the pipeline works on.
#[derive(Debug)]
pub struct Inputs {
    /// Exchanges that are over, from the data path's outlet.
    pub exchanges: mpsc::Receiver<Box<Exchange>>,
    /// Requests for a metrics page: in which format, and where to send it.
    pub pages: mpsc::Receiver<(PageFormat, oneshot::Sender<String>)>,
    /// What happens to Weir itself, with the particulars.
    pub landmarks: mpsc::Receiver<(LandmarkEvent, String)>,
    /// Who asks for the last exchanges.
    pub exchanges_asked: mpsc::Receiver<(ExchangeFilter, oneshot::Sender<Vec<ExchangeSummary>>)>,
    /// Where what is known is shown, a new one each second.
    pub analysis: watch::Sender<Arc<AnalysisSnapshot>>,
    /// What is in flight.
    pub inflight: Arc<Inflight>,
    /// The gauges of admission.
    pub lanes: Arc<Lanes>,
    /// The data path's own counters.
    pub tally: Arc<Tally>,
    /// The clock that the exchanges' stamps come from.
    pub clock: Clock,
}

/// The task's state.
#[derive(Debug)]
pub struct Pipeline {
    inputs: Inputs,
    stall_after: Offset,
    flush_timeout: Duration,
    /// Who asks for snapshots to export.
    snapshots: mpsc::Receiver<SnapshotAsk>,
    pulses: Pulses,
    recorders: Recorders,
    recent: Recent,
    observatory: Observatory,
    own: SelfMetrics,
}

/// Keeps the pipeline running; without it the pipeline shuts down by itself.
#[derive(Debug)]
pub struct PipelineHandle {
    stop: DropGuard,
    done: oneshot::Receiver<()>,
}

impl PipelineHandle {
    /// Takes in what is already queued, writes what is to be written, and ends the task. It takes
    /// no longer than two times [`TelemetryConfig::flush_timeout`].
    pub async fn shutdown(self) {
        drop(self.stop);
        // The sender is dropped when the task ends: that is the signal.
        let _ = self.done.await;
    }
}

impl Pipeline {
    /// Opens the recorders and starts the task. Fails if a file cannot be opened.
    pub fn start(
        config: TelemetryConfig,
        inputs: Inputs,
        tracker: &TaskTracker,
    ) -> io::Result<PipelineHandle> {
        let clock = inputs.clock;
        let started = clock::wall();
        let around = Surroundings { upstreams: config.upstreams.clone(), scheme: config.scheme };
        let metrics = Metrics::new(&config);
        let (otlp, asked) = match config.otlp {
            Some(otlp) => {
                let (otlp, asked) = Otlp::start(otlp, &around, clock)?;
                (Some(otlp), Some(asked))
            }
            None => (None, None),
        };
        let recorders = Recorders {
            metrics,
            access_log: match &config.access_log {
                Some(destination) => Some(AccessLog::open(destination, clock)?),
                None => None,
            },
            record: match &config.record {
                Some(path) => Some(RecordFile::open(path, started, clock)?),
                None => None,
            },
            otlp,
        };
        let stop = CancellationToken::new();
        let own = SelfMetrics::new(
            started,
            LoopLag::watch(clock, stop.clone(), tracker),
            recorders.access_log.as_ref().map(|log| log.writer.counts()),
            recorders.record.as_ref().map(|file| file.writer.counts()),
        );
        let pipeline = Self {
            inputs,
            snapshots: asked.unwrap_or_else(|| mpsc::channel(1).1),
            stall_after: config.stall_after.into(),
            flush_timeout: config.flush_timeout,
            pulses: Pulses::new(config.max_pulsing),
            recorders,
            recent: Recent::default(),
            observatory: Observatory::new(config.observatory, Epoch { mono: clock(), wall: started }),
            own,
        };
        let (ended, done) = oneshot::channel();
        let handle = PipelineHandle { stop: stop.clone().drop_guard(), done };
        tracker.spawn(async move {
            pipeline.run(&stop).await;
            drop(ended);
        });
        Ok(handle)
    }

    async fn run(mut self, stop: &CancellationToken) {
        self.landmark((LandmarkEvent::Started, format!("version {}", env!("CARGO_PKG_VERSION"))));
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut gather = interval(GATHER);
        gather.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Whichever is ready is chosen by chance, so that none of them keeps out the others.
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = gather.tick() => self.gather(),
                Some(page) = self.inputs.pages.recv() => self.answer(page),
                Some(ask) = self.snapshots.recv() => self.hand_out(ask),
                Some(landmark) = self.inputs.landmarks.recv() => self.landmark(landmark),
                Some((filter, reply)) = self.inputs.exchanges_asked.recv() => {
                    self.gather();
                    // Whoever no longer waits does not miss them.
                    let _ = reply.send(self.recent.list(&filter));
                }
                _ = ticks.tick() => self.tick(),
            }
        }
        self.shut_down().await;
    }

    /// Takes in what is queued now, and not what comes meanwhile, so that others get their turn.
    fn gather(&mut self) {
        for _ in 0..self.inputs.exchanges.len() {
            let Ok(exchange) = self.inputs.exchanges.try_recv() else { return };
            self.take(exchange);
        }
    }

    /// An exchange is over: what is left of its output comes before its record.
    fn take(&mut self, exchange: Box<Exchange>) {
        self.own.taken(&exchange, (self.inputs.clock)());
        if let Some(pulse) = self.pulses.last(&exchange) {
            self.observe(&Observation::Pulse(Box::new(pulse)));
        }
        let kept = self.recorders.keeps(&exchange);
        let observation = Observation::Exchange(exchange);
        self.observatory.observe(&observation);
        self.recorders.record(&observation, kept);
        if let Observation::Exchange(exchange) = observation {
            let exchange = self.recent.keep(*exchange);
            self.recorders.offer(exchange, kept);
        }
    }

    fn tick(&mut self) {
        self.gather();
        let now = (self.inputs.clock)();
        let queue_empty = self.inputs.exchanges.is_empty();
        for pulse in self.pulses.tick(&self.inputs.inflight, now, queue_empty) {
            self.observe(&Observation::Pulse(Box::new(pulse)));
        }
        let tick = Tick {
            at: now,
            wall: clock::wall(),
            lanes: self.inputs.lanes.list().iter().map(|lane| lane.read(now)).collect(),
            in_flight: self.inputs.inflight.survey(now, self.stall_after),
        };
        self.observe(&Observation::Tick(Box::new(tick)));
        self.inputs.analysis.send_replace(Arc::new(self.observatory.snapshot()));
    }

    /// Hands on an observation that is no exchange.
    fn observe(&mut self, observation: &Observation) {
        self.observatory.observe(observation);
        self.recorders.record(observation, false);
    }

    /// Something happened to Weir itself.
    fn landmark(&mut self, (event, detail): (LandmarkEvent, String)) {
        let (at, wall) = ((self.inputs.clock)(), clock::wall());
        let landmark = Landmark { at, wall, event, detail: detail.into() };
        self.observe(&Observation::Landmark(Box::new(landmark)));
    }

    /// Everyone who waits for a page in one format at this moment gets the same one.
    fn answer(&mut self, first: (PageFormat, oneshot::Sender<String>)) {
        self.gather();
        let mut pages: [Option<String>; 2] = [None, None];
        let mut next = Some(first);
        while let Some((format, reply)) = next {
            let page = pages[format as usize].get_or_insert_with(|| self.page(format));
            // Whoever no longer waits does not miss it.
            let _ = reply.send(page.clone());
            next = self.inputs.pages.try_recv().ok();
        }
    }

    fn hand_out(&mut self, ask: SnapshotAsk) {
        self.gather();
        // Whoever no longer waits does not miss it.
        let _ = ask.send(Arc::new(self.recorders.metrics.snapshot(&self.live())));
    }

    fn page(&self, format: PageFormat) -> String {
        self.recorders.metrics.page(&self.live(), format)
    }

    /// What metrics read at this moment.
    fn live(&self) -> Live<'_> {
        Live {
            now: (self.inputs.clock)(),
            wall: clock::wall(),
            stall_after: self.stall_after,
            inflight: &self.inputs.inflight,
            lanes: &self.inputs.lanes,
            tally: &self.inputs.tally,
            own: &self.own,
            otlp: self.recorders.otlp.as_ref(),
        }
    }

    async fn shut_down(mut self) {
        self.inputs.exchanges.close();
        let limit = self.flush_timeout;
        let drained = timeout(limit, async {
            while let Some(exchange) = self.inputs.exchanges.recv().await {
                self.take(exchange);
            }
        });
        if drained.await.is_err() {
            let left = self.inputs.exchanges.len();
            tracing::warn!(left, "gave up on exchanges that could not be recorded in time");
        }
        self.tick();
        let last = self.recorders.metrics.snapshot(&self.live());
        self.recorders.finish(last, limit).await;
    }
}

/// Every recorder there is.
#[derive(Debug)]
struct Recorders {
    metrics: Metrics,
    access_log: Option<AccessLog>,
    record: Option<RecordFile>,
    otlp: Option<Otlp>,
}

impl Recorders {
    fn record(&mut self, observation: &Observation, kept: bool) {
        self.metrics.record(observation, kept);
        if let Some(access_log) = &mut self.access_log {
            access_log.record(observation);
        }
        if let Some(record) = &mut self.record {
            record.record(observation);
        }
    }

    /// Whether the export is to have an exchange.
    fn keeps(&self, exchange: &Exchange) -> bool {
        self.otlp.as_ref().is_some_and(|otlp| otlp.keeps(exchange))
    }

    /// Hands an exchange to the export.
    fn offer(&mut self, exchange: Arc<Exchange>, kept: bool) {
        if let Some(otlp) = &mut self.otlp {
            otlp.offer(&exchange, kept);
        }
    }

    /// Writes and sends what is left, with the metrics as they stand last.
    async fn finish(self, last: Snapshot, limit: Duration) {
        let access_log = async {
            if let Some(access_log) = self.access_log {
                access_log.writer.finish(limit).await;
            }
        };
        let record = async {
            if let Some(record) = self.record {
                record.writer.finish(limit).await;
            }
        };
        let otlp = async {
            if let Some(otlp) = self.otlp {
                otlp.finish(last, limit).await;
            }
        };
        tokio::join!(access_log, record, otlp);
    }
}
