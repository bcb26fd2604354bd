//! `/api/stream`: each new snapshot as a server-sent event.
//!
//! A viewer that reads more slowly than snapshots come skips some: what is sent is always the newest there
//! is when there is room, and what lies between here and the viewer is one event, the connection's write
//! buffer and the kernel's.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::interval;

use crate::refusal::Refusal;
use crate::server::{Surface, Visit};

/// A comment goes out this often, so that hops between do not take the connection for dead.
const BEAT: Duration = Duration::from_secs(15);

const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// How long a browser waits before it connects again, in milliseconds.
const RETRY: Bytes = Bytes::from_static(b"retry: 1000\n\n");

/// The body of a stream of events.
#[derive(Debug)]
pub(crate) struct Events(mpsc::Receiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Begins a stream, if one more may look on. It ends with its viewer, with its connection, or when no
/// snapshots come any more.
pub(crate) fn begin(visit: &Visit) -> Result<Events, Refusal> {
    let place = Arc::clone(&visit.surface.viewers).try_acquire_owned();
    let place = place.map_err(|_| Refusal::TooManyViewers)?;
    let (frames, events) = mpsc::channel(1);
    let (surface, closing) = (Arc::clone(&visit.surface), visit.closing.clone());
    visit.tracker.spawn(async move {
        tokio::select! {
            () = closing.cancelled() => {}
            () = feed(&frames, &surface) => {}
            // Without this a viewer that is gone would be found out at the next snapshot only.
            () = frames.closed() => {}
        }
        drop::<OwnedSemaphorePermit>(place);
    });
    Ok(Events(events))
}

/// Sends until nobody listens, or no snapshots come any more.
async fn feed(frames: &mpsc::Sender<Bytes>, surface: &Surface) {
    let mut news = surface.handles.snapshot.clone();
    news.mark_changed();
    let mut beat = interval(BEAT);
    beat.reset();
    let mut sent = Bytes::new();
    if frames.send(RETRY).await.is_err() {
        return;
    }
    loop {
        let is_news = tokio::select! {
            changed = news.changed() => match changed {
                Ok(()) => true,
                Err(_) => return,
            },
            _ = beat.tick() => false,
        };
        // First the room, then the look: what is sent is the newest then.
        let Ok(room) = frames.reserve().await else { return };
        if !is_news {
            room.send(COMMENT);
            continue;
        }
        news.mark_unchanged();
        match surface.rendered.event() {
            // It may have come between the mark and the look: then it is out already.
            Ok(event) if event.as_ptr() == sent.as_ptr() => {}
            Ok(event) => {
                sent = event.clone();
                room.send(event);
            }
            Err(error) => return tracing::error!(%error, "cannot show a snapshot"),
        }
    }
}
