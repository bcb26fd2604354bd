//! The Prometheus recorder: counts observations, and writes the metrics page.

mod histogram;
mod labels;
mod live;
mod page;
mod series;

pub(crate) use histogram::{Histogram, LAG};
pub(crate) use live::Live;

use std::collections::BTreeMap;

use weir_core::dialect::Dialect;
use weir_core::exchange::{Exchange, Pulse};
use weir_core::gaps::{COARSE, FINE};
use weir_core::observation::Observation;
use weir_core::outcome::{ErrorType, Outcome};

use crate::names::{self, Metric};
use crate::recorder::Recorder;
use histogram::{PER_CHUNK, PER_TOKEN};
use labels::{LabelId, Labels};
use page::Page;
use series::{PROVENANCES, Series};

/// Upstreams are named by configuration; this is a fence, not a limit.
const MAX_UPSTREAMS: usize = 64;

/// What the metrics page is written from.
#[derive(Debug)]
pub(crate) struct Prometheus {
    models: Labels,
    upstreams: Labels,
    exchanges: BTreeMap<Key, Series>,
    flows: BTreeMap<LabelId, Flow>,
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

impl Prometheus {
    /// A page without observations. `known_models` always have a label of their own, others while
    /// there are fewer than `max_models`.
    pub(crate) fn new(known_models: &[String], max_models: usize) -> Self {
        Self {
            models: Labels::new(known_models.iter().map(String::as_str), max_models),
            upstreams: Labels::new([], MAX_UPSTREAMS),
            exchanges: BTreeMap::new(),
            flows: BTreeMap::new(),
        }
    }

    /// The page, with what `live` shows at this moment.
    pub(crate) fn page(&self, live: &Live<'_>) -> String {
        let mut page = Page::default();
        self.outcomes(&mut page);
        self.times(&mut page);
        self.tokens(&mut page);
        self.volume(&mut page);
        self.flows(&mut page);
        live.write(&mut page);
        let overflow = self.models.overflow() + self.upstreams.overflow();
        page.family(names::LABEL_OVERFLOW).count([], overflow);
        page.finish()
    }

    fn exchange(&mut self, exchange: &Exchange) {
        let answered = exchange.status.is_some_and(|status| (200..300).contains(&status));
        let key = Key {
            model: self.models.id(exchange.request.model.as_deref(), answered),
            upstream: self.upstreams.id(Some(&exchange.upstream), true),
            dialect: exchange.request.dialect,
        };
        self.exchanges.entry(key).or_default().add(exchange);
    }

    /// Only an answer of status 2xx has output, so the model of a pulse may have a label.
    fn pulse(&mut self, pulse: &Pulse) {
        let model = self.models.id(pulse.model.as_deref(), true);
        let flow = self.flows.entry(model).or_default();
        flow.itl.fold(&pulse.gaps.itl, FINE);
        flow.inter_chunk.fold(&pulse.gaps.inter_chunk, COARSE);
        flow.chunks += pulse.chunks;
        flow.tokens += pulse.tokens;
    }

    fn outcomes(&self, page: &mut Page) {
        let mut family = page.family(names::REQUESTS);
        for (key, series) in &self.exchanges {
            let [model, upstream, dialect] = self.labels(key);
            for (outcome, &n) in Outcome::ALL.iter().zip(&series.outcomes) {
                family.count([model, upstream, dialect, outcome.as_str()], n);
            }
        }
        let mut family = page.family(names::ERRORS);
        for (key, series) in &self.exchanges {
            let [model, upstream, dialect] = self.labels(key);
            for (error_type, &n) in ErrorType::ALL.iter().zip(&series.errors) {
                family.count([model, upstream, dialect, error_type.as_str()], n);
            }
        }
    }

    fn times(&self, page: &mut Page) {
        self.histograms(page, names::TTFT, |series| &series.times.ttft);
        self.histograms(page, names::UPSTREAM_TTFT, |series| &series.times.upstream_ttft);
        self.histograms(page, names::TTFA, |series| &series.times.ttfa);
        self.histograms(page, names::TPOT, |series| &series.times.tpot);
        self.histograms(page, names::TPS, |series| &series.times.tps);
        self.histograms(page, names::E2E, |series| &series.times.e2e);
        self.histograms(page, names::DURATION, |series| &series.times.duration);
        self.histograms(page, names::QUEUE_WAIT, |series| &series.times.queue_wait);
        self.histograms(page, names::OVERHEAD, |series| &series.times.overhead);
    }

