//! A client's socket that is read under watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::AsyncRead;
use tokio_util::io::InspectReader;

use super::framing::Framing;

/// Which request of a connection contradicts itself, counted from 1; 0 for none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conflict(Arc<AtomicU64>);

/// Stands for a connection that is no longer watched.
const RELEASED: u64 = u64::MAX;

impl Conflict {
    /// Whether it is the `ordinal`th request.
    pub(crate) fn is_in(&self, ordinal: u64) -> bool {
        self.0.load(Relaxed) == ordinal
    }

    /// What follows on the connection is not HTTP, and not looked at.
    pub(crate) fn release(&self) {
        self.0.store(RELEASED, Relaxed);
    }
}

/// The socket of one client; what is read from it is looked at first.
pub(super) type Guarded<S> = InspectReader<S, Box<dyn FnMut(&[u8]) + Send>>;

/// The same socket, watched for requests that contradict themselves.
pub(super) fn guarded<S: AsyncRead>(socket: S) -> (Guarded<S>, Conflict) {
    let conflict = Conflict::default();
    let found = conflict.clone();
    let mut framing = Some(Framing::new());
    let mut heads = 0;
    let watch = move |bytes: &[u8]| {
        let Some(followed) = &mut framing else { return };
        if found.is_in(RELEASED) {
            framing = None;
            return;
        }
        followed.read(bytes, |conflicting| {
            heads += 1;
            if conflicting {
                found.0.store(heads, Relaxed);
            }
        });
    };
    (InspectReader::new(socket, Box::new(watch)), conflict)
}
