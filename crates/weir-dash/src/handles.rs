//! What the admin surface is handed, and how it asks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use weir_analysis::api::{AlertCommand, CommandError, ExchangeFilter, ExchangeSummary};
use weir_analysis::snapshot::Snapshot;
use weir_core::page::PageFormat;

/// How long an answer may take to come.
const PATIENCE: Duration = Duration::from_secs(2);

/// A bounded way to ask `Q` of somebody who answers with `A`.
type Asking<Q, A> = mpsc::Sender<(Q, oneshot::Sender<A>)>;

/// What the admin surface shows, and whom it asks.
#[derive(Clone, Debug)]
pub struct AdminHandles {
    /// Where to ask for a metrics page, in one of its formats.
    pub pages: mpsc::Sender<(PageFormat, oneshot::Sender<String>)>,
    /// Where to ask for exchanges, the newest first.
    pub exchanges: mpsc::Sender<(ExchangeFilter, oneshot::Sender<Vec<ExchangeSummary>>)>,
    /// Where commands to alerts go.
    pub alerts: mpsc::Sender<(AlertCommand, oneshot::Sender<Result<(), CommandError>>)>,
    /// What is known, a new one about once a second.
    pub snapshot: watch::Receiver<Arc<Snapshot>>,
    /// Whether new requests are welcome.
    pub ready: watch::Receiver<bool>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// Nobody is there to answer.
    Gone,
    /// Whoever is there took too long.
    Slow,
}

/// Asks, and waits for the answer for two seconds at most.
pub(crate) async fn ask<Q, A>(asking: &Asking<Q, A>, question: Q) -> Result<A, Unanswered> {
    let answer = timeout(PATIENCE, async {
        let (reply, answer) = oneshot::channel();
        asking.send((question, reply)).await.ok()?;
        answer.await.ok()
    });
    answer.await.map_err(|_| Unanswered::Slow)?.ok_or(Unanswered::Gone)
}
