//! The pipeline: one task that owns every recorder and hands each observation to all of them.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use weir_analysis::alert::{Rules, Transition};
use weir_analysis::api::{AlertCommand, CommandError, ExchangeFilter, ExchangeSummary};
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
use crate::action_counts::ActionCounts;
use crate::alert_news::AlertNews;
use crate::clock::{self, Clock};
use crate::config::TelemetryConfig;
use crate::metrics::{Live, Metrics};
use crate::otlp::{Otlp, SnapshotAsk, Surroundings};
use crate::pulses::Pulses;
use crate::recent::Recent;
use crate::record_file::RecordFile;
use crate::recorder::Beside;
use crate::recorders::Recorders;
use crate::self_metrics::{LoopLag, SelfMetrics};
use crate::state::{State, StateLimits};
use crate::valued::Valued;

/// How often exchanges in flight are looked at.
const TICK: Duration = Duration::from_secs(1);

/// How often exchanges that are over are taken in. Waking up for each of them would cost more than
/// recording it.
const GATHER: Duration = Duration::from_millis(50);

/// How often what is to outlive a restart is handed to the store. A process that is killed loses no more.
const SAVE: Duration = Duration::from_secs(5);

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
    /// What operators want done with alerts.
    pub alert_commands: mpsc::Receiver<(AlertCommand, oneshot::Sender<Result<(), CommandError>>)>,
    /// Other rules, read again.
    pub rules: mpsc::Receiver<Rules>,
    /// Who carries out the actions of alerts.
    pub alert_news: mpsc::Sender<AlertNews>,
    /// What became of these actions.
    pub actions: Arc<ActionCounts>,
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
    /// What was published last.
    latest: Arc<AnalysisSnapshot>,
    state: Option<State>,
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
    /// Opens the recorders and the store, and starts the task. Fails if a file cannot be opened.
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
        let mut observatory = Observatory::new(config.observatory, Epoch { mono: clock(), wall: started });
        let state = match &config.state_dir {
            Some(dir) => Some(restore(dir, clock, &mut observatory)?),
            None => None,
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
            latest: Arc::new(observatory.snapshot()),
            observatory,
            state,
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
        self.tell(AlertNews::Standing(self.observatory.alerts()));
        let mut save = interval(SAVE);
        save.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                Some((command, reply)) = self.inputs.alert_commands.recv() => {
                    let done = self.observatory.command(&command);
                    self.publish();
                    // Whoever no longer waits sees it all the same.
                    let _ = reply.send(done);
                }
                Some(rules) = self.inputs.rules.recv() => self.replace_rules(rules),
                _ = ticks.tick() => self.tick(),
                _ = save.tick() => self.save(),
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
        let valuation = self.observatory.value(&exchange);
        self.observatory.exchange(&exchange, &valuation);
        let observation = Observation::Exchange(exchange);
        self.recorders.record(&observation, &Beside { valuation, kept });
        if let Observation::Exchange(exchange) = observation {
            let valued = self.recent.keep(Valued { exchange: *exchange, valuation });
            self.recorders.offer(&valued, kept);
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
        self.publish();
    }

    /// Hands on an observation that is no exchange.
    fn observe(&mut self, observation: &Observation) {
        let changed = self.observatory.observe(observation);
        self.recorders.record(observation, &Beside::NOTHING);
        if !changed.is_empty() {
            changed.iter().for_each(log);
            self.tell(AlertNews::Changed(changed));
            self.save();
        }
    }

    fn publish(&mut self) {
        self.latest = Arc::new(self.observatory.snapshot());
        self.inputs.analysis.send_replace(Arc::clone(&self.latest));
    }

    fn replace_rules(&mut self, rules: Rules) {
        let ended = self.observatory.replace_rules(rules.clone());
        ended.iter().for_each(log);
        self.tell(AlertNews::Replaced(Box::new(rules), ended));
        self.publish();
        self.save();
    }

    fn tell(&self, news: AlertNews) {
        if let Err(error) = self.inputs.alert_news.try_send(news) {
            tracing::error!(%error, "actions of alerts were not begun or ended");
        }
    }

    fn save(&mut self) {
        let rows = self.observatory.rows();
        if let Some(state) = self.state.as_ref().filter(|_| !rows.is_empty()) {
            state.offer(rows);
        }
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
            analysis: &self.latest,
            state: self.state.as_ref(),
            actions: &self.inputs.actions,
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
        self.save();
        let state = async {
            if let Some(state) = self.state {
                state.finish(limit).await;
            }
        };
        tokio::join!(self.recorders.finish(last, limit), state);
    }
}

/// Opens the store and takes up what it holds.
fn restore(dir: &Path, clock: Clock, observatory: &mut Observatory) -> io::Result<State> {
    let (state, saved, warnings) =
        State::open(dir, StateLimits::default(), clock).map_err(io::Error::other)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    observatory.restore(&saved);
    tracing::info!(
        rows = saved.len(),
        unreadable = observatory.broken_rows(),
        "took up the state of earlier runs"
    );
    Ok(state)
}

/// An alert changed.
fn log(transition: &Transition) {
    let Transition { alert, severity, condition, from, to, cause, reading, silenced, .. } = transition;
    let value = reading.as_ref().and_then(|reading| reading.value);
    tracing::info!(%alert, ?severity, %condition, ?from, ?to, ?cause, value, silenced, "an alert changed");
}
