//! The metrics recorder: counts observations, and tells what it has counted.

mod analysed;
mod bounds;
mod capped;
mod conventions;
mod exemplar;
mod exponential;
mod histogram;
mod labels;
mod live;
mod money;
mod page;
mod series;
mod snapshot;
mod walk;

pub(crate) use bounds::LAG;
pub(crate) use exemplar::Exemplar;
pub(crate) use histogram::Histogram;
pub(crate) use live::Live;
pub(crate) use snapshot::{Family, Label, LabelSet, Snapshot, Value};

use std::collections::BTreeMap;

use weir_core::dialect::Dialect;
use weir_core::exchange::{Exchange, Pulse};
use weir_core::observation::Observation;
use weir_core::page::PageFormat;

use crate::config::TelemetryConfig;
use crate::recorder::{Beside, Recorder};
use bounds::{PER_CHUNK, PER_TOKEN};
use conventions::Conventions;
use exemplar::Witness;
use labels::{LabelId, Labels};
use money::Money;
use series::Series;

/// Upstreams are named by configuration; this is a fence, not a limit.
const MAX_UPSTREAMS: usize = 64;

/// What was counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    models: Labels,
    upstreams: Labels,
    exchanges: BTreeMap<Key, Series>,
    flows: BTreeMap<LabelId, Flow>,
    /// By model and upstream.
    money: BTreeMap<(LabelId, LabelId), Money>,
    conventions: Conventions,
}

/// The labels of what is counted of exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    model: LabelId,
    upstream: LabelId,
    dialect: Dialect,
}

/// What is counted of pulses, by model.
#[derive(Debug)]
struct Flow {
    itl: Histogram,
    inter_chunk: Histogram,
    chunks: u64,
    tokens: u64,
}

impl Metrics {
    /// Nothing counted yet. Models that configuration names always have a label of their own, others
    /// while there are fewer than it allows.
    pub(crate) fn new(config: &TelemetryConfig) -> Self {
        let known = config.known_models.iter().map(String::as_str);
        let mut upstreams = Labels::new([], MAX_UPSTREAMS);
        let conventions =
            Conventions::new(&config.upstreams, config.scheme, &mut upstreams, config.max_models);
        Self {
            models: Labels::new(known, config.max_models),
            upstreams,
            exchanges: BTreeMap::new(),
            flows: BTreeMap::new(),
            money: BTreeMap::new(),
            conventions,
        }
    }

    /// All that was counted, with what `live` shows at this moment.
    pub(crate) fn snapshot(&self, live: &Live<'_>) -> Snapshot {
        let mut snapshot = self.own(live);
        self.conventions.write(&mut snapshot, &self.models);
        snapshot
    }

    /// The page, with what `live` shows at this moment.
    pub(crate) fn page(&self, live: &Live<'_>, format: PageFormat) -> String {
        page::write(&self.own(live), format)
    }

    fn exchange(&mut self, exchange: &Exchange, &Beside { valuation, kept }: &Beside) {
        let answered = exchange.status.is_some_and(|status| (200..300).contains(&status));
        let key = Key {
            model: self.models.id(exchange.request.model.as_deref(), answered),
            upstream: self.upstreams.id(Some(&exchange.upstream), true),
            dialect: exchange.request.dialect,
        };
        let witness = if kept { Witness::of(exchange) } else { None };
        self.exchanges.entry(key).or_default().add(exchange, witness.as_ref());
        self.conventions.add(exchange, key.model, key.upstream);
        if key.dialect != Dialect::Other {
            self.money.entry((key.model, key.upstream)).or_default().add(exchange, &valuation);
        }
    }

    /// Only an answer of status 2xx has output, so the model of a pulse may have a label.
    fn pulse(&mut self, pulse: &Pulse) {
        let model = self.models.id(pulse.model.as_deref(), true);
        let flow = self.flows.entry(model).or_default();
        flow.itl.fold(&pulse.gaps.itl);
        flow.inter_chunk.fold(&pulse.gaps.inter_chunk);
        flow.chunks += pulse.chunks;
        flow.tokens += pulse.tokens;
    }
}

impl Recorder for Metrics {
    /// Counts it. An exchange whose trace is kept may be an exemplar.
    fn record(&mut self, observation: &Observation, beside: &Beside) {
        match observation {
            Observation::Exchange(exchange) => self.exchange(exchange, beside),
            Observation::Pulse(pulse) => self.pulse(pulse),
            Observation::Tick(_) | Observation::Landmark(_) => {}
        }
    }
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            itl: Histogram::of_bins(PER_TOKEN),
            inter_chunk: Histogram::of_bins(PER_CHUNK),
            chunks: 0,
            tokens: 0,
        }
    }
}
