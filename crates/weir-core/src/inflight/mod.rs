//! What is in flight: a bounded table that the data path writes and the pipeline's tick reads, so
//! that a stream is seen while it runs, and above all while it is silent.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::exchange::{ExchangeId, Side};
use crate::gaps::{GapCell, GapRecord};
use crate::lanes::{LaneGauge, Stages};
use crate::observation::{InFlight, LISTED_SILENCES, Silence};
use crate::stage::StageGauge;
use crate::timeline::{Offset, Stamp};

/// Where in its life an exchange stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its request is being read, or it waits for admission.
    Queued,
    /// It was admitted; no response head has come.
    Waiting,
    /// The response head came, a first token has not.
    Prefill,
    /// Output is flowing.
    Decode,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Waiting, Self::Prefill, Self::Decode];

    /// The name as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Phase::Queued => "queued",
            Phase::Waiting => "waiting",
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        }
    }
}

/// The sentinel of an offset that has not come.
const ABSENT: u64 = u64::MAX;

/// One exchange in flight. Written by its own relay alone; read by anyone.
#[derive(Debug)]
pub struct Live {
    /// Which exchange this is.
    pub id: ExchangeId,
    /// When its request head was read.
    pub received: Stamp,
    /// The dialect its path named.
    pub dialect: Dialect,
    model: OnceLock<Box<str>>,
    upstream: OnceLock<Box<str>>,
    phase: AtomicU8,
    chunks: AtomicU64,
    tokens: AtomicU64,
    first_token: AtomicU64,
    /// When it was admitted, and then when its response head came.
    moved: AtomicU64,
    last_byte: AtomicU64,
    /// Bytes were read that the client has not taken yet: it is the client that is waited for.
    untaken: AtomicBool,
    gaps: OnceLock<Box<GapCell>>,
    /// The lanes that it was admitted through.
    lanes: OnceLock<Box<[Arc<LaneGauge>]>>,
    /// Since when it has been in the stage that it is in, counted from the request head.
    stage_since: AtomicU64,
}

impl Live {
    fn new(id: ExchangeId, received: Stamp, dialect: Dialect) -> Self {
        Self {
            id,
            received,
            dialect,
            model: OnceLock::new(),
            upstream: OnceLock::new(),
            phase: AtomicU8::new(0),
            chunks: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            first_token: AtomicU64::new(ABSENT),
            moved: AtomicU64::new(0),
            last_byte: AtomicU64::new(ABSENT),
            untaken: AtomicBool::new(false),
            gaps: OnceLock::new(),
            lanes: OnceLock::new(),
            stage_since: AtomicU64::new(0),
        }
    }

    /// Says which model was asked for; only the first call counts.
    pub fn name_model(&self, model: &str) {
        self.model.get_or_init(|| model.into());
    }

    /// Says which upstream it goes to; only the first call counts.
    pub fn name_upstream(&self, upstream: &str) {
        self.upstream.get_or_init(|| upstream.into());
    }

    /// It goes through these lanes; only the first call counts, and only before it is admitted.
    pub fn goes_through(&self, lanes: Box<[Arc<LaneGauge>]>) {
        let _ = self.lanes.set(lanes);
    }

    /// It was admitted at `at`.
    pub fn admitted(&self, at: Offset) {
        self.enter(Phase::Waiting);
        self.moved(at);
        let (_, at) = self.stage(at);
        self.each_lane(|stages| stages.prefill.enter(at));
    }

    /// The first token came at `at`.
    fn decodes(&self, at: Offset) {
        let (since, at) = self.stage(at);
        self.each_lane(|stages| {
            stages.prefill.leave(since, at);
            stages.decode.enter(at);
        });
    }

    /// It was over at `at`. Nothing is written after that.
    pub fn ended(&self, at: Offset) {
        let decoding = self.first_token.load(Relaxed) != ABSENT;
        let (since, at) = self.stage(at);
        self.each_lane(|stages| match decoding {
            true => stages.decode.leave(since, at),
            false => stages.prefill.leave(since, at),
        });
    }

    /// Since when it has been in its stage, and the stamp of `at`, from which on it is in the next.
    fn stage(&self, at: Offset) -> (Stamp, Stamp) {
        let since = self.stage_since.swap(at.0, Relaxed);
        (self.received.plus(Offset(since)), self.received.plus(at))
    }

    fn each_lane(&self, change: impl Fn(&Stages<StageGauge>)) {
        for lane in self.lanes.get().into_iter().flatten() {
            change(&lane.stages);
        }
    }

    /// Moves on to `phase`.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    /// It was admitted at `at`, or its response head came: any silence begins after that.
    pub fn moved(&self, at: Offset) {
        self.moved.store(at.0, Relaxed);
    }

    /// Bytes of the answer came at `at`.
    pub fn byte(&self, at: Offset) {
        self.last_byte.store(at.0, Relaxed);
        self.untaken.store(true, Relaxed);
    }

    /// All that came was taken, and more is asked of the upstream.
    pub fn awaits(&self) {
        self.untaken.store(false, Relaxed);
    }

    /// A chunk of output came at `at`; `chunks` and `tokens` are the totals with it.
    pub fn chunk(&self, at: Offset, chunks: u64, tokens: u64) {
        if chunks == 1 {
            self.first_token.store(at.0, Relaxed);
            self.enter(Phase::Decode);
            self.decodes(at);
        }
        self.chunks.store(chunks, Relaxed);
        self.tokens.store(tokens, Relaxed);
    }

    /// The stream's gaps; the cell is made at the first use.
    pub fn gaps(&self) -> &GapCell {
        self.gaps.get_or_init(Box::default)
    }