    fn tokens(&self, page: &mut Page) {
        self.counts(page, names::INPUT_TOKENS, |series| series.tokens.input);
        let mut family = page.family(names::OUTPUT_TOKENS);
        for (key, series) in &self.exchanges {
            let [model, upstream, dialect] = self.labels(key);
            for (provenance, n) in PROVENANCES.iter().zip(series.tokens.output) {
                if let Some(n) = n {
                    family.count([model, upstream, dialect, provenance.as_str()], n);
                }
            }
        }
        self.counts(page, names::CACHED_INPUT_TOKENS, |series| series.tokens.cached_input);
        self.counts(page, names::REASONING_TOKENS, |series| series.tokens.reasoning);
    }

    fn volume(&self, page: &mut Page) {
        self.counts(page, names::REQUEST_BYTES, |series| Some(series.volume.request_bytes));
        self.counts(page, names::RESPONSE_BYTES, |series| Some(series.volume.response_bytes));
        self.counts(page, names::UPSTREAM_STALLS, |series| Some(series.upstream_stalls.count));
        let mut family = page.family(names::UPSTREAM_STALL_SECONDS);
        for (key, series) in &self.exchanges {
            family.number(self.labels(key), series.upstream_stalls.total.as_secs_f64());
        }
        self.counts(page, names::DOWNSTREAM_STALLS, |series| Some(series.downstream_stalls.count));
        let mut family = page.family(names::DOWNSTREAM_STALL_SECONDS);
        for (key, series) in &self.exchanges {
            family.number(self.labels(key), series.downstream_stalls.total.as_secs_f64());
        }
        self.counts(page, names::SSE_EVENTS, |series| Some(series.volume.events));
        self.counts(page, names::SSE_BROKEN_EVENTS, |series| Some(series.volume.broken_events));
        self.counts(page, names::SSE_OVERSIZED_EVENTS, |series| Some(series.volume.oversized_events));
    }

    fn flows(&self, page: &mut Page) {
        let mut family = page.family(names::ITL);
        for (&model, flow) in &self.flows {
            family.histogram([self.models.name(model)], &flow.itl);
        }
        let mut family = page.family(names::INTER_CHUNK);
        for (&model, flow) in &self.flows {
            family.histogram([self.models.name(model)], &flow.inter_chunk);
        }
        let mut family = page.family(names::CHUNKS);
        for (&model, flow) in &self.flows {
            family.count([self.models.name(model)], flow.chunks);
        }
        let mut family = page.family(names::STREAM_TOKENS);
        for (&model, flow) in &self.flows {
            family.count([self.models.name(model)], flow.tokens);
        }
    }

    /// A histogram of exchanges; left out where nothing was observed, so that nobody asks an empty
    /// one for a quantile.
    fn histograms(&self, page: &mut Page, metric: Metric<3>, of: impl Fn(&Series) -> &Histogram) {
        let mut family = page.family(metric);
        for (key, series) in &self.exchanges {
            let histogram = of(series);
            if histogram.count() > 0 {
                family.histogram(self.labels(key), histogram);
            }
        }
    }

    /// A counter of exchanges; left out where nothing is known of it.
    fn counts(&self, page: &mut Page, metric: Metric<3>, of: impl Fn(&Series) -> Option<u64>) {
        let mut family = page.family(metric);
        for (key, series) in &self.exchanges {
            if let Some(n) = of(series) {
                family.count(self.labels(key), n);
            }
        }
    }

    fn labels(&self, key: &Key) -> [&str; 3] {
        [self.models.name(key.model), self.upstreams.name(key.upstream), key.dialect.as_str()]
    }
}

impl Default for Flow {
    fn default() -> Self {
        Self { itl: Histogram::new(PER_TOKEN), inter_chunk: Histogram::new(PER_CHUNK), chunks: 0, tokens: 0 }
    }
}

impl Recorder for Prometheus {
    fn record(&mut self, observation: &Observation) {
        match observation {
            Observation::Exchange(exchange) => self.exchange(exchange),
            Observation::Pulse(pulse) => self.pulse(pulse),
        }
    }
}
