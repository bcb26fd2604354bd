//! `weir demo`: simulator, proxy and mixed load in one process, and what weir sees of it.

mod figures;
mod screen;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use weir_core::exchange::Exchange;
use weir_load::arrival::Arrival;
use weir_load::client::drive;
use weir_load::engine::{BatchConfig, Batching, Engine, EngineConfig, FaultRates, Preset};
use weir_load::workload::Workload;

use crate::cli::DemoArgs;
use crate::config::{self, Overrides, Settings};
use crate::serve::Weir;
use crate::signals::Signals;

use figures::Figures;
use screen::Screen;

/// The simulated engine serves this many at once, weir lets so many through, and the rest queue.
const PLACES: usize = 8;

/// The model that the engine plays.
const PRESET: Preset = Preset::Llama13bA100;

/// Runs the demo; an error says what could not be had.
pub(crate) async fn run(args: DemoArgs, signals: &mut Signals) -> Result<(), String> {
    let engine = Engine::bind(engine_config(args.seed)?, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let engine = engine.await.map_err(|error| format!("cannot start the simulator: {error}"))?;
    let figures = Arc::new(Mutex::new(Figures::default()));
    let tasks = TaskTracker::new();
    let settings = settings(&engine, &args)?;
    let access_log = args.access_log.clone();
    let watcher = Arc::clone(&figures);
    let weir = Weir::start(settings, |exchanges| watch(exchanges, watcher, &tasks)).await;
    let weir = weir.map_err(|error| error.to_string())?;

    let mut screen = Screen::new(io::stdout(), args.duration);
    let base = format!("http://{}", weir.address);
    screen.begin(&base, engine.addr(), PRESET, weir.admin).map_err(say)?;
    let workload = Workload::demo("sim", Arrival::Poisson { per_second: args.rate });
    let load = drive(&base, &workload, args.duration, args.seed, |_| {});
    let mut load = std::pin::pin!(load);
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            report = &mut load => {
                report.map_err(|error| format!("the load client failed: {error}"))?;
                break;
            }
            _ = seconds.tick() => screen.live(&lock(&figures), &weir).map_err(say)?,
            () = signals.stop() => break,
        }
    }
    // The last records are on their way until weir has shut down.
    weir.shut_down().await;
    engine.shutdown().await;
    tasks.close();
    tasks.wait().await;
    let figures = lock(&figures);
    screen.summary(&figures, access_log.as_deref()).map_err(say)
}

fn say(error: io::Error) -> String {
    format!("cannot write to standard output: {error}")
}

fn engine_config(seed: u64) -> Result<EngineConfig, String> {
    // Shares that a bad day may have, so that each outcome is seen within a minute.
    let shares = [("abort;at=12", 0.02), ("error;at=8", 0.01), ("429;retry=1", 0.02), ("500", 0.01)];
    let faults = shares.into_iter().filter_map(|(fault, share)| Some((fault.parse().ok()?, share))).collect();
    let batch = BatchConfig { max_num_seqs: PLACES as u32, ..PRESET.config() };
    Ok(EngineConfig {
        batching: Some(Batching::try_from(batch).map_err(|error| error.to_string())?),
        seed,
        faults: FaultRates::new(faults).unwrap_or_default(),
        ..EngineConfig::default()
    })
}

fn settings(engine: &Engine, args: &DemoArgs) -> Result<Settings, String> {
    let any_port = || Some("127.0.0.1:0".to_owned());
    let overrides = Overrides {
        upstream: Some(format!("http://{}", engine.addr())),
        listen: any_port(),
        admin: any_port(),
        access_log: args.access_log.clone(),
        ..Overrides::default()
    };
    let mut settings = config::load(None, &overrides).map_err(|mistakes| mistakes.to_string())?.settings;
    settings.policy.global.max_concurrent = Some(PLACES);
    settings.policy.global.max_queued = 2 * PLACES;
    settings.proxy.watch.keep_all_gaps = true;
    Ok(settings)
}

/// Looks at each record on its way to the pipeline.
fn watch(
    mut exchanges: mpsc::Receiver<Box<Exchange>>,
    figures: Arc<Mutex<Figures>>,
    tasks: &TaskTracker,
) -> mpsc::Receiver<Box<Exchange>> {
    let (onward, watched) = mpsc::channel(64);
    tasks.spawn(async move {
        while let Some(exchange) = exchanges.recv().await {
            lock(&figures).add(&exchange);
            if onward.send(exchange).await.is_err() {
                return;
            }
        }
    });
    watched
}

/// The figures are shared by the task that adds to them and the one that shows them.
fn lock(figures: &Mutex<Figures>) -> std::sync::MutexGuard<'_, Figures> {
    figures.lock().unwrap_or_else(PoisonError::into_inner)
}