    /// What the exchange has done so far.
    pub fn read(&self) -> LiveReading {
        let offset = |cell: &AtomicU64| {
            let nanos = cell.load(Relaxed);
            (nanos != ABSENT).then_some(Offset(nanos))
        };
        LiveReading {
            id: self.id,
            received: self.received,
            dialect: self.dialect,
            model: self.model.get().cloned(),
            upstream: self.upstream.get().cloned(),
            phase: match self.phase.load(Relaxed) {
                0 => Phase::Queued,
                1 => Phase::Waiting,
                2 => Phase::Prefill,
                _ => Phase::Decode,
            },
            chunks: self.chunks.load(Relaxed),
            tokens: self.tokens.load(Relaxed),
            first_token: offset(&self.first_token),
            moved: Offset(self.moved.load(Relaxed)),
            last_byte: offset(&self.last_byte),
            silent_side: if self.untaken.load(Relaxed) { Side::Downstream } else { Side::Upstream },
        }
    }

    /// The gaps so far; empty for an exchange without output.
    pub fn read_gaps(&self) -> GapRecord {
        self.gaps.get().map(|cell| cell.read()).unwrap_or_default()
    }
}

/// One look at an exchange in flight.
#[derive(Clone, Debug)]
pub struct LiveReading {
    /// Which exchange this is.
    pub id: ExchangeId,
    /// When its request head was read.
    pub received: Stamp,
    /// The dialect its path named.
    pub dialect: Dialect,
    /// The model asked for, once known.
    pub model: Option<Box<str>>,
    /// The upstream that it goes to, once known.
    pub upstream: Option<Box<str>>,
    /// Where it stands.
    pub phase: Phase,
    /// Chunks of output so far.
    pub chunks: u64,
    /// Tokens so far: known counts where chunks tell them, else one a chunk.
    pub tokens: u64,
    /// When the first chunk of output came.
    pub first_token: Option<Offset>,
    /// When it was admitted, and then when its response head came; zero before.
    pub moved: Offset,
    /// When the last bytes of the answer's body came.
    pub last_byte: Option<Offset>,
    /// Who is to move next.
    pub silent_side: Side,
}

impl LiveReading {
    /// How long nothing has come from the upstream, seen at `now`; before its response head, since it was
    /// admitted, and before that since the request came.
    pub fn silence(&self, now: Stamp) -> Offset {
        now.since(self.received.plus(self.last_byte.unwrap_or(self.moved).max(self.moved)))
    }
}

/// The table of exchanges in flight.
///
/// The mutex is taken when an exchange begins and ends and once a tick, never for an event; what an
/// event touches is the exchange's own [`Live`].
#[derive(Debug)]
pub struct Inflight {
    capacity: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    slots: Vec<Option<Arc<Live>>>,
    free: Vec<usize>,
    unseen: u64,
}

impl Inflight {
    /// A table for at most `capacity` exchanges. Further ones run all the same but are not listed.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, table: Mutex::default() }
    }

    /// Enters an exchange. It stays listed until the guard is dropped.
    pub fn enter(self: &Arc<Self>, id: ExchangeId, received: Stamp, dialect: Dialect) -> Listed {
        let live = Arc::new(Live::new(id, received, dialect));
        let mut table = self.lock();
        let slot = match table.free.pop() {
            Some(slot) => Some(slot),
            None if table.slots.len() < self.capacity => {
                table.slots.push(None);
                Some(table.slots.len() - 1)
            }
            None => {
                table.unseen += 1;
                None
            }
        };
        if let Some(slot) = slot {
            table.slots[slot] = Some(Arc::clone(&live));
        }
        drop(table);
        Listed { live, place: slot.map(|slot| (Arc::clone(self), slot)) }
    }

    /// Those in flight, in no particular order.
    pub fn list(&self) -> Vec<Arc<Live>> {
        self.lock().slots.iter().flatten().map(Arc::clone).collect()
    }

    /// Readings at `now`, the longest silence first.
    pub fn by_silence(&self, now: Stamp) -> Vec<LiveReading> {
        let mut readings: Vec<_> = self.list().iter().map(|live| live.read()).collect();
        readings.sort_by_key(|reading| std::cmp::Reverse(reading.silence(now)));
        readings
    }

    /// What is in flight at `now`. Exchanges in the queue are counted and never silent: nobody is to
    /// speak yet.
    pub fn survey(&self, now: Stamp, stall_after: Offset) -> InFlight {
        let mut survey = InFlight::default();
        for reading in self.by_silence(now) {
            survey.phases[reading.phase as usize] += 1;
            let length = reading.silence(now);
            if reading.phase == Phase::Queued || length <= stall_after {
                continue;
            }
            survey.stalled += u64::from(reading.phase == Phase::Decode);
            if survey.silent.len() == LISTED_SILENCES {
                continue;
            }
            survey.silent.push(Silence {
                id: reading.id,
                model: reading.model,
                phase: reading.phase,
                age: now.since(reading.received),
                length,
                side: reading.silent_side,
                tokens: reading.tokens,
            });
        }
        survey
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        let table = self.lock();
        table.slots.len() - table.free.len()
    }

    /// True when nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many exchanges found the table full and ran unlisted.
    pub fn unseen(&self) -> u64 {
        self.lock().unseen
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An exchange's place in the table; leaves it when dropped.
#[derive(Debug)]
pub struct Listed {
    live: Arc<Live>,
    place: Option<(Arc<Inflight>, usize)>,
}

impl std::ops::Deref for Listed {
    type Target = Live;

    fn deref(&self) -> &Live {
        &self.live
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some((inflight, slot)) = self.place.take() {
            let mut table = inflight.lock();
            table.slots[slot] = None;
            table.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests;
