//! Prices exchanges, and keeps what they cost.

use std::time::Duration;

use weir_core::exchange::Exchange;
use weir_core::observation::Tick;

use super::amounts::Amounts;
use super::book::PriceBook;
use super::gpu::{GpuMeter, GpuPricing};
use super::ledger::{KEPT_HOURS, Ledger};
use super::recent::Recent;
use super::summary::{CostFigures, CostSummary, HourCost, ModelCost, WindowCost};
use super::valuation::{Valuation, value};
use crate::saved::{Row, SavedRow};
use crate::scope::Window;
use crate::time::Moment;

/// Before this much time has passed, a rate by the hour would be a guess.
const LEAST_ELAPSED: Duration = Duration::from_secs(60);

/// How costs are found and kept.
#[derive(Clone, Debug)]
pub struct CostConfig {
    /// Prices by model.
    pub book: PriceBook,
    /// What owned GPUs cost, where there are any.
    pub gpu: Option<GpuPricing>,
    /// When counting starts.
    pub started: Moment,
    /// As many models are told apart; the rest is `other`.
    pub max_models: usize,
}

/// What exchanges cost.
#[derive(Clone, Debug)]
pub struct Costs {
    book: PriceBook,
    gpu: Option<GpuMeter>,
    started: Moment,
    recent: Recent,
    ledger: Ledger,
}

impl Costs {
    /// With nothing counted.
    pub fn new(config: CostConfig) -> Self {
        Self {
            book: config.book,
            gpu: config.gpu.map(GpuMeter::new),
            started: config.started,
            recent: Recent::new(),
            ledger: Ledger::new(config.max_models, config.started),
        }
    }

    /// What an exchange that is over costs. Asked again later it is the same, as long as the ticks of its
    /// time are still known.
    pub fn value(&self, exchange: &Exchange) -> Valuation {
        let share = self.gpu.as_ref().map(|gpu| gpu.share(exchange));
        value(exchange, &self.book, share)
    }

    /// Counts an exchange with its value; `ended`: when it was over.
    pub fn exchange(&mut self, exchange: &Exchange, valuation: &Valuation, ended: Moment) {
        if let Some(gpu) = &mut self.gpu {
            gpu.exchange(exchange, ended);
        }
        if let Some(amounts) = Amounts::of(exchange, valuation) {
            let model = self.ledger.add(exchange.request.model.as_deref(), &amounts, ended);
            self.recent.add(model, &amounts, ended);
        }
    }

    /// A second has passed.
    pub fn tick(&mut self, now: Moment, tick: &Tick) {
        if let Some(gpu) = &mut self.gpu {
            gpu.tick(now, tick);
        }
        self.ledger.go_on(now);
        let ledger = &self.ledger;
        self.recent.retain(|model| ledger.knows(model));
    }

    /// US dollars an hour, of a model or of everything: the cost of a window, or of the time since the start
    /// where that is less, divided by its length. `None` in the first minute, and where nothing in it has a
    /// cost.
    pub fn hourly(&self, now: Moment, model: Option<&str>, window: Window) -> Option<f64> {
        let elapsed = now.since(self.started).min(window.length());
        let amounts = self.recent.sum(now, model, window)?;
        let known = elapsed >= LEAST_ELAPSED && amounts.priced > 0;
        known.then(|| amounts.cost.usd() * Window::Hour.length().as_secs_f64() / elapsed.as_secs_f64())
    }

    /// The costs of a window that ends now, of a model or of everything. `None`: nothing of it is known.
    pub fn recent(&self, now: Moment, model: Option<&str>, window: Window) -> Option<CostFigures> {
        self.recent.sum(now, model, window).map(|amounts| CostFigures::of(&amounts))
    }

    /// The hours of the last seven days that had any exchange, the oldest first. The last may not be over.
    pub fn hours(&self) -> Vec<HourCost> {
        let hours = self.ledger.hours().into_iter();
        hours.map(|(from, amounts)| HourCost { from, figures: CostFigures::of(&amounts) }).collect()
    }

    /// All that is known at this moment.
    pub fn summary(&self, now: Moment) -> CostSummary {
        let sum = |model: Option<&str>, hours| CostFigures::of(&self.ledger.sum(model, now, hours));
        let windows = Window::ALL
            .into_iter()
            .filter_map(|window| Some(WindowCost { window, figures: self.recent(now, None, window)? }));
        let models = self.ledger.models().map(|model| ModelCost {
            model: model.into(),
            this_hour: sum(Some(model), 1),
            last_24_hours: sum(Some(model), 24),
            last_7_days: sum(Some(model), KEPT_HOURS),
        });
        CostSummary {
            usd_per_hour: self.hourly(now, None, Window::Hour),
            windows: windows.collect(),
            this_hour: sum(None, 1),
            last_24_hours: sum(None, 24),
            last_7_days: sum(None, KEPT_HOURS),
            models: models.collect(),
            gpu: self.gpu.as_ref().map(|gpu| gpu.figures(now)).unwrap_or_default(),
            turned_away: self.ledger.turned_away,
            broken_rows: self.ledger.broken_rows,
        }
    }

    /// Rows of a store that could not be read.
    pub const fn broken_rows(&self) -> u64 {
        self.ledger.broken_rows
    }

    /// What changed since the last call, for a store.
    pub fn rows(&mut self) -> Vec<Row> {
        self.ledger.rows()
    }

    /// Takes up what a store held: once, before anything is counted. Rows that cannot be read are counted.
    pub fn restore(&mut self, saved: &[SavedRow]) {
        self.ledger.restore(saved);
    }
}
