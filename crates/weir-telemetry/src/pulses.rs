//! Turns what exchanges in flight have put out into pulses: at most one a second each, and a last
//! one at the end, so that the pulses of an exchange add up to its whole output.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use weir_core::exchange::{Exchange, ExchangeId, Pulse};
use weir_core::gaps::GapRecord;
use weir_core::inflight::{Inflight, Live};
use weir_core::timeline::{Mark, Offset, Stamp};

/// An exchange that left the table this many ticks ago, and whose record is not in the queue, was
/// dropped on the way here.
const LOST_AFTER: u64 = 2;

/// What has been pulsed of the exchanges whose record has not come yet.
#[derive(Debug)]
pub(crate) struct Pulses {
    capacity: usize,
    ticks: u64,
    running: HashMap<ExchangeId, Running>,
}

#[derive(Debug)]
struct Running {
    /// Kept beyond its time in the table: after the end it holds the whole output.
    live: Arc<Live>,
    sent: Sent,
    /// The last tick at which it was in the table, or its record could still be in the queue.
    seen: u64,
}

/// What went into pulses so far.
#[derive(Debug, Default)]
struct Sent {
    chunks: u64,
    tokens: u64,
    gaps: GapRecord,
}

impl Pulses {
    /// Follows at most `capacity` exchanges at once. One beyond has one pulse, at its end.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, ticks: 0, running: HashMap::new() }
    }

    /// What is new since the last tick. `queue_empty` tells that no record waits to be taken in.
    pub(crate) fn tick(&mut self, inflight: &Inflight, now: Stamp, queue_empty: bool) -> Vec<Pulse> {
        self.ticks += 1;
        let mut pulses = Vec::new();
        for live in inflight.list() {
            pulses.extend(self.follow(live).and_then(|running| running.pulse(now)));
        }
        if !queue_empty {
            self.running.values_mut().for_each(|running| running.seen = self.ticks);
        }
        let ticks = self.ticks;
        self.running.retain(|_, running| {
            let lost = ticks - running.seen >= LOST_AFTER;
            if lost {
                pulses.extend(running.pulse(now));
            }
            !lost
        });
        pulses
    }

    /// What has not been pulsed of an exchange that is over.
    pub(crate) fn last(&mut self, exchange: &Exchange) -> Option<Pulse> {
        let running = self.running.remove(&exchange.id);
        let output = exchange.answer.output.as_ref().filter(|output| output.chunks > 0)?;
        let reading = running.as_ref().map(|running| running.live.read());
        let sent = running.map(|running| running.sent).unwrap_or_default();
        let tokens = output.tokens;
        let gaps = output.gaps.since(&sent.gaps);
        if output.chunks == sent.chunks && tokens <= sent.tokens && gaps.is_empty() {
            return None;
        }
        let last_byte = reading.and_then(|reading| reading.last_byte);
        Some(Pulse {
            id: exchange.id,
            at: exchange.received_mono.plus(exchange.duration()),
            model: exchange.request.model.clone(),
            upstream: Some(exchange.upstream.clone()),
            first_token: exchange.timeline.ttft().filter(|_| sent.chunks == 0),
            chunks: output.chunks.saturating_sub(sent.chunks),
            tokens: tokens.saturating_sub(sent.tokens),
            gaps,
            silence: silence_at_end(exchange, last_byte),
        })
    }

    /// The entry of an exchange in the table, made when it has output.
    fn follow(&mut self, live: Arc<Live>) -> Option<&mut Running> {
        let seen = self.ticks;
        let room = self.running.len() < self.capacity;
        match self.running.entry(live.id) {
            Entry::Occupied(entry) => {
                let running = entry.into_mut();
                running.seen = seen;
                Some(running)
            }
            Entry::Vacant(entry) if room && live.read().chunks > 0 => {
                Some(entry.insert(Running { live, sent: Sent::default(), seen }))
            }
            Entry::Vacant(_) => None,
        }
    }
}

impl Running {
    /// What is new, if anything is.
    fn pulse(&mut self, now: Stamp) -> Option<Pulse> {
        let reading = self.live.read();
        if reading.chunks == self.sent.chunks {
            return None;
        }
        let gaps = self.live.read_gaps();
        let silence = reading.silence(now);
        let sent =
            std::mem::replace(&mut self.sent, Sent { chunks: reading.chunks, tokens: reading.tokens, gaps });
        Some(Pulse {
            id: reading.id,
            at: now,
            model: reading.model,
            upstream: reading.upstream,
            first_token: reading.first_token.filter(|_| sent.chunks == 0),
            chunks: self.sent.chunks.saturating_sub(sent.chunks),
            tokens: self.sent.tokens.saturating_sub(sent.tokens),
            gaps: self.sent.gaps.since(&sent.gaps),
            silence,
        })
    }
}

/// How long nothing had come when the exchange ended.
fn silence_at_end(exchange: &Exchange, last_byte: Option<Offset>) -> Offset {
    let marks = [Mark::FirstByte, Mark::FirstEvent, Mark::LastToken, Mark::Terminal];
    let last_mark = marks.into_iter().filter_map(|mark| exchange.timeline.at(mark)).max();
    let last = last_byte.max(last_mark).unwrap_or_default();
    Offset(exchange.duration().0.saturating_sub(last.0))
}
