//! Sends exchanges as spans, and metrics, to OpenTelemetry backends.
//!
//! All of it runs on a thread of its own with a small runtime of its own: putting a batch together and
//! packing it takes milliseconds, which the relay's threads do not have. The pipeline hands exchanges
//! over through a bounded queue for each destination and never waits.

pub mod config;

pub(crate) mod counts;

mod retry;
mod sampling;
mod spans;
mod traces;
mod transport;

pub use transport::{Tls, TlsError};

use std::io;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_core::exchange::Exchange;

use crate::clock::Clock;
use crate::config::UpstreamFacts;
use crate::rate_limit::RateLimit;
use config::{OtlpConfig, OtlpDestination, Sampling, Signal, SpanRules};
use counts::{Lost, TraceCounts};
use spans::SpanWriter;
use traces::TraceWorker;
use transport::{Kind, Transport};

/// The name of the instrumentation.
const SCOPE: &str = "weir";

/// What destinations see as the sender.
const AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// What is known around the exchanges.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) upstreams: Vec<UpstreamFacts>,
    /// `http` or `https`, as clients connect.
    pub(crate) scheme: &'static str,
}

/// The near end of the export, owned by the pipeline.
#[derive(Debug)]
pub(crate) struct Otlp {
    sampling: Sampling,
    sampled_out: u64,
    lanes: Vec<Lane>,
    stopping: CancellationToken,
    /// Told by the thread, by dropping its end, when everything was sent.
    done: oneshot::Receiver<()>,
}

/// The way of exchanges to one destination.
#[derive(Debug)]
struct Lane {
    name: Box<str>,
    queue: mpsc::Sender<Arc<Exchange>>,
    counts: Arc<TraceCounts>,
    clock: Clock,
    log: RateLimit,
}

impl Otlp {
    /// Starts the thread. Fails if there can be none, or if a destination cannot be sent to at all.
    pub(crate) fn start(config: OtlpConfig, around: &Surroundings, clock: Clock) -> io::Result<Self> {
        let stopping = CancellationToken::new();
        let resource = resource(&config.resource);
        let mut lanes = Vec::new();
        let mut far_ends = Vec::new();
        for destination in &config.destinations {
            if let Some(signal) = &destination.traces {
                let (queue, waiting) = mpsc::channel(destination.batch.queue);
                let counts = Arc::new(TraceCounts::default());
                let name = destination.name.clone();
                lanes.push(Lane {
                    name,
                    queue,
                    counts: Arc::clone(&counts),
                    clock,
                    log: RateLimit::default(),
                });
                far_ends.push(FarEnd {
                    signal: signal.clone(),
                    destination: destination.clone(),
                    waiting,
                    counts,
                });
            }
        }
        let (ended, done) = oneshot::channel();
        let setting = Setting {
            rules: config.spans,
            around: around.clone(),
            resource,
            stopping: stopping.clone(),
            clock,
        };
        std::thread::Builder::new().name("weir otlp".to_owned()).spawn(move || {
            if let Err(error) = run(far_ends, &setting) {
                tracing::error!(%error, "the export of traces and metrics has ended");
            }
            drop(ended);
        })?;
        Ok(Self { sampling: config.sampling, sampled_out: 0, lanes, stopping, done })
    }

    /// Whether an exchange is to be sent.
    pub(crate) fn keeps(&self, exchange: &Exchange) -> bool {
        !self.lanes.is_empty() && self.sampling.keeps(exchange)
    }

    /// Hands an exchange over to every destination. Never waits: where there is no room it is lost, and
    /// counted.
    pub(crate) fn offer(&mut self, exchange: Exchange, kept: bool) {
        if !kept {
            self.sampled_out += u64::from(exchange.trace.is_some());
            return;
        }
        let exchange = Arc::new(exchange);
        self.lanes.iter_mut().for_each(|lane| lane.offer(&exchange));
    }

    /// Waits until everything is sent, but not for longer than `limit`.
    pub(crate) async fn finish(self, limit: Duration) {
        let Self { lanes, stopping, done, .. } = self;
        let counts: Vec<_> = lanes.into_iter().map(|lane| (lane.name, lane.counts)).collect();
        // The queues were dropped with their lanes.
        stopping.cancel();
        let in_time = tokio::time::timeout(limit, done).await.is_ok();
        for (destination, counts) in counts {
            let lost: u64 = TraceCounts::CAUSES.iter().map(|(_, why)| counts.lost(*why)).sum();
            let (confirmed, unknown, waiting) = (counts.confirmed(), counts.unknown(), counts.waiting());
            if in_time && lost == 0 && unknown == 0 {
                tracing::info!(%destination, confirmed, "exported the traces of all exchanges");
            } else {
                let retries = counts.retries();
                tracing::warn!(%destination, confirmed, unknown, lost, waiting, retries, "not all traces were exported");
            }
        }
    }
}

impl Lane {
    fn offer(&mut self, exchange: &Arc<Exchange>) {
        self.counts.enter();
        if self.queue.try_send(Arc::clone(exchange)).is_ok() {
            return;
        }
        self.counts.leave(1);
        self.counts.lose(1, Lost::QueueFull);
        if let Some(held_back) = self.log.pass((self.clock)()) {
            let destination = &*self.name;
            tracing::warn!(
                destination,
                held_back,
                "too many exchanges wait for their export, this one was dropped"
            );
        }
    }
}

/// What the thread needs for one destination.
struct FarEnd {
    signal: Signal,
    destination: OtlpDestination,
    waiting: mpsc::Receiver<Arc<Exchange>>,
    counts: Arc<TraceCounts>,
}

/// What all destinations have in common.
struct Setting {
    rules: SpanRules,
    around: Surroundings,
    resource: Resource,
    stopping: CancellationToken,
    clock: Clock,
}

/// The thread's life: until every queue is closed and empty.
fn run(far_ends: Vec<FarEnd>, setting: &Setting) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut workers = JoinSet::new();
        for end in far_ends {
            workers.spawn(setting.traces(end)?.run());
        }
        while workers.join_next().await.is_some() {}
        Ok(())
    })
}

impl Setting {
    fn traces(&self, end: FarEnd) -> io::Result<TraceWorker> {
        let FarEnd { signal, destination, waiting, counts } = end;
        Ok(TraceWorker {
            name: destination.name,
            queue: waiting,
            batch: destination.batch,
            writer: SpanWriter::new(
                self.rules.clone(),
                destination.as_root,
                self.around.upstreams.clone(),
                self.around.scheme,
            ),
            resource: self.resource.clone(),
            transport: Transport::new(&signal, Kind::Traces).map_err(io::Error::other)?,
            counts,
            stopping: self.stopping.clone(),
            clock: self.clock,
            log: RateLimit::default(),
        })
    }
}

fn resource(attributes: &[(String, String)]) -> Resource {
    let text = |text: &str| Some(AnyValue { value: Some(Value::StringValue(text.to_owned())) });
    let attributes = attributes
        .iter()
        .map(|(key, value)| KeyValue { key: key.clone(), value: text(value), ..KeyValue::default() })
        .collect();
    Resource { attributes, ..Resource::default() }
}
