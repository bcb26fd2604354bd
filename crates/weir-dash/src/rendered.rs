//! The newest snapshot in JSON: written once, however many look at it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;
use weir_analysis::snapshot::Snapshot;

use crate::refusal::Refusal;

/// What stands behind the JSON of an event.
const END: &[u8] = b"\n\n";

/// The newest snapshot in JSON.
#[derive(Debug)]
pub(crate) struct Rendered {
    snapshot: watch::Receiver<Arc<Snapshot>>,
    /// Held while one is written, so that whoever comes at the same time waits for it and does not write it
    /// again. Nothing is awaited under it.
    last: Mutex<Option<Written>>,
}

/// A snapshot that is written.
#[derive(Clone, Debug)]
struct Written {
    /// Of which. It is kept, so that no later one can stand at its place in memory.
    of: Arc<Snapshot>,
    event: Bytes,
    json: Bytes,
}

impl Rendered {
    /// Of what this watch shows.
    pub(crate) fn new(snapshot: watch::Receiver<Arc<Snapshot>>) -> Self {
        Self { snapshot, last: Mutex::default() }
    }

    /// The newest snapshot in JSON.
    pub(crate) fn json(&self) -> Result<Bytes, Refusal> {
        self.newest().map(|written| written.json)
    }

    /// The newest snapshot as a server-sent event; the same bytes as long as there is no newer one.
    pub(crate) fn event(&self) -> Result<Bytes, Refusal> {
        self.newest().map(|written| written.event)
    }

    fn newest(&self) -> Result<Written, Refusal> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = Arc::clone(&self.snapshot.borrow());
        if let Some(written) = last.as_ref().filter(|written| Arc::ptr_eq(&written.of, &newest)) {
            return Ok(written.clone());
        }
        let written = Written::new(newest).map_err(|error| Refusal::Unwritable(error.to_string()))?;
        *last = Some(written.clone());
        Ok(written)
    }
}

impl Written {
    fn new(of: Arc<Snapshot>) -> Result<Self, serde_json::Error> {
        let mut event = format!("event: snapshot\nid: {}\ndata: ", of.at.0).into_bytes();
        let from = event.len();
        // This form of JSON has no line breaks, which would end the event's data.
        serde_json::to_writer(&mut event, &*of)?;
        let to = event.len();
        event.extend_from_slice(END);
        let event = Bytes::from(event);
        let json = event.slice(from..to);
        Ok(Self { of, event, json })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::watch;
    use weir_analysis::snapshot::Snapshot;
    use weir_analysis::time::Moment;

    use super::Rendered;

    #[test]
    fn a_snapshot_is_written_once_and_a_new_one_anew() {
        let (publish, snapshot) = watch::channel(Arc::new(Snapshot::empty(Moment(7), Moment(1))));
        let rendered = Rendered::new(snapshot);
        let (event, json) = (rendered.event().unwrap(), rendered.json().unwrap());
        assert_eq!(
            event,
            format!("event: snapshot\nid: 7\ndata: {}\n\n", std::str::from_utf8(&json).unwrap())
        );
        assert_eq!(rendered.event().unwrap().as_ptr(), event.as_ptr());
        // Equal, and another one all the same.
        publish.send_replace(Arc::new(Snapshot::empty(Moment(7), Moment(1))));
        let anew = rendered.event().unwrap();
        assert_eq!(anew, event);
        assert_ne!(anew.as_ptr(), event.as_ptr());
    }
}
