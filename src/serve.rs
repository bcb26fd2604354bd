//! Builds a running weir out of its parts. The only place that knows them all.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_analysis::alert::Rules;
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;
use weir_core::exchange::Exchange;
use weir_core::inflight::Inflight;
use weir_core::lanes::Lanes;
use weir_core::observation::LandmarkEvent;
use weir_core::tally::Tally;
use weir_dash::{Admin, AdminHandles};
use weir_proxy::{Drain, Outlet, Server, Wiring};
use weir_telemetry::notify::NotifyOptions;
use weir_telemetry::{Inputs, Pipeline, PipelineHandle, TelemetryConfig};

use crate::actions::{self, ActionsHandle};
use crate::config::Settings;
use crate::regulator::Regulator;

/// Requests for a metrics page that may wait; a scraper beyond that is told to come back.
const PAGE_QUEUE: usize = 16;

/// Landmarks that may wait. They are rare; one beyond that is not told.
const LANDMARK_QUEUE: usize = 64;

/// News of alerts that may wait for their actions; there are none but once a second.
const NEWS_QUEUE: usize = 256;

/// A running weir.
pub(crate) struct Weir {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) inflight: Arc<Inflight>,
    pub(crate) lanes: Arc<Lanes>,
    /// Who writes the policy, the one wire up to the data path.
    pub(crate) regulator: Arc<Regulator>,
    landmarks: mpsc::Sender<(LandmarkEvent, String)>,
    rules: mpsc::Sender<Rules>,
    drain: Drain,
    drain_timeout: Duration,
    ready: watch::Sender<bool>,
    pipeline: PipelineHandle,
    actions: ActionsHandle,
    stop_admin: CancellationToken,
    tasks: TaskTracker,
}

/// What could not be had at the start.
#[derive(Debug)]
pub(crate) struct StartError {
    what: String,
    error: io::Error,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.error)
    }
}

impl Weir {
    /// Starts all parts. `watch_exchanges` stands between the data path and the pipeline, for who
    /// wants to see each record first.
    pub(crate) async fn start(
        settings: Settings,
        watch_exchanges: impl FnOnce(mpsc::Receiver<Box<Exchange>>) -> mpsc::Receiver<Box<Exchange>>,
    ) -> Result<Self, StartError> {
        let tasks = TaskTracker::new();
        let tally = Arc::new(Tally::default());
        let lanes = Arc::new(Lanes::default());
        let inflight = Arc::new(Inflight::new(settings.telemetry.max_pulsing));
        let drain = Drain::new();
        let (outlet, exchanges) = Outlet::new(settings.records_queue, Arc::clone(&tally));
        let (policy, policy_seen) = watch::channel(settings.policy);
        let (pages, pages_asked) = mpsc::channel(PAGE_QUEUE);
        let (landmarks, landmarks_told) = mpsc::channel(LANDMARK_QUEUE);
        let (ready, ready_seen) = watch::channel(true);

        let wiring = Wiring {
            policy: policy_seen,
            outlet,
            inflight: Arc::clone(&inflight),
            lanes: Arc::clone(&lanes),
            tally: Arc::clone(&tally),
            drain: drain.clone(),
        };
        let listen = settings.proxy.listen.address;
        let server = Server::bind(settings.proxy, wiring).map_err(cannot("listen on", listen))?;
        let address = server.address().map_err(cannot("listen on", listen))?;
        let (asking, exchanges_asked) = mpsc::channel(PAGE_QUEUE);
        let (alerts, alert_commands) = mpsc::channel(PAGE_QUEUE);
        let (rules, rules_read) = mpsc::channel(1);
        let (alert_news, news) = mpsc::channel(NEWS_QUEUE);
        let started = Moment(weir_proxy::wall().0);
        let (analysis, snapshot) = watch::channel(Arc::new(Snapshot::empty(started, started)));
        let regulator = Arc::new(Regulator::new(policy));
        let handles = AdminHandles { pages, exchanges: asking, alerts, snapshot, ready: ready_seen };
        let inputs = Inputs {
            exchanges: watch_exchanges(exchanges),
            pages: pages_asked,
            landmarks: landmarks_told,
            exchanges_asked,
            alert_commands,
            rules: rules_read,
            alert_news,
            actions: Arc::default(),
            analysis,
            inflight: Arc::clone(&inflight),
            lanes: Arc::clone(&lanes),
            tally,
            clock: weir_proxy::monotonic,
        };
        let notify = NotifyOptions { external_url: settings.external_url, ..NotifyOptions::default() };
        let acting = acting(&settings.telemetry, notify, &inputs, &handles, &regulator, &landmarks);
        let flush_timeout = settings.telemetry.flush_timeout;
        let listen = settings.admin.listen;
        let admin = Admin::bind(settings.admin, handles).await.map_err(cannot("serve metrics on", listen))?;
        let admin_address = admin.local_addr().map_err(cannot("serve metrics on", listen))?;
        let pipeline = Pipeline::start(settings.telemetry, inputs, &tasks)
            .map_err(|error| StartError { what: "cannot open a log".into(), error })?;
        let actions = actions::start(acting, news, flush_timeout, &tasks);
        let stop_admin = CancellationToken::new();
        admin.serve(stop_admin.clone(), &tasks);
        tasks.spawn(server.run());
        Ok(Self {
            address,
            admin: admin_address,
            inflight,
            lanes,
            regulator,
            landmarks,
            rules,
            drain,
            drain_timeout: settings.drain_timeout,
            ready,
            pipeline,
            actions,
            stop_admin,
            tasks,
        })
    }

    /// Something happened to Weir itself. Where too much happens at once it is not told.
    pub(crate) fn tell(&self, event: LandmarkEvent, detail: &str) {
        let _ = self.landmarks.try_send((event, detail.to_owned()));
    }

    /// Goes on with other rules for alerts.
    pub(crate) async fn replace_rules(&self, rules: Rules) {
        // There is nobody to tell once the pipeline has ended, and nothing to judge.
        let _ = self.rules.send(rules).await;
    }

    /// Ends in order: not ready any more, no new requests, time for what runs, then the records,
    /// the actions of alerts, and the admin port last. True if nothing had to be cut off.
    pub(crate) async fn shut_down(self) -> bool {
        let _ = self.ready.send(false);
        let in_time = self.drain.finish(self.drain_timeout).await;
        self.pipeline.shutdown().await;
        self.actions.ended().await;
        self.stop_admin.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        in_time
    }
}

/// What the actions of alerts work on, out of what the pipeline and the admin port have.
fn acting(
    telemetry: &TelemetryConfig,
    notify: NotifyOptions,
    inputs: &Inputs,
    asked: &AdminHandles,
    regulator: &Arc<Regulator>,
    landmarks: &mpsc::Sender<(LandmarkEvent, String)>,
) -> actions::Wiring {
    let started = asked.snapshot.borrow().started;
    actions::Wiring {
        rules: telemetry.observatory.rules.clone(),
        started,
        regulator: Arc::clone(regulator),
        counts: Arc::clone(&inputs.actions),
        landmarks: landmarks.clone(),
        exchanges: asked.exchanges.clone(),
        snapshot: asked.snapshot.clone(),
        inflight: Arc::clone(&inputs.inflight),
        state_dir: telemetry.state_dir.clone(),
        notify,
        clock: inputs.clock,
    }
}

fn cannot(what: &str, address: SocketAddr) -> impl Fn(io::Error) -> StartError {
    let what = format!("cannot {what} {address}");
    move |error| StartError { what: what.clone(), error }
}
