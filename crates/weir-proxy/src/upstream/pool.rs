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
    /// [`PROBATION`], unless connections are not kept for so long.
    probation: Offset,
    // Taken when a request takes and returns its connection.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Idle>,
    /// Whether the upstream was seen to close connections behind an answer of this kind, unsaid.
    closes_behind: [bool; 2],
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Stamp,
    behind: Behind,
}

/// The kind of the answer that a connection has carried last. Some servers end connections behind
/// every answer whose length they did not know, and do not say so: llama.cpp's is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// Its length was told.
    Sized,
    /// It came in chunks.
    Chunked,
}

/// A connection that closes within this was not closed for being idle. Where connections are closed
/// behind answers, one is used again when it has been left open for so long: a request that meets the
/// closing is lost, since nobody can know whether it was read.
const PROBATION: Offset = Offset(1_000_000_000);

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
        let probation = PROBATION.min((idle_timeout / 2).into());
        Self { max_idle, idle_timeout: idle_timeout.into(), probation, state: Mutex::default() }
    }

    /// The freshest connection that is ready; those that died or grew too old are let go.
    pub(super) fn take(self: &Arc<Self>) -> Option<Lease> {
        let now = monotonic();
        let mut state = self.state();
        let State { idle, closes_behind } = &mut *state;
        // The oldest stand first: all before the first fresh one are stale.
        let stale = idle.iter().take_while(|idle| now.since(idle.since) >= self.idle_timeout).count();
        let mut dropped: Vec<Idle> = idle.drain(..stale).collect();
        let mut found = None;
        for index in (0..idle.len()).rev() {
            let Idle { connection, since, behind } = &idle[index];
            let (age, closes) = (now.since(*since), &mut closes_behind[*behind as usize]);
            if connection.sender.is_closed() {
                *closes |= age < self.probation;
                dropped.push(idle.remove(index));
            } else if (!*closes || age >= self.probation) && connection.sender.is_ready() {
                *closes = false;
                found = Some(idle.remove(index).connection);
                break;
            }
        }
        drop(state);
        drop(dropped);
        found.map(|connection| self.lease(connection))
    }

    /// A fresh connection, in use from the start.
    pub(super) fn lease(self: &Arc<Self>, connection: Connection) -> Lease {
        Lease { connection, pool: Arc::clone(self) }
    }

    /// A kept connection was closed under a request. Which kind of answer it had carried is gone with it.
    pub(super) fn closed_under_a_request(&self) {
        self.state().closes_behind = [true; 2];
    }

    fn put(&self, connection: Connection, behind: Behind) {
        if connection.sender.is_closed() {
            return;
        }
        let mut state = self.state();
        let idle = &mut state.idle;
        // Of too many, the one that was used longest ago goes.
        let surplus = (idle.len() >= self.max_idle && !idle.is_empty()).then(|| idle.remove(0));
        if self.max_idle > 0 {
            idle.push(Idle { connection, since: monotonic(), behind });
        }
        drop(state);
        drop(surplus);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub(super) fn keep(self, behind: Behind) {
        self.pool.put(self.connection, behind);
    }
}
