//! A simulated OpenAI-compatible engine over HTTP/1.1.
//!
//! It serves `/v1/chat/completions`, `/v1/completions`, `/v1/embeddings`, `/v1/models` and
//! `/health`. Its answers, pace and faults are drawn from a seed and never from what time it is, so
//! the same requests get the same bytes. A request may steer its own answer by headers:
//!
//! | header | effect |
//! |---|---|
//! | `x-sim-ttft: 20ms` | time to the first token |
//! | `x-sim-tps: 100` | tokens per second after it |
//! | `x-sim-tokens: 16` | the model's own length, which the request's limit may cut |
//! | `x-sim-tokens-per-chunk: 4` | tokens in one event |
//! | `x-sim-role: early` | when the role event leaves: `early` or `late` |
//! | `x-sim-reasoning: reasoning_content` | the field of reasoning: that or `reasoning` |
//! | `x-sim-seed: 7` | takes the place of the request's ordinal in every draw |
//! | `x-sim-fault: abort;at=5` | a [`Fault`] in its text form |

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub use self::config::{Behaviour, EngineConfig, Interval, Length, ReasoningField, RoleChunk};
pub use self::faults::{Fault, FaultError, FaultRates};
use self::link::{Link, Wire};
use self::scheduler::Scheduler;
use self::stats::Counters;
pub use self::stats::Stats;
use crate::truth::TruthFile;

mod ask;
mod call;
mod completion;
mod config;
mod embeddings;
mod events;
mod faults;
mod generation;
mod http;
mod link;
mod overrides;
mod pace;
mod playback;
mod record;
mod refusal;
mod render;
mod scheduler;
mod stats;
mod whole;

/// After an accept that failed: the process may be out of file descriptors, and waiting helps.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A running engine. Dropping it stops it; [`Engine::shutdown`] also waits until it has stopped.
#[derive(Debug)]
pub struct Engine {
    addr: SocketAddr,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    /// Cancels the listener and every connection when the engine is dropped.
    stop: DropGuard,
}

/// What every request needs.
#[derive(Debug)]
struct Shared {
    config: EngineConfig,
    counters: Arc<Counters>,
    scheduler: Scheduler,
    truth: Option<Arc<TruthFile>>,
    ordinals: AtomicU64,
}

impl Engine {
    /// Listens at `addr`, where port 0 takes any free port, and serves until it is stopped.
    pub async fn bind(config: EngineConfig, addr: SocketAddr) -> io::Result<Engine> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let tasks = TaskTracker::new();
        let truth = match &config.truth {
            Some(path) => Some(Arc::new(TruthFile::create(path, &tasks)?)),
            None => None,
        };
        let counters = Arc::new(Counters::default());
        let scheduler = Scheduler::new(config.max_concurrent, Arc::clone(&counters));
        let ordinals = AtomicU64::new(0);
        let shared = Arc::new(Shared { config, counters, scheduler, truth, ordinals });
        let stop = CancellationToken::new();
        tasks.spawn(accept(listener, Arc::clone(&shared), tasks.clone(), stop.clone()));
        Ok(Engine { addr, shared, tasks, stop: stop.drop_guard() })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it has counted so far.
    pub fn stats(&self) -> Stats {
        self.shared.counters.read(self.shared.truth.as_ref().map_or(0, |file| file.lost()))
    }

    /// Closes every connection, cutting the streams that still run, and waits until the truth about
    /// them is on disk. The streams that were cut count as gone.
    pub async fn shutdown(self) {
        let Engine { shared, tasks, stop, .. } = self;
        drop(stop);
        // The truth's writer ends when nobody can offer it a line any more.
        drop(shared);
        tasks.close();
        tasks.wait().await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, tasks: TaskTracker, stop: CancellationToken) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                shared.counters.connections.fetch_add(1, Ordering::Relaxed);
                let connection = serve(stream, Arc::clone(&shared));
                let stop = stop.clone();
                tasks.spawn(async move { stop.run_until_cancelled(connection).await });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Serves one connection to its end. How it ended is in the counters, request by request.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Fails only on a socket that is dead already, and then the first read says so.
    let _ = stream.set_nodelay(true);
    let link = Arc::new(Link::default());
    let wire = Wire::new(stream, Arc::clone(&link));
    let service = service_fn(move |request| http::respond(Arc::clone(&shared), Arc::clone(&link), request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(wire), service).await;
}
