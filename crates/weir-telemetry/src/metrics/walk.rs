//! The walk over all that is counted for the page: metric by metric, in the order of the list.

use weir_core::outcome::{ErrorType, Outcome};

use super::histogram::Histogram;
use super::labels::LabelId;
use super::live::Live;
use super::money::{Money, SOURCES};
use super::series::{PROVENANCES, Series};
use super::snapshot::{Label, Snapshot};
use super::{Flow, Key, Metrics};
use crate::names::{self, Metric};

impl Metrics {
    /// Weir's own metrics.
    pub(super) fn own(&self, live: &Live<'_>) -> Snapshot {
        let mut snapshot = Snapshot::new(live.wall, live.own.started);
        self.outcomes(&mut snapshot);
        self.times(&mut snapshot);
        self.tokens(&mut snapshot);
        self.volume(&mut snapshot);
        self.money(&mut snapshot);
        self.flows(&mut snapshot);
        live.write(&mut snapshot);
        let overflow = self.models.overflow() + self.upstreams.overflow();
        snapshot.family(names::LABEL_OVERFLOW).count([], overflow);
        snapshot
    }

    fn outcomes(&self, snapshot: &mut Snapshot) {
        let mut family = snapshot.family(names::REQUESTS);
        for (key, series) in &self.exchanges {
            for (outcome, &n) in Outcome::ALL.iter().zip(&series.outcomes) {
                family.count(self.labels_and(key, outcome.as_str()), n);
            }
        }
        let mut family = snapshot.family(names::ERRORS);
        for (key, series) in &self.exchanges {
            for (error_type, &n) in ErrorType::ALL.iter().zip(&series.errors) {
                family.count(self.labels_and(key, error_type.as_str()), n);
            }
        }
    }

    fn times(&self, snapshot: &mut Snapshot) {
        self.histograms(snapshot, names::TTFT, |series| &series.times.ttft);
        self.histograms(snapshot, names::UPSTREAM_TTFT, |series| &series.times.upstream_ttft);
        self.histograms(snapshot, names::TTFA, |series| &series.times.ttfa);
        self.histograms(snapshot, names::TPOT, |series| &series.times.tpot);
        self.histograms(snapshot, names::TPS, |series| &series.times.tps);
        self.histograms(snapshot, names::E2E, |series| &series.times.e2e);
        self.histograms(snapshot, names::DURATION, |series| &series.times.duration);
        self.histograms(snapshot, names::QUEUE_WAIT, |series| &series.times.queue_wait);
        self.histograms(snapshot, names::OVERHEAD, |series| &series.times.overhead);
    }

    fn tokens(&self, snapshot: &mut Snapshot) {
        self.counts(snapshot, names::INPUT_TOKENS, |series| series.tokens.input);
        let mut family = snapshot.family(names::OUTPUT_TOKENS);
        for (key, series) in &self.exchanges {
            for (provenance, n) in PROVENANCES.iter().zip(series.tokens.output) {
                if let Some(n) = n {
                    family.count(self.labels_and(key, provenance.as_str()), n);
                }
            }
        }
        self.counts(snapshot, names::CACHED_INPUT_TOKENS, |series| series.tokens.cached_input);
        self.counts(snapshot, names::REASONING_TOKENS, |series| series.tokens.reasoning);
    }

