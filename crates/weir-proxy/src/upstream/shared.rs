//! Connections of HTTP/2, each carrying many exchanges at once.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::client::conn::http2::SendRequest;
use tokio::task::AbortHandle;
use weir_core::timeline::{Offset, Stamp};

use super::socket::LastRead;
use crate::clock::monotonic;
use crate::tap::RequestBody;

/// The most exchanges that share a connection, however many the server would take: one connection
/// is one task, which has to be polled for each of them.
pub(super) const MOST_STREAMS: usize = 256;

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Shared {
    idle_timeout: Offset,
    // Taken when an exchange begins and ends.
    open: Mutex<Vec<Member>>,
}

#[derive(Debug)]
struct Member {
    connection: Arc<Connection>,
    exchanges: usize,
    /// When the last exchange on it ended.
    since: Stamp,
}

/// A connection that carries many exchanges.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<RequestBody>,
    task: AbortHandle,
    last_read: LastRead,
    /// How many exchanges the server takes at once.
    room: Arc<AtomicUsize>,
}

impl Connection {
    pub(super) fn new(
        sender: SendRequest<RequestBody>,
        task: AbortHandle,
        last_read: LastRead,
        room: Arc<AtomicUsize>,
    ) -> Self {
        Self { sender, task, last_read, room }
    }

    /// A server that takes none at the moment may take one later; it gets it then, not another
    /// connection for each.
    fn room(&self) -> usize {
        self.room.load(Relaxed).clamp(1, MOST_STREAMS)
    }
}

/// It is dropped when it has left the pool and its last exchange is over.
impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A place on a connection, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    connection: Arc<Connection>,
    shared: Arc<Shared>,
}

impl Shared {
    pub(super) fn new(idle_timeout: Duration) -> Self {
        Self { idle_timeout: idle_timeout.into(), open: Mutex::default() }
    }

    /// A place on a connection that has one; those that died or grew too old are let go.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        let now = monotonic();
        let mut open = self.open();
        let mut dropped = Vec::new();
        open.retain(|member| {
            let unused = member.exchanges == 0 && now.since(member.since) >= self.idle_timeout;
            let keep = !unused && !member.connection.sender.is_closed();
            if !keep {
                dropped.push(Arc::clone(&member.connection));
            }
            keep
        });
        let found = open.iter_mut().find(|member| member.exchanges < member.connection.room());
        let place = found.map(|member| {
            member.exchanges += 1;
            Place { connection: Arc::clone(&member.connection), shared: Arc::clone(self) }
        });
        drop(open);
        drop(dropped);
        place
    }

    /// A place on a fresh connection, whose others are for whoever comes next.
    pub(super) fn add(self: &Arc<Self>, connection: Connection) -> Place {
        let connection = Arc::new(connection);
        let member = Member { connection: Arc::clone(&connection), exchanges: 1, since: monotonic() };
        self.open().push(member);
        Place { connection, shared: Arc::clone(self) }
    }

    /// Lets a connection go to no further exchange.
    fn retire(&self, connection: &Arc<Connection>) {
        self.open().retain(|member| !Arc::ptr_eq(&member.connection, connection));
    }

    fn open(&self) -> MutexGuard<'_, Vec<Member>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// When bytes of the connection were last read, be they this exchange's or another's.
    pub(super) fn last_read(&self) -> Stamp {
        self.connection.last_read.stamp()
    }

    pub(super) fn sender(&self) -> SendRequest<RequestBody> {
        self.connection.sender.clone()
    }

    /// The connection takes no more requests.
    pub(super) fn retire(&self) {
        self.shared.retire(&self.connection);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.shared.open();
        if let Some(member) = open.iter_mut().find(|member| Arc::ptr_eq(&member.connection, &self.connection))
        {
            member.exchanges -= 1;
            member.since = monotonic();
        }
    }
}
