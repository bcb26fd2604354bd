//! Connections of HTTP/1.1 kept between requests, the freshest used first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use tokio::task::AbortHandle;
use weir_core::timeline::{Offset, Stamp};

use super::socket::LastRead;
use crate::clock::monotonic;
use crate::tap::RequestBody;

#[derive(Debug)]
pub(super) struct Pool {
    max_idle: usize,
    idle_timeout: Offset,
    // Taken when a request takes and returns its connection.
    idle: Mutex<Vec<Idle>>,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Stamp,
}

/// A connection that carries one exchange at a time.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<RequestBody>,
    task: AbortHandle,
    last_read: LastRead,
}

impl Connection {
    pub(super) fn new(sender: SendRequest<RequestBody>, task: AbortHandle, last_read: LastRead) -> Self {
        Self { sender, task, last_read }
    }
}

/// Dropping a connection closes its socket at once, whatever its task waits for.
impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A connection in use. It is closed when dropped, unless it is kept.
#[derive(Debug)]
pub(super) struct Lease {
    connection: Connection,
    pool: Arc<Pool>,
}

impl Pool {
    pub(super) fn new(max_idle: usize, idle_timeout: Duration) -> Self {
        Self { max_idle, idle_timeout: idle_timeout.into(), idle: Mutex::default() }
    }

    /// The freshest connection that is ready; those that died or grew too old are let go.
    pub(super) fn take(self: &Arc<Self>) -> Option<Lease> {
        let now = monotonic();
        let mut idle = self.idle();
        let fresh =
            |idle: &Idle| !idle.connection.sender.is_closed() && now.since(idle.since) < self.idle_timeout;
        // The oldest stand first: all before the first fresh one are stale.
        let stale = idle.iter().take_while(|idle| now.since(idle.since) >= self.idle_timeout).count();
        let mut dropped: Vec<Idle> = idle.drain(..stale).collect();
        let mut found = None;
        for index in (0..idle.len()).rev() {
            if !fresh(&idle[index]) {
                dropped.push(idle.remove(index));
            } else if idle[index].connection.sender.is_ready() {
                found = Some(idle.remove(index).connection);
                break;
            }
        }
        drop(idle);
        drop(dropped);
        found.map(|connection| self.lease(connection))
    }

    /// A fresh connection, in use from the start.
    pub(super) fn lease(self: &Arc<Self>, connection: Connection) -> Lease {
        Lease { connection, pool: Arc::clone(self) }
    }

    fn put(&self, connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        let mut idle = self.idle();
        // Of too many, the one that was used longest ago goes.
        let surplus = (idle.len() >= self.max_idle && !idle.is_empty()).then(|| idle.remove(0));
        if self.max_idle > 0 {
            idle.push(Idle { connection, since: monotonic() });
        }
        drop(idle);
        drop(surplus);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// When bytes of the connection were last read.
    pub(super) fn last_read(&self) -> Stamp {
        self.connection.last_read.stamp()
    }

    pub(super) fn sender(&mut self) -> &mut SendRequest<RequestBody> {
        &mut self.connection.sender
    }

    /// Gives the connection back for other requests. It is used once it is ready.
    pub(super) fn keep(self) {
        self.pool.put(self.connection);
    }
}
