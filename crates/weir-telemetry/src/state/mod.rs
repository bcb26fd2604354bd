//! Keeps what the analysis must know after a restart: rows in a SQLite file, written by a thread of
//! its own.
//!
//! Offering rows never waits for the disk. Rows that are offered together are committed together;
//! once [`StateCounts::written`] counts them, neither `kill -9` nor a loss of power takes them back. What
//! waits, what is held and the size of the file are bounded.

mod counts;
mod error;
mod file;
mod pending;
mod writer;

pub use counts::StateCounts;
pub use error::{StateError, Warning};

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::oneshot;
use weir_analysis::saved::{Row, SavedRow};

use crate::clock::Clock;
use crate::rate_limit::RateLimit;
use file::StateFile;
use writer::{Shared, Writer};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLimits {
    /// How many rows. At the limit new ones are dropped, and counted; old ones can change and go.
    pub max_rows: u64,
    /// How many bytes the file may have. A write beyond it fails as on a full disk. The log beside it, of at
    /// most some 20 MiB, is not counted.
    pub max_bytes: u64,
}

impl Default for StateLimits {
    fn default() -> Self {
        Self { max_rows: 500_000, max_bytes: 256 << 20 }
    }
}

/// The near end of the store.
#[derive(Debug)]
pub struct State {
    shared: Arc<Shared>,
    counts: Arc<StateCounts>,
    /// Told by the thread, by dropping its end, when everything was written and the file is closed.
    done: oneshot::Receiver<()>,
}

impl State {
    /// Opens the store of a folder, which is made if there is none, and reads what it holds. A file that is
    /// damaged, of a newer form or not Weir's is renamed and a new one begun, with a warning.
    ///
    /// # Errors
    ///
    /// When another process has it open, or the folder or the file cannot be written.
    pub fn open(
        dir: &Path,
        limits: StateLimits,
        clock: Clock,
    ) -> Result<(Self, Vec<SavedRow>, Vec<Warning>), StateError> {
        let (file, saved, warnings) = StateFile::open(dir, limits)?;
        let (shared, counts) = (Arc::<Shared>::default(), Arc::<StateCounts>::default());
        counts.rows.store(file.rows(), Relaxed);
        let (ended, done) = oneshot::channel();
        let writer = Writer {
            file,
            shared: Arc::clone(&shared),
            counts: Arc::clone(&counts),
            clock,
            log: RateLimit::default(),
        };
        let thread = std::thread::Builder::new().name("weir state".to_owned());
        let spawned = thread.spawn(move || {
            writer.run();
            drop(ended);
        });
        spawned.map_err(|error| StateError::at(dir)(&error))?;
        Ok((Self { shared, counts, done }, saved, warnings))
    }

    /// Hands rows over, to be committed together. Never waits for the disk: where too many wait already, all
    /// of them are dropped, and counted.
    pub fn offer(&self, rows: Vec<Row>) {
        let dropped = self.shared.offer(rows);
        self.counts.dropped.fetch_add(dropped as u64, Relaxed);
    }

    /// What became of the rows.
    pub fn counts(&self) -> Arc<StateCounts> {
        Arc::clone(&self.counts)
    }

    /// Waits until all rows are written and the file is closed, but not for longer than `limit`. A thread
    /// that hangs in a write is left behind.
    pub async fn finish(mut self, limit: Duration) {
        self.shared.finish();
        if tokio::time::timeout(limit, &mut self.done).await.is_err() {
            tracing::warn!("gave up on state that could not be written in time");
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.shared.finish();
    }
}
