//! Carries out what alerts are to have done, as `docs/alerts.md` says.
//!
//! One task is told what happens to alerts and decides what is begun and ended. It waits for nobody:
//! notifications and investigations are handed over to threads and tasks of their own.

mod bundle;
mod decide;
mod hands;
mod investigations;
mod ledger;
mod notice;
mod post;
mod replicas;
mod shelf;
mod targets;
#[cfg(test)]
mod tests;
mod value;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::TaskTracker;
use weir_analysis::alert::Rules;
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;
use weir_core::inflight::Inflight;
use weir_core::observation::LandmarkEvent;
use weir_telemetry::clock::Clock;
use weir_telemetry::notify::NotifyOptions;
use weir_telemetry::{ActionCounts, AlertNews};

use crate::regulator::Regulator;
use decide::Actions;
use hands::Hands;
use investigations::{AskExchanges, Evidence, Investigations};
use post::Post;
use replicas::Replicas;

/// What actions go by, and what they work on.
#[derive(Debug)]
pub(crate) struct Wiring {
    /// The rules that hold at the start.
    pub(crate) rules: Rules,
    /// When Weir started.
    pub(crate) started: Moment,
    /// Who lowers limits.
    pub(crate) regulator: Arc<Regulator>,
    /// Where what became of actions is counted.
    pub(crate) counts: Arc<ActionCounts>,
    /// Who is told that an action was begun, or a limit changed.
    pub(crate) landmarks: mpsc::Sender<(LandmarkEvent, String)>,
    /// Who knows the last exchanges.
    pub(crate) exchanges: AskExchanges,
    /// How things stand.
    pub(crate) snapshot: watch::Receiver<Arc<Snapshot>>,
    /// What is in flight.
    pub(crate) inflight: Arc<Inflight>,
    /// The folder in which Weir keeps its state, if it does.
    pub(crate) state_dir: Option<PathBuf>,
    /// What all notifications share.
    pub(crate) notify: NotifyOptions,
    /// The clock that stamps come from.
    pub(crate) clock: Clock,
}

/// Tells when all actions have come to their end.
#[derive(Debug)]
pub(crate) struct ActionsHandle(oneshot::Receiver<()>);

impl ActionsHandle {
    /// Waits for it. They end when no news can come any more, and in the time that was set.
    pub(crate) async fn ended(self) {
        // The sender is dropped when the task ends: that is the signal.
        let _ = self.0.await;
    }
}

/// Carries out actions until no news can come any more. What is to be sent and written then has
/// `flush_timeout` to be.
pub(crate) fn start(
    wiring: Wiring,
    news: mpsc::Receiver<AlertNews>,
    flush_timeout: Duration,
    tasks: &TaskTracker,
) -> ActionsHandle {
    let (ended, done) = oneshot::channel();
    let actions = actions(wiring, tasks);
    tasks.spawn(async move {
        run(actions, news, flush_timeout).await;
        drop(ended);
    });
    ActionsHandle(done)
}

async fn run(mut actions: Actions, mut news: mpsc::Receiver<AlertNews>, flush_timeout: Duration) {
    while let Some(news) = news.recv().await {
        actions.take(news);
    }
    let Hands { post, investigations, .. } = actions.into_hands();
    tokio::join!(post.finish(flush_timeout), investigations.finish(flush_timeout));
}

fn actions(wiring: Wiring, tasks: &TaskTracker) -> Actions {
    let Wiring { rules, started, regulator, counts, landmarks, exchanges, .. } = wiring;
    let Wiring { snapshot, inflight, state_dir, notify, clock, .. } = wiring;
    let evidence = Evidence { exchanges, snapshot: snapshot.clone(), inflight, clock };
    let hands = Hands {
        regulator,
        landmarks,
        replicas: Replicas::new(Arc::clone(&counts)),
        post: Post::new(notify, clock, Arc::clone(&counts)),
        investigations: Investigations::start(evidence, state_dir, Arc::clone(&counts), tasks),
        counts,
    };
    Actions::new(rules, started, hands, snapshot)
}
