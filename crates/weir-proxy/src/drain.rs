//! Ending in order: first nothing new, then time for what runs, then the end.
//!
//! Every connection has to learn of it, and a connection is polled for every event. So the phase
//! is an atomic, and a waker is registered once a task and not once a poll.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pin_project_lite::pin_project;
use slab::Slab;
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;

/// How far a shutdown has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Running,
    Begun,
    Cut,
}

/// The shutdown of a data path. Clones are handles of the same one.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    signal: Arc<Signal>,
    /// Client connections, and what ends by itself soon after them.
    tasks: TaskTracker,
    /// Upstream connections: they end with the exchanges that use them, and with the pool.
    upstream: TaskTracker,
}

impl Drain {
    /// A data path that runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins: no new connections or requests; what runs goes on.
    pub fn begin(&self) {
        self.signal.enter(Phase::Begun);
        self.tasks.close();
        self.upstream.close();
    }

    /// Cuts off what still runs. Its records are written all the same.
    pub fn cut(&self) {
        self.begin();
        self.signal.enter(Phase::Cut);
    }

    /// Begins, waits until all has ended, and cuts off what has not after `timeout`. True if
    /// nothing had to be cut off.
    pub async fn finish(&self, timeout: Duration) -> bool {
        self.begin();
        let in_time = tokio::time::timeout(timeout, self.tasks.wait()).await.is_ok();
        self.cut();
        self.tasks.wait().await;
        in_time
    }

    /// Whether the shutdown has begun.
    pub fn has_begun(&self) -> bool {
        self.signal.phase() >= Phase::Begun
    }

    /// Resolves when the shutdown begins.
    pub async fn begun(&self) {
        let mut watcher = self.watcher();
        poll_fn(|cx| if watcher.phase(cx) >= Phase::Begun { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Whether what ran was cut off.
    pub(crate) fn is_cut(&self) -> bool {
        self.signal.phase() == Phase::Cut
    }

    /// Tells one task of the phases.
    pub(crate) fn watcher(&self) -> Watcher {
        Watcher { signal: Arc::clone(&self.signal), registered: None }
    }

    /// Runs a task that the shutdown waits for, and drops when it cuts.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(UntilCut::new(task, self.watcher()));
    }

    /// Runs a client's connection, which watches the shutdown by itself.
    pub(crate) fn spawn_connection(&self, connection: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(connection);
    }

    /// Runs an upstream's connection, which ends when whoever uses or keeps it lets it go.
    pub(crate) fn spawn_upstream(
        &self,
        connection: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        self.upstream.spawn(connection).abort_handle()
    }
}

/// Runs what belongs to an upstream's connection beside the connection itself.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamTasks(TaskTracker);

impl UpstreamTasks {
    pub(crate) fn new(drain: &Drain) -> Self {
        Self(drain.upstream.clone())
    }
}

impl<F> hyper::rt::Executor<F> for UpstreamTasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}

#[derive(Debug, Default)]
struct Signal {
    phase: AtomicU8,
    // Taken when a task begins and ends, and when the phase changes.
    wakers: Mutex<Slab<Waker>>,
}

impl Signal {
    fn phase(&self) -> Phase {
        match self.phase.load(SeqCst) {
            0 => Phase::Running,
            1 => Phase::Begun,
            _ => Phase::Cut,
        }
    }

    fn enter(&self, phase: Phase) {
        if self.phase.fetch_max(phase as u8, SeqCst) < phase as u8 {
            for (_, waker) in self.wakers().iter() {
                waker.wake_by_ref();
            }
        }
    }

    fn wakers(&self) -> MutexGuard<'_, Slab<Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One task's view of the shutdown.
#[derive(Debug)]
pub(crate) struct Watcher {
    signal: Arc<Signal>,
    registered: Option<(usize, Waker)>,
}

impl Watcher {
    /// The phase now. The task is woken when it changes.
    pub(crate) fn phase(&mut self, cx: &Context<'_>) -> Phase {
        if !self.registered.as_ref().is_some_and(|(_, waker)| waker.will_wake(cx.waker())) {
            self.register(cx.waker());
        }
        // Read after registering: a change in between is seen here, a later one wakes.
        self.signal.phase()
    }

    fn register(&mut self, waker: &Waker) {
        let mut wakers = self.signal.wakers();
        let key = match self.registered.take() {
            Some((key, _)) => {
                wakers[key] = waker.clone();
                key
            }
            None => wakers.insert(waker.clone()),
        };
        drop(wakers);
        self.registered = Some((key, waker.clone()));
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some((key, _)) = self.registered.take() {
            self.signal.wakers().try_remove(key);
        }
    }
}

pin_project! {
    /// A task that is dropped when the shutdown cuts: what it holds writes its record then.
    struct UntilCut<F> {
        #[pin]
        task: Option<F>,
        watcher: Watcher,
    }
}

impl<F> UntilCut<F> {
    fn new(task: F, watcher: Watcher) -> Self {
        Self { task: Some(task), watcher }
    }
}

impl<F: Future<Output = ()>> Future for UntilCut<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.watcher.phase(cx) == Phase::Cut {
            this.task.set(None);
        }
        match this.task.as_pin_mut() {
            Some(task) => task.poll(cx),
            None => Poll::Ready(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::time::Duration;

    use super::Drain;

    #[tokio::test(start_paused = true)]
    async fn what_ends_in_time_is_waited_for() {
        let drain = Drain::new();
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        drain.spawn(async move {
            tokio::time::sleep(Duration::from_secs(20)).await;
            seen.store(true, SeqCst);
        });
        assert!(drain.finish(Duration::from_secs(30)).await);
        assert!(ended.load(SeqCst));
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_end_is_cut_and_dropped() {
        struct OnDrop(Arc<AtomicBool>, Drain);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.store(self.1.is_cut(), SeqCst);
            }
        }
        let drain = Drain::new();
        let cut = Arc::new(AtomicBool::new(false));
        let held = OnDrop(Arc::clone(&cut), drain.clone());
        drain.spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        assert!(!drain.has_begun());
        assert!(!drain.finish(Duration::from_secs(5)).await);
        assert!(cut.load(SeqCst), "dropped after the cut was announced");
    }

    #[tokio::test(start_paused = true)]
    async fn upstream_connections_do_not_hold_the_shutdown_up() {
        let drain = Drain::new();
        drain.spawn_upstream(std::future::pending());
        let begun = tokio::time::Instant::now();
        assert!(drain.finish(Duration::from_secs(30)).await);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
