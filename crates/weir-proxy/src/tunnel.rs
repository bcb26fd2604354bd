//! A connection that goes on in another protocol: bytes pass both ways, and are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::time::{sleep, timeout};
use tokio_util::io::InspectReader;
use weir_core::draft::End;
use weir_core::outcome::ErrorType;

use crate::listener::Open;
use crate::tap::Record;
use crate::upstream::Stream;

/// What is read at once, each way: what passes here is messages.
const BUFFER: usize = 8 * 1024;

/// How long the two ends may take to let go of HTTP once the heads have passed.
const SWITCH: Duration = Duration::from_secs(10);

/// The two ends of a tunnel, which become ready once the response head has reached the client.
pub(crate) struct Ends {
    pub(crate) client: OnUpgrade,
    pub(crate) upstream: OnUpgrade,
    /// Keeps the upstream's connection alive until it has handed over its socket.
    pub(crate) stream: Stream,
}

/// A tunnel that is about to begin.
pub(crate) struct Tunnel {
    ends: Ends,
    /// The client's place among the connections, which it keeps.
    open: Arc<Open>,
    idle: Duration,
}

impl Tunnel {
    /// A tunnel through which something has to pass every `idle`.
    pub(crate) fn new(ends: Ends, open: Arc<Open>, idle: Duration) -> Self {
        Self { ends, open, idle }
    }

    /// Passes bytes until an end closes, breaks, or both fall silent; then writes the record.
    pub(crate) async fn run(self, mut record: Record) {
        let Self { ends: Ends { client, upstream, stream }, open: _open, idle } = self;
        let switched = timeout(SWITCH, async { tokio::try_join!(client, upstream) }).await;
        drop(stream);
        let Ok(Ok((client, upstream))) = switched else {
            return record.close(End::ClientGone);
        };
        let sent = Arc::<AtomicU64>::default();
        let received = Arc::<AtomicU64>::default();
        let mut client = counted(TokioIo::new(client), &sent);
        let mut upstream = counted(TokioIo::new(upstream), &received);
        record.follow(Some(Arc::clone(&sent)));
        record.follow_answer(Arc::clone(&received));
        let end = tokio::select! {
            _ended = copy_bidirectional_with_sizes(&mut client, &mut upstream, BUFFER, BUFFER) => End::Complete,
            () = silence(&sent, &received, idle) => End::Broken(ErrorType::UpstreamTimeoutIdle),
        };
        record.close(end);
    }
}

fn counted<S: tokio::io::AsyncRead>(
    end: S,
    bytes: &Arc<AtomicU64>,
) -> InspectReader<S, impl FnMut(&[u8]) + use<S>> {
    let bytes = Arc::clone(bytes);
    InspectReader::new(end, move |read: &[u8]| {
        bytes.fetch_add(read.len() as u64, Relaxed);
    })
}

/// Resolves once nothing has passed either way for between `limit` and twice that.
async fn silence(sent: &AtomicU64, received: &AtomicU64, limit: Duration) {
    let passed = || (sent.load(Relaxed), received.load(Relaxed));
    loop {
        let before = passed();
        sleep(limit).await;
        if passed() == before {
            return;
        }
    }
}
