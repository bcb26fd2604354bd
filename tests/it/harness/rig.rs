//! A proxy on a free port, with everything that it is wired to in the test's hands.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use weir_core::draft::Watch;
use weir_core::exchange::Exchange;
use weir_core::inflight::Inflight;
use weir_core::lanes::{GLOBAL, LaneGauge, Lanes};
use weir_core::policy::{LaneLimits, Policy};
use weir_core::reader::TokenRule;
use weir_core::tally::Tally;
use weir_core::timeline::Offset;
use weir_proxy::{
    Config, ContextRules, Drain, FullStatus, HeaderRules, ListenConfig, Outlet, Server, Timeouts,
    UpstreamConfig, UpstreamHttp, Wiring,
};

use super::guarded;
use super::http2::Client2;
use super::upstream::Upstream;
use super::wire::Wire;

/// What a test may change about a proxy before it starts.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) policy: Policy,
    pub(crate) outlet: usize,
}

impl Setup {
    fn towards(upstream: SocketAddr) -> Self {
        let config = Config {
            listen: ListenConfig { address: ([127, 0, 0, 1], 0).into(), ..ListenConfig::default() },
            upstream: UpstreamConfig {
                name: "engine".into(),
                url: format!("http://{upstream}").parse().unwrap(),
                http: UpstreamHttp::Auto,
                tls: None,
                api_key: None,
                max_idle: 64,
                idle_timeout: Duration::from_secs(60),
            },
            timeouts: Timeouts::default(),
            full_status: FullStatus::TooManyRequests,
            headers: HeaderRules::default(),
            context: ContextRules::default(),
            watch: Watch {
                stall_after: Offset::from(Duration::from_secs(1)),
                keep_all_gaps: true,
                token_rule: TokenRule::Weir,
            },
            request_buffer: 64 * 1024,
        };
        Self {
            config,
            policy: Policy { global: unlimited(), models: [].into(), fallbacks: Vec::new() },
            outlet: 4096,
        }
    }

    /// Speaks HTTP/2 to the upstream.
    pub(crate) fn http2_upstream(&mut self) {
        self.config.upstream.http = UpstreamHttp::Http2;
    }

    /// Lets so many at the upstream and so many wait.
    pub(crate) fn limit(&mut self, max_concurrent: usize, max_queued: usize) {
        self.policy.global = limits(max_concurrent, max_queued);
    }
}

/// No limit.
pub(crate) fn unlimited() -> LaneLimits {
    LaneLimits { max_concurrent: None, ..limits(0, 1024) }
}

/// Limits whose queue timeout no test sees.
pub(crate) fn limits(max_concurrent: usize, max_queued: usize) -> LaneLimits {
    let queue_timeout = Duration::from_secs(60);
    LaneLimits { max_concurrent: Some(max_concurrent), max_queued, queue_timeout }
}

/// A running proxy.
pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) policy: watch::Sender<Policy>,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) inflight: Arc<Inflight>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) drain: Drain,
    records: mpsc::Receiver<Box<Exchange>>,
    /// Accepts until it is dropped.
    _server: JoinSet<()>,
}

impl Rig {
    /// A proxy as most tests need it, and its upstream.
    pub(crate) async fn start() -> (Self, Upstream) {
        Self::with(|_| {}).await
    }

    /// A proxy with changes, and its upstream.
    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> (Self, Upstream) {
        let upstream = Upstream::bind().await;
        (Self::towards(upstream.address(), change), upstream)
    }

    /// A proxy in front of some upstream.
    pub(crate) fn towards(upstream: SocketAddr, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup::towards(upstream);
        change(&mut setup);
        let tally = Arc::new(Tally::default());
        let (outlet, records) = Outlet::new(setup.outlet, Arc::clone(&tally));
        let (policy, policy_read) = watch::channel(setup.policy);
        let wiring = Wiring {
            policy: policy_read,
            outlet,
            inflight: Arc::new(Inflight::new(1024)),
            lanes: Arc::default(),
            tally,
            drain: Drain::new(),
        };
        let (lanes, inflight) = (Arc::clone(&wiring.lanes), Arc::clone(&wiring.inflight));
        let (tally, drain) = (Arc::clone(&wiring.tally), wiring.drain.clone());
        let server = Server::bind(setup.config, wiring).unwrap();
        let address = server.address().unwrap();
        let mut task = JoinSet::new();
        task.spawn(server.run());
        Self { address, policy, lanes, inflight, tally, drain, records, _server: task }
    }

    /// A client of this proxy that speaks HTTP/2.
    pub(crate) async fn http2_client(&self) -> Client2 {
        Client2::connect(self.address).await
    }

    /// A client of this proxy.
    pub(crate) async fn client(&self) -> Wire {
        Wire::connect(self.address).await
    }

    /// The next record.
    pub(crate) async fn record(&mut self) -> Exchange {
        *guarded(self.records.recv()).await.unwrap()
    }

    /// The records that were written and not taken.
    pub(crate) fn records_left(&mut self) -> Vec<Exchange> {
        std::iter::from_fn(|| self.records.try_recv().ok()).map(|record| *record).collect()
    }

    /// Whether there is no record that was not taken.
    pub(crate) fn has_no_record(&mut self) -> bool {
        self.records.try_recv().is_err()
    }

    /// The gauges of the lane that all pass.
    pub(crate) fn global(&self) -> Arc<LaneGauge> {
        self.lanes.gauge(GLOBAL)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.drain.cut();
    }
}
