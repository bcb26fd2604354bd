//! A client's socket that is read under watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::net::TcpStream;
use tokio_util::io::InspectReader;

use super::framing::Framing;

/// Which request of a connection contradicts itself, counted from 1; 0 for none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conflict(Arc<AtomicU64>);

impl Conflict {
    /// Whether it is the `ordinal`th request.
    pub(crate) fn is_in(&self, ordinal: u64) -> bool {
        self.0.load(Relaxed) == ordinal
    }
}

/// The socket of one client; what is read from it is looked at first.
pub(super) type Guarded = InspectReader<TcpStream, Box<dyn FnMut(&[u8]) + Send>>;

/// The same socket, watched for requests that contradict themselves.
pub(super) fn guarded(socket: TcpStream) -> (Guarded, Conflict) {
    let conflict = Conflict::default();
    let found = conflict.clone();
    let mut framing = Framing::new();
    let mut heads = 0;
    let watch = move |bytes: &[u8]| {
        framing.read(bytes, |conflicting| {
            heads += 1;
            if conflicting {
                found.0.store(heads, Relaxed);
            }
        });
    };
    (InspectReader::new(socket, Box::new(watch)), conflict)
}
