//! The thread of the export, and what each destination needs on it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Surroundings;
use super::config::{OtlpConfig, OtlpDestination, Signal, SpanRules};
use super::counts::{MetricCounts, TraceCounts};
use super::metrics::MetricOptions;
use super::metrics_worker::{MetricWorker, SnapshotAsk};
use super::spans::SpanWriter;
use super::traces::TraceWorker;
use super::transport::{Kind, TlsError, Transport};
use crate::clock::Clock;
use crate::metrics::Snapshot;
use crate::rate_limit::RateLimit;
use crate::valued::Valued;

/// The thread in the making.
pub(super) struct Thread {
    rules: SpanRules,
    around: Surroundings,
    resource: Resource,
    every: Duration,
    last: watch::Receiver<Option<Arc<Snapshot>>>,
    stopping: CancellationToken,
    clock: Clock,
    tasks: Vec<Task>,
}

/// What is to be sent to one destination.
enum Task {
    Traces(Box<(OtlpDestination, Signal)>, mpsc::Receiver<Arc<Valued>>, Arc<TraceCounts>),
    Metrics(Box<(OtlpDestination, Signal)>, mpsc::Sender<SnapshotAsk>, Arc<MetricCounts>),
}

impl Thread {
    pub(super) fn new(
        config: &OtlpConfig,
        around: &Surroundings,
        clock: Clock,
        last: watch::Receiver<Option<Arc<Snapshot>>>,
    ) -> Self {
        Self {
            rules: config.spans.clone(),
            around: around.clone(),
            resource: resource(&config.resource),
            every: config.metric_interval,
            last,
            stopping: CancellationToken::new(),
            clock,
            tasks: Vec::new(),
        }
    }

    /// Sends the exchanges of a queue.
    pub(super) fn trace(
        &mut self,
        (destination, signal): (&OtlpDestination, &Signal),
        queue: mpsc::Receiver<Arc<Valued>>,
        counts: Arc<TraceCounts>,
    ) {
        self.tasks.push(Task::Traces(Box::new((destination.clone(), signal.clone())), queue, counts));
    }

    /// Sends snapshots, which are asked for.
    pub(super) fn measure(
        &mut self,
        (destination, signal): (&OtlpDestination, &Signal),
        asks: mpsc::Sender<SnapshotAsk>,
        counts: Arc<MetricCounts>,
    ) {
        self.tasks.push(Task::Metrics(Box::new((destination.clone(), signal.clone())), asks, counts));
    }

    /// Starts it. What comes back stops it, and is told when it has ended.
    pub(super) fn start(self) -> io::Result<(CancellationToken, oneshot::Receiver<()>)> {
        let stopping = self.stopping.clone();
        let (ended, done) = oneshot::channel();
        // What cannot be made ready is told to who starts weir, not to the log of a thread.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let workers = {
            // Connections belong to the runtime in which they are made ready.
            let _inside = runtime.enter();
            self.workers().map_err(io::Error::other)?
        };
        std::thread::Builder::new().name("weir otlp".to_owned()).spawn(move || {
            runtime.block_on(async {
                let mut running = JoinSet::new();
                for worker in workers {
                    match worker {
                        Worker::Traces(worker) => running.spawn(worker.run()),
                        Worker::Metrics(worker) => running.spawn(worker.run()),
                    };
                }
                while running.join_next().await.is_some() {}
            });
            drop(ended);
        })?;
        Ok((stopping, done))
    }

    fn workers(self) -> Result<Vec<Worker>, TlsError> {
        let Self { rules, around, resource, every, last, stopping, clock, tasks } = self;
        let worker = |task| match task {
            Task::Traces(way, queue, counts) => {
                let (destination, signal) = *way;
                Ok(Worker::Traces(TraceWorker {
                    transport: Transport::new(&signal, Kind::Traces)?,
                    writer: SpanWriter::new(rules.clone(), destination.as_root, around.clone()),
                    name: destination.name,
                    batch: destination.batch,
                    queue,
                    resource: resource.clone(),
                    counts,
                    stopping: stopping.clone(),
                    clock,
                    log: RateLimit::default(),
                }))
            }
            Task::Metrics(way, asks, counts) => {
                let (destination, signal) = *way;
                Ok(Worker::Metrics(MetricWorker {
                    transport: Transport::new(&signal, Kind::Metrics)?,
                    options: MetricOptions {
                        histograms: destination.histograms,
                        temporality: destination.temporality,
                        genai: rules.names,
                    },
                    name: destination.name,
                    every,
                    asks,
                    last: last.clone(),
                    resource: resource.clone(),
                    counts,
                    stopping: stopping.clone(),
                    told: None,
                    clock,
                    log: RateLimit::default(),
                }))
            }
        };
        tasks.into_iter().map(worker).collect()
    }
}

enum Worker {
    Traces(TraceWorker),
    Metrics(MetricWorker),
}

fn resource(attributes: &[(String, String)]) -> Resource {
    let text = |text: &str| Some(AnyValue { value: Some(Value::StringValue(text.to_owned())) });
    let attributes = attributes
        .iter()
        .map(|(key, value)| KeyValue { key: key.clone(), value: text(value), ..KeyValue::default() })
        .collect();
    Resource { attributes, ..Resource::default() }
}
