//! A task that writes down what was slow or failed. Neither a disk nor whoever is asked for exchanges makes
//! other actions wait.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use weir_analysis::alert::Transition;
use weir_analysis::api::{ExchangeFilter, ExchangeSummary};
use weir_analysis::scope::Scope;
use weir_analysis::snapshot::Snapshot;
use weir_core::inflight::Inflight;
use weir_telemetry::clock::Clock;
use weir_telemetry::{ActionCounts, ActionFate};

use super::bundle::{Bundle, worth_a_look};
use super::ledger::Key;
use super::shelf::Shelf;

/// Cases that may wait. One beyond that fails.
const QUEUE: usize = 16;

/// Whoever is asked for exchanges has so long to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of so many of the last exchanges those worth a look are chosen.
const LOOKED_AT: usize = 1_024;

/// Asks for the last exchanges.
pub(crate) type AskExchanges = mpsc::Sender<(ExchangeFilter, oneshot::Sender<Vec<ExchangeSummary>>)>;

/// An alert to look into.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) key: Key,
    pub(super) transition: Transition,
    /// What its condition is about.
    pub(super) scope: Scope,
    /// How many exchanges at most.
    pub(super) exchanges: usize,
}

/// Where to look.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) exchanges: AskExchanges,
    pub(super) snapshot: watch::Receiver<Arc<Snapshot>>,
    pub(super) inflight: Arc<Inflight>,
    pub(super) clock: Clock,
}

/// The near end of the task. There is none where there is no place to keep a bundle.
#[derive(Debug)]
pub(super) struct Investigations(Option<Investigator>);

#[derive(Debug)]
struct Investigator {
    cases: mpsc::Sender<Case>,
    task: JoinHandle<()>,
}

/// The far end.
#[derive(Debug)]
struct Desk {
    evidence: Evidence,
    shelf: Shelf,
    counts: Arc<ActionCounts>,
}

impl Investigations {
    pub(super) fn start(
        evidence: Evidence,
        state_dir: Option<PathBuf>,
        counts: Arc<ActionCounts>,
        tasks: &TaskTracker,
    ) -> Self {
        let Some(state_dir) = state_dir else { return Self(None) };
        let (cases, received) = mpsc::channel(QUEUE);
        let desk = Desk { evidence, shelf: Shelf::new(&state_dir), counts };
        Self(Some(Investigator { cases, task: tasks.spawn(desk.run(received)) }))
    }

    /// Hands a case over, which is counted when it is done. What cannot be done is said, and false.
    pub(super) fn offer(&self, case: Case) -> bool {
        let (alert, action) = (case.key.alert.clone(), case.key.action.clone());
        let refused = match &self.0 {
            None => "there is no folder in which Weir keeps its state",
            Some(near) if near.cases.try_send(case).is_err() => "too many wait",
            Some(_) => return true,
        };
        tracing::warn!(%alert, %action, refused, "cannot write down what was slow or failed");
        false
    }

    /// Waits until all cases are written down, but not for longer than `limit`.
    pub(super) async fn finish(self, limit: Duration) {
        let Some(Investigator { cases, mut task }) = self.0 else { return };
        drop(cases);
        if timeout(limit, &mut task).await.is_err() {
            task.abort();
            tracing::warn!("investigations were not written down in time");
        }
    }
}

impl Desk {
    async fn run(self, mut cases: mpsc::Receiver<Case>) {
        while let Some(case) = cases.recv().await {
            let (alert, action) = (case.key.alert.clone(), case.key.action.clone());
            let fate = match self.investigate(case).await {
                Ok(path) => {
                    tracing::info!(%alert, %action, path = %path.display(), "wrote down what was slow or failed");
                    ActionFate::Begun
                }
                Err(error) => {
                    tracing::warn!(%alert, %action, error, "cannot write down what was slow or failed");
                    ActionFate::Failed
                }
            };
            self.counts.count(&action, fate);
        }
    }

    async fn investigate(&self, case: Case) -> Result<PathBuf, String> {
        let exchanges = self.exchanges(&case).await;
        let snapshot = Arc::clone(&self.evidence.snapshot.borrow());
        let (at, now) = (case.transition.at, (self.evidence.clock)());
        let bundle = Bundle::new(case.transition, snapshot, exchanges, &self.evidence.inflight, now);
        let shelf = self.shelf.clone();
        let written = tokio::task::spawn_blocking(move || shelf.put(at, &case.key.alert, &bundle));
        written.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// The exchanges worth a look; `None` where nobody answered.
    async fn exchanges(&self, case: &Case) -> Option<Vec<ExchangeSummary>> {
        let mut filter = ExchangeFilter { limit: LOOKED_AT, ..ExchangeFilter::default() };
        match &case.scope {
            Scope::Overall => {}
            Scope::Model(model) => filter.model = Some(model.to_string()),
            Scope::Upstream(upstream) => filter.upstream = Some(upstream.to_string()),
        }
        let (reply, answer) = oneshot::channel();
        let asked = timeout(PATIENCE, async {
            self.evidence.exchanges.send((filter, reply)).await.ok()?;
            answer.await.ok()
        });
        Some(worth_a_look(asked.await.ok()??, case.exchanges))
    }
}
