//! What a second of owned GPUs costs each exchange that is in flight in it: its price, divided equally.
//!
//! The cost of an exchange is the integral of price over concurrency, from its admission to its end. That
//! integral is kept as a cumulative function of time, so that an exchange costs two look-ups, and all
//! exchanges together cost what the GPUs cost while anything was in flight.

use std::collections::VecDeque;

use weir_core::exchange::Exchange;
use weir_core::timeline::{Mark, Stamp};

/// As many readings are kept: two hours at one a second.
const MOST_READINGS: usize = 7_200;

/// The integral at the moment of a tick.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Stamp,
    /// ∫ price/concurrency while anything is in flight, in US dollars.
    busy: f64,
    /// ∫ price while nothing is, in US dollars.
    idle: f64,
    /// How many are in flight from here to the next reading.
    concurrency: u64,
}

/// The integral so far.
#[derive(Clone, Debug)]
pub(super) struct Integral {
    usd_per_s: f64,
    readings: VecDeque<Reading>,
}

/// What an exchange has of the GPUs' cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// Until its first token.
    pub(super) prefill_usd: f64,
    /// From then on.
    pub(super) decode_usd: f64,
    /// How much of the first fell into seconds in which no tick saw anything in flight.
    pub(super) unseen_prefill_usd: f64,
    /// How much of the second did.
    pub(super) unseen_decode_usd: f64,
    /// The readings do not tell all of it.
    pub(super) estimated: bool,
}

impl Integral {
    pub(super) const fn new(usd_per_s: f64) -> Self {
        Self { usd_per_s, readings: VecDeque::new() }
    }

    /// Goes on to a tick that sees so many in flight. What it saw holds until the next one. A tick that
    /// comes before the last one is passed over.
    pub(super) fn tick(&mut self, at: Stamp, concurrency: u64) {
        let reading = match self.readings.back() {
            None => Reading { at, busy: 0.0, idle: 0.0, concurrency },
            Some(last) if at <= last.at => return,
            Some(last) => {
                let (busy, idle) = last.until(at, self.usd_per_s);
                Reading { at, busy, idle, concurrency }
            }
        };
        if self.readings.len() == MOST_READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
    }

    /// The share of an exchange that is over. `None`: it was never admitted, or no tick came before its end.
    ///
    /// In a second in which no tick saw anything in flight the exchange was alone, as far as is known.
    pub(super) fn share(&self, exchange: &Exchange) -> Option<Share> {
        let stamp = |mark| Some(exchange.received_mono.plus(exchange.timeline.at(mark)?));
        let (from, to) = (stamp(Mark::Admitted)?, stamp(Mark::Ended)?);
        let oldest = self.readings.front()?.at;
        if to < oldest || to < from {
            return None;
        }
        // What generated nothing did no more than prefill.
        let first_token = stamp(Mark::FirstToken).map_or(to, |at| at.clamp(from, to));
        let [from_at, first_at, to_at] = [from, first_token, to].map(|at| self.at(at.max(oldest)));
        let prefill = (first_at.0 - from_at.0, first_at.1 - from_at.1);
        let decode = (to_at.0 - first_at.0, to_at.1 - first_at.1);
        Some(Share {
            prefill_usd: prefill.0 + prefill.1,
            decode_usd: decode.0 + decode.1,
            unseen_prefill_usd: prefill.1,
            unseen_decode_usd: decode.1,
            estimated: from < oldest || prefill.1 + decode.1 > 0.0,
        })
    }

    /// Both integrals at a moment that is not before the first reading.
    fn at(&self, at: Stamp) -> (f64, f64) {
        let after = self.readings.partition_point(|reading| reading.at <= at);
        match self.readings.get(after.saturating_sub(1)) {
            Some(reading) => reading.until(at, self.usd_per_s),
            None => (0.0, 0.0),
        }
    }
}

impl Reading {
    /// Both integrals at a later moment, if nothing comes or goes until then.
    fn until(&self, at: Stamp, usd_per_s: f64) -> (f64, f64) {
        let usd = usd_per_s * at.since(self.at).as_secs_f64();
        match self.concurrency {
            0 => (self.busy, self.idle + usd),
            many => (self.busy + usd / many as f64, self.idle),
        }
    }
}
