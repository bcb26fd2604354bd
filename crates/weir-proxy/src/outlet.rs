//! Where records leave the data path: a bounded channel that is offered to and never waited for.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::mpsc;
use weir_core::exchange::Exchange;
use weir_core::tally::Tally;

/// The data path's end of the channel to the pipeline.
#[derive(Clone, Debug)]
pub struct Outlet {
    records: mpsc::Sender<Box<Exchange>>,
    tally: Arc<Tally>,
}

impl Outlet {
    /// An outlet that holds `capacity` records, and the end from which they are taken. A record
    /// that finds it full is dropped and counted in `tally`.
    pub fn new(capacity: usize, tally: Arc<Tally>) -> (Self, mpsc::Receiver<Box<Exchange>>) {
        let (records, taken) = mpsc::channel(capacity);
        (Self { records, tally }, taken)
    }

    /// Offers a record. Never waits.
    pub(crate) fn offer(&self, exchange: Exchange) {
        if self.records.try_send(Box::new(exchange)).is_err() {
            self.tally.exchanges_dropped.fetch_add(1, Relaxed);
        }
    }
}
