//! What owned GPUs cost while they work and while they wait, and what that makes of a token.

use std::fmt;
use std::time::Duration;

use weir_core::exchange::Exchange;
use weir_core::inflight::Phase;
use weir_core::observation::Tick;
use weir_core::timeline::Stamp;

use super::integral::{Integral, Share};
use super::sliding::{Add, Sliding};
use super::summary::GpuFigures;
use super::tokens::Tokens;
use crate::scope::Window;
use crate::time::Moment;

/// What owned GPUs cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuPricing {
    usd_per_gpu_hour: f64,
    gpus: u32,
}

/// A price of GPUs that cannot be one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GpuPricingError {
    /// The price is no number from zero up.
    Price(f64),
    /// There is no GPU.
    NoGpus,
}

impl fmt::Display for GpuPricingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Price(usd) => write!(f, "`usd_per_gpu_hour` is {usd}: a price is a number from zero up"),
            Self::NoGpus => f.write_str("`gpus` is 0: at least one GPU is needed for a price"),
        }
    }
}

impl std::error::Error for GpuPricingError {}

impl GpuPricing {
    /// So many GPUs behind all upstreams together, each at this price.
    pub fn new(usd_per_gpu_hour: f64, gpus: u32) -> Result<Self, GpuPricingError> {
        if !usd_per_gpu_hour.is_finite() || usd_per_gpu_hour < 0.0 {
            return Err(GpuPricingError::Price(usd_per_gpu_hour));
        }
        if gpus == 0 { Err(GpuPricingError::NoGpus) } else { Ok(Self { usd_per_gpu_hour, gpus }) }
    }

    /// What a second of all of them costs, in US dollars.
    pub(super) fn usd_per_s(self) -> f64 {
        self.usd_per_gpu_hour * f64::from(self.gpus) / 3_600.0
    }
}

/// Cells of the windows.
const CELL: Duration = Duration::from_secs(10);

/// The windows that are told.
const WINDOWS: [Window; 2] = [Window::FiveMinutes, Window::Hour];

/// The cost of GPUs, and the tokens that it bought.
#[derive(Clone, Debug)]
pub(super) struct GpuMeter {
    usd_per_s: f64,
    integral: Integral,
    cells: Sliding<Cell>,
    last: Option<(Stamp, InUse)>,
}

/// How many exchanges the GPUs work for.
#[derive(Clone, Copy, Debug)]
struct InUse {
    prefill: u64,
    decode: u64,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    /// As the ticks saw it, in US dollars.
    prefill_usd: f64,
    decode_usd: f64,
    idle_usd: f64,
    /// What exchanges had of the idle cost, since no tick saw them.
    unseen_prefill_usd: f64,
    unseen_decode_usd: f64,
    input_tokens: u64,
    output_tokens: u64,
}

impl GpuMeter {
    pub(super) fn new(pricing: GpuPricing) -> Self {
        let usd_per_s = pricing.usd_per_s();
        Self {
            usd_per_s,
            integral: Integral::new(usd_per_s),
            cells: Sliding::new(CELL, Window::Hour.length()),
            last: None,
        }
    }

    /// A second has passed.
    pub(super) fn tick(&mut self, now: Moment, tick: &Tick) {
        let in_use = InUse::of(tick);
        self.integral.tick(tick.at, in_use.all());
        match &mut self.last {
            Some((at, _)) if tick.at <= *at => {}
            last => {
                if let Some((at, before)) = last.replace((tick.at, in_use)) {
                    let usd = self.usd_per_s * tick.at.since(at).as_secs_f64();
                    self.cells.at(now).spend(usd, before);
                }
            }
        }
    }

    /// The share of an exchange that is over.
    pub(super) fn share(&self, exchange: &Exchange) -> Option<Share> {
        self.integral.share(exchange)
    }

    /// An exchange is over.
    pub(super) fn exchange(&mut self, exchange: &Exchange, ended: Moment) {
        let (input_tokens, output_tokens) = Tokens::of(exchange).known();
        let cell = self.cells.at(ended);
        cell.input_tokens = cell.input_tokens.saturating_add(input_tokens);
        cell.output_tokens = cell.output_tokens.saturating_add(output_tokens);
        if let Some(share) = self.integral.share(exchange) {
            cell.unseen_prefill_usd += share.unseen_prefill_usd;
            cell.unseen_decode_usd += share.unseen_decode_usd;
        }
    }

    /// What it all cost, window by window.
    pub(super) fn figures(&self, now: Moment) -> Vec<GpuFigures> {
        WINDOWS.into_iter().map(|window| self.cells.sum(now, window.length()).figures(window)).collect()
    }
}

impl InUse {
    /// What waits for its response head counts as in prefill: an engine's own queue cannot be told from it.
    /// What stands in Weir's queue uses no GPU.
    fn of(tick: &Tick) -> Self {
        let many = |phase: Phase| tick.in_flight.phases[phase as usize];
        Self {
            prefill: many(Phase::Waiting).saturating_add(many(Phase::Prefill)),
            decode: many(Phase::Decode),
        }
    }

    const fn all(self) -> u64 {
        self.prefill.saturating_add(self.decode)
    }
}

impl Cell {
    fn spend(&mut self, usd: f64, in_use: InUse) {
        match in_use.all() {
            0 => self.idle_usd += usd,
            all => {
                self.prefill_usd += usd * in_use.prefill as f64 / all as f64;
                self.decode_usd += usd * in_use.decode as f64 / all as f64;
            }
        }
    }

    fn figures(&self, window: Window) -> GpuFigures {
        let prefill = self.prefill_usd + self.unseen_prefill_usd;
        let decode = self.decode_usd + self.unseen_decode_usd;
        let idle = (self.idle_usd - self.unseen_prefill_usd - self.unseen_decode_usd).max(0.0);
        let busy = prefill + decode;
        let known = busy + idle > 0.0;
        let per_million = |usd: f64, tokens: u64| (known && tokens > 0).then(|| usd / tokens as f64 * 1e6);
        GpuFigures {
            window,
            busy_usd: known.then_some(busy),
            idle_usd: known.then_some(idle),
            busy_share: known.then(|| busy / (busy + idle)),
            prefill_usd: known.then_some(prefill),
            decode_usd: known.then_some(decode),
            usd_per_1m_input_tokens: per_million(prefill, self.input_tokens),
            usd_per_1m_output_tokens: per_million(decode, self.output_tokens),
        }
    }
}

impl Add for Cell {
    fn add(&mut self, other: &Self) {
        self.prefill_usd += other.prefill_usd;
        self.decode_usd += other.decode_usd;
        self.idle_usd += other.idle_usd;
        self.unseen_prefill_usd += other.unseen_prefill_usd;
        self.unseen_decode_usd += other.unseen_decode_usd;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}
