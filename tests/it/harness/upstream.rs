//! The double of an upstream: a socket that a test accepts, reads and writes by hand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::message::Message;
use super::wire::Wire;
use super::{guarded, until};

/// An upstream that does what the test does.
pub(crate) struct Upstream {
    listener: TcpListener,
}

impl Upstream {
    pub(crate) async fn bind() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    pub(crate) async fn accept(&self) -> Wire {
        Wire::new(guarded(self.listener.accept()).await.unwrap().0)
    }

    /// Accepts a connection and reads a request from it.
    pub(crate) async fn asked(&self) -> (Wire, Message) {
        let mut wire = self.accept().await;
        let request = wire.request().await;
        (wire, request)
    }

    /// Whether nobody connects, for a moment.
    pub(crate) async fn is_untouched(&self) -> bool {
        tokio::time::timeout(Duration::from_millis(50), self.listener.accept()).await.is_err()
    }

    /// Answers every request by itself from now on, and closes where `answer` says so.
    pub(crate) fn serve(self, answer: impl Fn(&Message) -> Reply + Send + Sync + 'static) -> Served {
        self.serve_idle(Duration::from_secs(600), answer)
    }

    /// The same, and closes connections that were not used for this long.
    pub(crate) fn serve_idle(
        self,
        idle: Duration,
        answer: impl Fn(&Message) -> Reply + Send + Sync + 'static,
    ) -> Served {
        let count = Arc::new(Count::default());
        let counted = Arc::clone(&count);
        let answer = Arc::new(answer);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let wire = Wire::new(self.listener.accept().await.unwrap().0);
                counted.connections.fetch_add(1, SeqCst);
                connections.spawn(serve(wire, idle, Arc::clone(&counted), Arc::clone(&answer)));
            }
        });
        Served { count, _tasks: tasks }
    }
}

/// What is answered to one request.
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    /// Close the connection after it, without having said so.
    pub(crate) closes: bool,
}

impl From<Vec<u8>> for Reply {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, closes: false }
    }
}

#[derive(Default)]
struct Count {
    connections: AtomicUsize,
    requests: AtomicUsize,
    open: AtomicUsize,
}

/// An upstream that answers by itself until it is dropped.
pub(crate) struct Served {
    count: Arc<Count>,
    _tasks: JoinSet<()>,
}

impl Served {
    pub(crate) fn connections(&self) -> usize {
        self.count.connections.load(SeqCst)
    }

    pub(crate) fn requests(&self) -> usize {
        self.count.requests.load(SeqCst)
    }

    /// Waits until no connection is open on this side.
    pub(crate) async fn is_left(&self) {
        until(|| self.count.open.load(SeqCst) == 0).await;
    }
}

async fn serve(mut wire: Wire, idle: Duration, count: Arc<Count>, answer: Arc<impl Fn(&Message) -> Reply>) {
    count.open.fetch_add(1, SeqCst);
    let open = Open(Arc::clone(&count));
    while let Ok(Some(request)) = tokio::time::timeout(idle, wire.maybe_request()).await {
        count.requests.fetch_add(1, SeqCst);
        let Reply { bytes, closes } = answer(&request);
        if wire.try_send(bytes).await.is_err() || closes {
            break;
        }
    }
    drop((wire, open));
}

struct Open(Arc<Count>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, SeqCst);
    }
}
