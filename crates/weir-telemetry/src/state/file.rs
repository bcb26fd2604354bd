//! The file: SQLite in WAL mode.
//!
//! A transaction is on the disk when it is committed (`synchronous=FULL`): neither a killed process nor
//! a loss of power takes it back, as far as the disk keeps its word.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use weir_analysis::saved::SavedRow;

use super::StateLimits;
use super::error::{StateError, Warning};
use super::pending::Batch;
use crate::clock::wall;

const NAME: &str = "weir-state.sqlite3";
const LOCK: &str = "weir-state.lock";

/// `WEIR`: tells the file from those of other programs.
const APPLICATION: i32 = 0x5745_4952;

/// The form of the table. It changes when a reader of the old form would misread the new one.
const SCHEMA: i32 = 1;

/// Somebody else who looks at the file may hold it for so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// The log beside the file is cut to this length when it has grown beyond it.
const LOG_BYTES: i64 = 16 << 20;

/// The open file. While it is open nobody else opens it.
#[derive(Debug)]
pub(super) struct StateFile {
    connection: Connection,
    max_rows: u64,
    rows: u64,
    _lock: File,
}

/// What came of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrote {
    pub(super) written: u64,
    pub(super) dropped: u64,
    /// How many rows the file now holds.
    pub(super) rows: u64,
}

impl StateFile {
    /// Opens the file of a folder, and reads what it holds.
    pub(super) fn open(
        dir: &Path,
        limits: StateLimits,
    ) -> Result<(Self, Vec<SavedRow>, Vec<Warning>), StateError> {
        let folder = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        folder.map_err(|error| StateError::at(dir)(&error))?;
        let lock = locked(dir)?;
        let path = dir.join(NAME);
        let mut warnings = Vec::new();
        let (connection, saved) = match read(&path, limits) {
            Ok(opened) => opened,
            Err(Fault::Unusable(why)) => return Err(StateError::at(&path)(&why)),
            Err(Fault::Damaged(why)) => {
                let to = set_aside(&path)?;
                warnings.push(Warning::SetAside { to, why });
                read(&path, limits).map_err(|fault| StateError::at(&path)(&fault.why()))?
            }
        };
        let rows = saved.len() as u64;
        Ok((Self { connection, max_rows: limits.max_rows, rows, _lock: lock }, saved, warnings))
    }

    /// How many rows it holds.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes all of a batch, or nothing. What goes goes first, for it makes room.
    pub(super) fn write(&mut self, batch: &Batch) -> rusqlite::Result<Wrote> {
        let mut wrote = Wrote { written: 0, dropped: 0, rows: self.rows };
        let transaction = self.connection.transaction()?;
        {
            let mut delete = transaction.prepare("DELETE FROM rows WHERE tbl=?1 AND key=?2 AND at=?3")?;
            let mut update =
                transaction.prepare("UPDATE rows SET value=?4 WHERE tbl=?1 AND key=?2 AND at=?3")?;
            let mut insert =
                transaction.prepare("INSERT INTO rows(tbl, key, at, value) VALUES(?1, ?2, ?3, ?4)")?;
            for (id, _) in batch.iter().filter(|(_, value)| value.is_none()) {
                let gone = delete.execute(params![id.table, id.key, id.at])? as u64;
                wrote.rows = wrote.rows.saturating_sub(gone);
                wrote.written += 1;
            }
            for (id, value) in batch.iter().filter_map(|(id, value)| Some((id, value.as_ref()?))) {
                let row = params![id.table, id.key, id.at, value];
                if update.execute(row)? > 0 {
                    wrote.written += 1;
                } else if wrote.rows < self.max_rows {
                    insert.execute(row)?;
                    wrote.rows += 1;
                    wrote.written += 1;
                } else {
                    wrote.dropped += 1;
                }
            }
        }
        transaction.commit()?;
        self.rows = wrote.rows;
        Ok(wrote)
    }
}

