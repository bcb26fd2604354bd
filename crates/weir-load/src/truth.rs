//! The truth about each stream: what was written to the socket, and when.
//!
//! One JSON line per stream, written when the stream ends, so that a test can compare what some
//! observer recorded with what really happened. All times are `CLOCK_MONOTONIC` nanoseconds.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;

/// Lines that may wait for the disk; one more is dropped and counted.
const WAITING_LINES: usize = 4096;

/// What happened to one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTruth {
    /// The request's `x-request-id`, or the generated part of the response's id.
    pub id: String,
    /// When the first read of the request returned.
    pub t_first_byte: u64,
    /// When the request's body was complete.
    pub t_request: u64,
    /// The stream's shape in words.
    pub spec: String,
    /// How the stream ended.
    pub end: StreamEnd,
    /// When it ended.
    pub t_end: u64,
    /// The writes that carried events, in order.
    pub writes: Vec<Write>,
    /// What the continuous batch did for it, if it came out of one and had a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchTruth>,
}

/// What a continuous batch did for a stream; of several choices, for the one that came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchTruth {
    /// From its arrival until it was scheduled first.
    pub queue_ns: u64,
    /// From then until the end of the step that yielded its first token.
    pub prefill_ns: u64,
    /// How often it had to make room; of several choices, the most.
    pub preemptions: u32,
    /// Prompt tokens that were in the prefix cache, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamEnd {
    /// Every event was written.
    Ok,
    /// The other side left first.
    Gone,
    /// A fault ended it on purpose.
    Injected,
    /// It fell silent on purpose, until the other side left.
    Stall,
}

/// One write to the socket that carried events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64, u64)", into = "(u64, u64, u64, u64)")]
pub struct Write {
    /// Index of the first event, counted from zero over the stream.
    pub first_event: u64,
    /// How many events it carried.
    pub events: u64,
    /// Just before the write.
    pub before_ns: u64,
    /// Just after it returned.
    pub after_ns: u64,
}

impl From<(u64, u64, u64, u64)> for Write {
    fn from((first_event, events, before_ns, after_ns): (u64, u64, u64, u64)) -> Self {
        Write { first_event, events, before_ns, after_ns }
    }
}

impl From<Write> for (u64, u64, u64, u64) {
    fn from(write: Write) -> Self {
        (write.first_event, write.events, write.before_ns, write.after_ns)
    }
}

/// Reads a truth file.
pub fn read(path: &Path) -> io::Result<Vec<StreamTruth>> {
    BufReader::new(File::open(path)?)
        .lines()
        .map(|line| serde_json::from_str(&line?).map_err(io::Error::from))
        .collect()
}

/// The file being written. Offering a line never waits: a full queue drops the line and counts it.
#[derive(Debug)]
pub(crate) struct TruthFile {
    lines: SyncSender<StreamTruth>,
    lost: AtomicU64,
}

impl TruthFile {
    /// Creates the file; its writer is a thread of `tasks` that ends with this value.
    pub(crate) fn create(path: &Path, tasks: &TaskTracker) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        let (lines, queue) = sync_channel(WAITING_LINES);
        tasks.spawn_blocking(move || write_lines(file, &queue));
        Ok(TruthFile { lines, lost: AtomicU64::new(0) })
    }

    /// Hands over a finished stream's truth.
    pub(crate) fn offer(&self, truth: StreamTruth) {
        if self.lines.try_send(truth).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many lines were dropped, because the queue was full or the disk failed.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Writes until the senders are gone, or until the disk fails: then the closed queue makes every
/// further offer count as lost.
fn write_lines(mut file: BufWriter<File>, queue: &Receiver<StreamTruth>) -> io::Result<()> {
    while let Ok(truth) = queue.recv() {
        write_line(&mut file, &truth)?;
        while let Ok(truth) = queue.try_recv() {
            write_line(&mut file, &truth)?;
        }
        // Flushed whenever the queue is empty, so that a reader sees a stream soon after its end.
        file.flush()?;
    }
    Ok(())
}

fn write_line(file: &mut BufWriter<File>, truth: &StreamTruth) -> io::Result<()> {
    serde_json::to_writer(&mut *file, truth)?;
    file.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_documented_form() {
        let truth = StreamTruth {
            id: "r-1".into(),
            t_first_byte: 10,
            t_request: 11,
            spec: "chat n=1".into(),
            end: StreamEnd::Gone,
            t_end: 40,
            writes: vec![Write { first_event: 0, events: 2, before_ns: 20, after_ns: 21 }],
            batch: None,
        };
        let line = serde_json::to_string(&truth).unwrap();
        assert_eq!(
            line,
            r#"{"id":"r-1","t_first_byte":10,"t_request":11,"spec":"chat n=1","end":"gone","t_end":40,"writes":[[0,2,20,21]]}"#
        );
        assert_eq!(serde_json::from_str::<StreamTruth>(&line).unwrap(), truth);

        let batch = BatchTruth { queue_ns: 1, prefill_ns: 2, preemptions: 3, cached_tokens: None };
        let batched = StreamTruth { batch: Some(batch), ..truth };
        let line = serde_json::to_string(&batched).unwrap();
        assert!(line.ends_with(r#","batch":{"queue_ns":1,"prefill_ns":2,"preemptions":3}}"#), "{line}");
        assert_eq!(serde_json::from_str::<StreamTruth>(&line).unwrap(), batched);
    }

    #[test]
    fn ends_are_written_in_lower_case() {
        let words = [StreamEnd::Ok, StreamEnd::Gone, StreamEnd::Injected, StreamEnd::Stall]
            .map(|end| serde_json::to_string(&end).unwrap());
        assert_eq!(words, ["\"ok\"", "\"gone\"", "\"injected\"", "\"stall\""]);
    }
}
