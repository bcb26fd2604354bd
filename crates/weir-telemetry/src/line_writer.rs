//! Writes lines to a file or to standard output from a thread of its own, behind a bounded queue:
//! a disk that is full or slow costs lines, which are counted, and never makes anyone wait.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::config::Destination;
use crate::rate_limit::RateLimit;

/// How many lines may wait. The next one is dropped and counted.
const MAX_LINES: usize = 16_384;

/// How many bytes may wait, for lines that list every gap are long.
const MAX_BYTES: u64 = 64 << 20;

/// Lines that wait together are written together, up to this many bytes.
const BATCH_BYTES: usize = 256 << 10;

/// What became of the lines.
#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    full: AtomicU64,
    error: AtomicU64,
    waiting_bytes: AtomicU64,
}

impl LineCounts {
    /// Lines dropped because too many were waiting.
    pub(crate) fn full(&self) -> u64 {
        self.full.load(Relaxed)
    }

    /// Lines lost because they could not be written.
    pub(crate) fn error(&self) -> u64 {
        self.error.load(Relaxed)
    }
}

/// The near end of a writer's queue.
#[derive(Debug)]
pub(crate) struct LineWriter {
    what: &'static str,
    lines: SyncSender<Vec<u8>>,
    counts: Arc<LineCounts>,
    /// Told by the thread, by dropping its end, when everything was written.
    done: oneshot::Receiver<()>,
    clock: Clock,
    log: RateLimit,
}

impl LineWriter {
    /// Opens `destination` and starts the thread. `what` names the lines in Weir's own log; `head`
    /// is written before the first of them.
    pub(crate) fn open(
        what: &'static str,
        destination: &Destination,
        head: Vec<u8>,
        clock: Clock,
    ) -> io::Result<Self> {
        let explain = |error: io::Error| {
            io::Error::new(error.kind(), format!("{what}: cannot open {destination}: {error}"))
        };
        let (file, cut) = open(destination).map_err(explain)?;
        let counts = Arc::new(LineCounts::default());
        let (lines, waiting) = sync_channel(MAX_LINES);
        let (ended, done) = oneshot::channel();
        let sink =
            Sink { what, file, cut, head, counts: Arc::clone(&counts), clock, log: RateLimit::default() };
        std::thread::Builder::new().name(format!("weir {what}")).spawn(move || {
            sink.run(&waiting);
            drop(ended);
        })?;
        Ok(Self { what, lines, counts, done, clock, log: RateLimit::default() })
    }

    /// What became of the lines.
    pub(crate) fn counts(&self) -> Arc<LineCounts> {
        Arc::clone(&self.counts)
    }

    /// Hands over a line, its newline included. Never waits: a line that finds no room is dropped.
    pub(crate) fn offer(&mut self, line: Vec<u8>) {
        let bytes = line.len() as u64;
        let waiting = self.counts.waiting_bytes.fetch_add(bytes, Relaxed);
        let room = waiting.saturating_add(bytes) <= MAX_BYTES;
        let sent = match room {
            true => self.lines.try_send(line),
            false => Err(TrySendError::Full(line)),
        };
        if sent.is_err() {
            self.counts.waiting_bytes.fetch_sub(bytes, Relaxed);
            self.counts.full.fetch_add(1, Relaxed);
            if let Some(held_back) = self.log.pass((self.clock)()) {
                tracing::warn!(what = self.what, held_back, "lines wait to be written, this one was dropped");
            }
        }
    }

    /// Waits until all lines are written, but not for longer than `limit`. A thread that hangs in
    /// a write is left behind.
    pub(crate) async fn finish(self, limit: Duration) {
        let Self { what, lines, counts, done, .. } = self;
        drop(lines);
        if tokio::time::timeout(limit, done).await.is_err() {
            let bytes = counts.waiting_bytes.load(Relaxed);
            tracing::warn!(what, bytes, "gave up on lines that could not be written in time");
        }
    }
}

/// Opens a destination for appending. True if it ends in the middle of a line.
fn open(destination: &Destination) -> io::Result<(File, bool)> {
    let path = match destination {
        Destination::Stdout => {
            return Ok((io::stdout().as_fd().try_clone_to_owned()?.into(), false));
        }
        Destination::File(path) => path,
    };
    // Opening a pipe to write waits for a reader; opening it for both does not.
    let is_pipe = path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
    let file = OpenOptions::new().append(true).create(true).read(is_pipe).open(path)?;
    let cut = file.metadata()?.is_file() && ends_in_mid_line(path);
    Ok((file, cut))
}

