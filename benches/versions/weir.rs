//! Weir's data path, with its records taken and dropped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_local;
use weir_core::draft::Watch;
use weir_core::inflight::Inflight;
use weir_core::policy::{LaneLimits, Policy};
use weir_core::reader::TokenRule;
use weir_core::tally::Tally;
use weir_proxy::{
    Config, ContextRules, Drain, FullStatus, HeaderRules, ListenConfig, Outlet, Server, ServerTls, Timeouts,
    UpstreamConfig, UpstreamHttp, Wiring,
};

use crate::part::Part;
use crate::tls::Authority;
use crate::{Wire, any_port};

pub(crate) fn start(wire: Wire, upstream: SocketAddr, authority: &Authority) -> Part {
    let tls = wire.tls.then(|| ServerTls::load(&authority.certificate(), &authority.key()).unwrap());
    let http = if wire.upstream_http2 { UpstreamHttp::Http2 } else { UpstreamHttp::Http1 };
    let config = Config {
        listen: ListenConfig { address: any_port(), tls, ..ListenConfig::default() },
        upstream: UpstreamConfig {
            name: "engine".into(),
            url: format!("http://{upstream}").parse().unwrap(),
            http,
            tls: None,
            api_key: None,
            max_idle: 1024,
            idle_timeout: Duration::from_secs(4),
        },
        timeouts: Timeouts::default(),
        full_status: FullStatus::TooManyRequests,
        headers: HeaderRules::default(),
        context: ContextRules::default(),
        watch: Watch {
            stall_after: Duration::from_secs(1).into(),
            keep_all_gaps: false,
            token_rule: TokenRule::Weir,
        },
        request_buffer: 1 << 20,
    };
    Part::start("weir", move || async move {
        let limits =
            LaneLimits { max_concurrent: None, max_queued: 1024, queue_timeout: Duration::from_secs(30) };
        let (policy, policy_seen) =
            watch::channel(Policy { global: limits, models: [].into(), fallbacks: Vec::new() });
        let tally = Arc::new(Tally::default());
        let (outlet, mut records) = Outlet::new(8192, Arc::clone(&tally));
        let wiring = Wiring {
            policy: policy_seen,
            outlet,
            inflight: Arc::new(Inflight::new(1024)),
            lanes: Arc::default(),
            tally,
            drain: Drain::new(),
        };
        let server = Server::bind(config, wiring).unwrap();
        let address = server.address().unwrap();
        spawn_local(async move {
            server.run().await;
            drop(policy);
        });
        spawn_local(async move { while records.recv().await.is_some() {} });
        address
    })
}