/// Why a file cannot be read.
enum Fault {
    /// It is not what it should be.
    Damaged(String),
    /// It may be good, but nothing can be done with it.
    Unusable(String),
}

impl Fault {
    fn why(self) -> String {
        let (Self::Damaged(why) | Self::Unusable(why)) = self;
        why
    }
}

impl From<rusqlite::Error> for Fault {
    /// What the surroundings are to blame for does not make a file a damaged one.
    fn from(error: rusqlite::Error) -> Self {
        const SHORT_READ: i32 = rusqlite::ffi::SQLITE_IOERR_SHORT_READ;
        let why = error.to_string();
        match error.sqlite_error() {
            Some(failure) if failure.extended_code == SHORT_READ => Self::Damaged(why),
            Some(failure) => match failure.code {
                ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::SystemIoFailure
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OutOfMemory => Self::Unusable(why),
                _ => Self::Damaged(why),
            },
            None => Self::Damaged(why),
        }
    }
}

/// A lock of its own rather than one of SQLite's, so that `sqlite3` can look at the file meanwhile. It
/// goes with the process.
fn locked(dir: &Path) -> Result<File, StateError> {
    let path = dir.join(LOCK);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(|error| StateError::at(&path)(&error))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(StateError::InUse(dir.to_owned())),
        Err(error) => Err(StateError::at(&path)(&error)),
    }
}

fn read(path: &Path, limits: StateLimits) -> Result<(Connection, Vec<SavedRow>), Fault> {
    // SQLite would make it for all to read.
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    made.map_err(|error| Fault::Unusable(error.to_string()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    let fresh = known(&connection)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))?;
    bound(&connection, limits.max_bytes)?;
    if fresh {
        begin(&mut connection)?;
    }
    let checked: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if checked != "ok" {
        return Err(Fault::Damaged(checked));
    }
    let rows = rows(&connection)?;
    Ok((connection, rows))
}

/// Whether the file is an empty one, if it is one of ours.
fn known(connection: &Connection) -> Result<bool, Fault> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (application, schema) = (number("application_id")?, number("user_version")?);
    let any: Option<i32> =
        connection.query_row("SELECT 1 FROM sqlite_master", [], |row| row.get(0)).optional()?;
    match (application, schema) {
        (0, 0) if any.is_none() => Ok(true),
        (APPLICATION, SCHEMA) => Ok(false),
        (APPLICATION, newer) => Err(Fault::Damaged(format!("its form is {newer}, known is {SCHEMA}"))),
        _ => Err(Fault::Damaged("it is not weir's".to_owned())),
    }
}

fn begin(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(
        "CREATE TABLE rows(tbl TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, value TEXT NOT NULL,
         PRIMARY KEY(tbl, key, at)) STRICT, WITHOUT ROWID",
    )?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", SCHEMA)?;
    transaction.commit()
}

fn bound(connection: &Connection, max_bytes: u64) -> rusqlite::Result<()> {
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = i64::try_from(max_bytes).unwrap_or(i64::MAX) / page.max(1);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}

fn rows(connection: &Connection) -> rusqlite::Result<Vec<SavedRow>> {
    let mut all = connection.prepare("SELECT tbl, key, at, value FROM rows ORDER BY tbl, key, at")?;
    let rows = all.query_map([], |row| {
        let at: i64 = row.get(2)?;
        let at = u64::try_from(at).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(2, at))?;
        Ok(SavedRow { table: row.get(0)?, key: row.get(1)?, at, value: row.get(3)? })
    })?;
    rows.collect()
}

/// Renames the file and what belongs to it. It is kept: somebody may read it yet.
fn set_aside(path: &Path) -> Result<PathBuf, StateError> {
    let damaged = format!(".damaged-{}", wall().0 / 1_000_000_000);
    let to = with(path, &damaged);
    for end in ["-wal", "-shm", ""] {
        match std::fs::rename(with(path, end), with(&to, end)) {
            Err(error) if end.is_empty() || error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StateError::at(path)(&error));
            }
            _ => {}
        }
    }
    Ok(to)
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