/// Whether a process that was killed, or a full disk, left half a line. What cannot be read is
/// taken to be whole: an empty line too many harms less than a log that does not start.
fn ends_in_mid_line(path: &Path) -> bool {
    let last_byte = || -> io::Result<u8> {
        let mut file = File::open(path)?;
        let mut byte = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    last_byte().is_ok_and(|byte| byte != b'\n')
}

/// The far end, on its own thread.
struct Sink<W> {
    what: &'static str,
    file: W,
    /// What was written last is half a line.
    cut: bool,
    /// What is still to be written before the first line.
    head: Vec<u8>,
    counts: Arc<LineCounts>,
    clock: Clock,
    log: RateLimit,
}

impl<W: Write> Sink<W> {
    fn run(mut self, waiting: &Receiver<Vec<u8>>) {
        let mut batch = Vec::new();
        if !self.head.is_empty() {
            self.write(&batch);
        }
        while let Ok(line) = waiting.recv() {
            let mut bytes = line.len();
            batch.push(line);
            while bytes < BATCH_BYTES
                && let Ok(line) = waiting.try_recv()
            {
                bytes += line.len();
                batch.push(line);
            }
            self.write(&batch);
            self.counts.waiting_bytes.fetch_sub(bytes as u64, Relaxed);
            batch.clear();
        }
    }

    /// Writes lines in one go. Those that a failure leaves unwritten or cut are lost; the next
    /// call tries again with the next lines.
    fn write(&mut self, lines: &[Vec<u8>]) {
        let mut text = Vec::new();
        if self.cut {
            text.push(b'\n');
        }
        text.extend_from_slice(&self.head);
        let head_end = text.len();
        let ends: Vec<usize> = lines
            .iter()
            .map(|line| {
                text.extend_from_slice(line);
                text.len()
            })
            .collect();
        let (written, result) = write_all(&mut self.file, &text);
        if let Some(&last) = text[..written].last() {
            self.cut = last != b'\n';
        }
        if written >= head_end {
            self.head = Vec::new();
        }
        if let Err(error) = result {
            let lost = ends.iter().filter(|&&end| end > written).count() as u64;
            self.counts.error.fetch_add(lost, Relaxed);
            if let Some(held_back) = self.log.pass((self.clock)()) {
                tracing::warn!(what = self.what, %error, lost, held_back, "cannot write");
            }
        }
    }
}

/// Like [`Write::write_all`], and says how far it came.
fn write_all(to: &mut impl Write, text: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < text.len() {
        match to.write(&text[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => written += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use weir_core::timeline::Stamp;

    use super::{LineCounts, Sink};
    use crate::rate_limit::RateLimit;

    /// A disk with room for so many bytes.
    struct Disk {
        room: usize,
        holds: Vec<u8>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.room);
            if n == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= n;
            self.holds.extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn sink(room: usize, head: &str) -> Sink<Disk> {
        Sink {
            what: "test",
            file: Disk { room, holds: Vec::new() },
            cut: false,
            head: head.into(),
            counts: Arc::new(LineCounts::default()),
            clock: || Stamp(1),
            log: RateLimit::default(),
        }
    }

    #[test]
    fn a_line_cut_by_a_full_disk_does_not_spoil_the_next() {
        let mut sink = sink(7, "");
        let lines = |texts: &[&str]| texts.iter().map(|t| t.as_bytes().to_vec()).collect::<Vec<_>>();
        sink.write(&lines(&["one\n", "two2\n", "three\n"]));
        assert_eq!((sink.counts.error(), sink.cut), (2, true));
        sink.write(&lines(&["four\n"]));
        assert_eq!((sink.counts.error(), sink.cut), (3, true));
        sink.file.room = 1;
        sink.write(&lines(&["five\n"]));
        assert_eq!((sink.counts.error(), sink.cut), (4, false));
        sink.file.room = 100;
        sink.write(&lines(&["six\n", "seven\n"]));
        assert_eq!(sink.counts.error(), 4);
        assert_eq!(String::from_utf8(sink.file.holds).unwrap(), "one\ntwo\nsix\nseven\n");
    }

    #[test]
    fn the_head_is_tried_until_it_stands() {
        let mut sink = sink(3, "head\n");
        sink.write(&[]);
        assert_eq!((sink.counts.error(), sink.cut), (0, true));
        sink.file.room = 100;
        sink.write(&[b"line\n".to_vec()]);
        sink.write(&[b"more\n".to_vec()]);
        assert_eq!(String::from_utf8(sink.file.holds).unwrap(), "hea\nhead\nline\nmore\n");
    }
}