    fn volume(&self, snapshot: &mut Snapshot) {
        self.counts(snapshot, names::REQUEST_BYTES, |series| Some(series.volume.request_bytes));
        self.counts(snapshot, names::RESPONSE_BYTES, |series| Some(series.volume.response_bytes));
        self.counts(snapshot, names::UPSTREAM_STALLS, |series| Some(series.upstream_stalls.count));
        let mut family = snapshot.family(names::UPSTREAM_STALL_SECONDS);
        for (key, series) in &self.exchanges {
            family.number(self.labels(key), series.upstream_stalls.total.as_secs_f64());
        }
        self.counts(snapshot, names::DOWNSTREAM_STALLS, |series| Some(series.downstream_stalls.count));
        let mut family = snapshot.family(names::DOWNSTREAM_STALL_SECONDS);
        for (key, series) in &self.exchanges {
            family.number(self.labels(key), series.downstream_stalls.total.as_secs_f64());
        }
        self.counts(snapshot, names::SSE_EVENTS, |series| Some(series.volume.events));
        self.counts(snapshot, names::SSE_BROKEN_EVENTS, |series| Some(series.volume.broken_events));
        self.counts(snapshot, names::SSE_OVERSIZED_EVENTS, |series| Some(series.volume.oversized_events));
    }

    fn money(&self, snapshot: &mut Snapshot) {
        let all = || self.money.iter().map(|(key, money)| (self.place(*key), money));
        let mut family = snapshot.family(names::COST);
        for ([model, upstream], Money { costs, .. }) in all() {
            for (source, cost) in SOURCES.iter().zip(costs) {
                if let Some(cost) = cost {
                    family.number([model.clone(), upstream.clone(), source.as_str().into()], cost.usd());
                }
            }
        }
        let mut family = snapshot.family(names::COST_UNPRICED);
        all().for_each(|(place, money)| family.count(place, money.unpriced));
        let mut family = snapshot.family(names::COST_SAVED_BY_CACHE);
        for (place, money) in all() {
            if let Some(saved) = money.saved_by_cache {
                family.number(place, saved.usd());
            }
        }
    }

    fn flows(&self, snapshot: &mut Snapshot) {
        let flows = || self.flows.iter().map(|(&model, flow)| (self.model(model), flow));
        let mut histograms = |metric: Metric<1>, of: fn(&Flow) -> &Histogram| {
            let mut family = snapshot.family(metric);
            flows().for_each(|(model, flow)| family.histogram([model], of(flow)));
        };
        histograms(names::ITL, |flow| &flow.itl);
        histograms(names::INTER_CHUNK, |flow| &flow.inter_chunk);
        let mut counts = |metric: Metric<1>, of: fn(&Flow) -> u64| {
            let mut family = snapshot.family(metric);
            flows().for_each(|(model, flow)| family.count([model], of(flow)));
        };
        counts(names::CHUNKS, |flow| flow.chunks);
        counts(names::STREAM_TOKENS, |flow| flow.tokens);
    }

    /// A histogram of exchanges; left out where nothing was observed, so that nobody asks an empty
    /// one for a quantile.
    fn histograms(&self, snapshot: &mut Snapshot, metric: Metric<3>, of: impl Fn(&Series) -> &Histogram) {
        let mut family = snapshot.family(metric);
        for (key, series) in &self.exchanges {
            let histogram = of(series);
            if histogram.count() > 0 {
                family.histogram(self.labels(key), histogram);
            }
        }
    }

    /// A counter of exchanges; left out where nothing is known of it.
    fn counts(&self, snapshot: &mut Snapshot, metric: Metric<3>, of: impl Fn(&Series) -> Option<u64>) {
        let mut family = snapshot.family(metric);
        for (key, series) in &self.exchanges {
            if let Some(n) = of(series) {
                family.count(self.labels(key), n);
            }
        }
    }

    fn labels(&self, key: &Key) -> [Label; 3] {
        let [model, upstream] = self.place((key.model, key.upstream));
        [model, upstream, key.dialect.as_str().into()]
    }

    fn place(&self, (model, upstream): (LabelId, LabelId)) -> [Label; 2] {
        [self.model(model), self.upstreams.name(upstream).into()]
    }

    fn labels_and(&self, key: &Key, last: &'static str) -> [Label; 4] {
        let [model, upstream, dialect] = self.labels(key);
        [model, upstream, dialect, last.into()]
    }

    fn model(&self, model: LabelId) -> Label {
        self.models.name(model).into()
    }
}
