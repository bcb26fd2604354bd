//! GenAI operations.

use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::timeline::Mark;
use weir_core::usage::{Provenance, Usage};

use super::Names;
use crate::metrics::bounds::{GENAI_SECONDS, GENAI_TOKENS};
use crate::metrics::capped::Capped;
use crate::metrics::histogram::Histogram;
use crate::metrics::labels::LabelId;
use crate::metrics::snapshot::{Label, Snapshot, Value};
use crate::names::{self, Metric};
use crate::semconv::{self, Side};

/// Operations by what is said of them.
#[derive(Debug)]
pub(super) struct GenAi {
    /// By what went wrong, too.
    duration: Capped<(Key, Option<&'static str>), Histogram>,
    first_chunk: Capped<Key, Histogram>,
    per_chunk: Capped<Key, Histogram>,
    input: Capped<Key, Histogram>,
    output: Capped<Key, Histogram>,
    usage: Capped<(Key, Modality), Used>,
}

/// Which operation of which model at which upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    operation: &'static str,
    /// Whether the operation generates: the conventions call the metrics of others otherwise.
    generates: bool,
    /// Whose kind of API the dialect tells.
    provider: &'static str,
    upstream: LabelId,
    request_model: Option<LabelId>,
    response_model: Option<LabelId>,
}

/// What tokens stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Modality {
    Text,
    Unknown,
}

/// Tokens by their kind. Absent until they were told, save for the two that are told always.
#[derive(Debug, Default)]
struct Used {
    input: u64,
    output: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
}

impl Default for GenAi {
    fn default() -> Self {
        Self {
            duration: Capped::new(),
            first_chunk: Capped::new(),
            per_chunk: Capped::new(),
            input: Capped::new(),
            output: Capped::new(),
            usage: Capped::new(),
        }
    }
}

impl GenAi {
    /// Counts an exchange, if it is an operation.
    pub(super) fn add(
        &mut self,
        exchange: &Exchange,
        upstream: LabelId,
        request_model: Option<LabelId>,
        response_model: Option<LabelId>,
    ) {
        let Some(operation) = semconv::operation(exchange.request.dialect) else { return };
        let generates = exchange.request.dialect.is_generation();
        let provider = semconv::provider(exchange.request.dialect);
        let key = Key { operation, generates, provider, upstream, request_model, response_model };
        let error = semconv::error_type(exchange, Side::Client);
        self.duration.of((key, error), seconds).observe(exchange.duration().as_secs_f64());
        observe(&mut self.input, key, exchange.answer.usage.and_then(|usage| usage.input));
        if generates {
            observe(&mut self.output, key, output(exchange));
            self.usage.of((key, Modality::of(exchange)), Used::default).add(exchange);
            self.chunks(exchange, key);
        }
    }

    /// How the chunks of a stream came.
    fn chunks(&mut self, exchange: &Exchange, key: Key) {
        if !exchange.answer.stream {
            return;
        }
        if let Some(first) = exchange.timeline.at(Mark::FirstEvent) {
            self.first_chunk.of(key, seconds).observe(first.as_secs_f64());
        }
        if let Some(output) = exchange.answer.output.as_ref().filter(|output| !output.gaps.is_empty()) {
            let per_chunk = self.per_chunk.of(key, || Histogram::of_bins(GENAI_SECONDS));
            per_chunk.fold(&output.gaps.inter_chunk);
        }
    }

    /// Adds the metrics to a snapshot.
    pub(super) fn write(&self, snapshot: &mut Snapshot, names: &Names<'_>) {
        self.write_durations(snapshot, names);
        for (metric, series, generates) in [
            (names::TIME_TO_FIRST_CHUNK, &self.first_chunk, true),
            (names::TIME_PER_OUTPUT_CHUNK, &self.per_chunk, true),
            (names::INFERENCE_INPUT_TOKENS, &self.input, true),
            (names::INFERENCE_OUTPUT_TOKENS, &self.output, true),
            (names::OPERATION_INPUT_TOKENS, &self.input, false),
        ] {
            let mut family = snapshot.family(metric);
            let belongs = |key: &Option<&Key>| key.is_none_or(|key| key.generates) == generates;
            for (key, histogram) in series.iter().filter(|(key, _)| belongs(key)) {
                family.capped(key.map(|key| key.labels(names)), histogram);
            }
        }
        self.write_usage(snapshot, names);
    }

    /// What found no room stands with what generates.
    fn write_durations(&self, snapshot: &mut Snapshot, names: &Names<'_>) {
        for (metric, generates) in [(names::INFERENCE_DURATION, true), (names::OPERATION_DURATION, false)] {
            let mut family = snapshot.family(metric);
            for (key, histogram) in self.duration.iter() {
                if key.is_none_or(|(key, _)| key.generates) == generates {
                    family.capped(key.map(|(key, error)| key.and((*error).into(), names)), histogram);
                }
            }
        }
    }

    fn write_usage(&self, snapshot: &mut Snapshot, names: &Names<'_>) {
        let mut counts = |metric: Metric<7>, of: fn(&Used) -> Option<u64>| {
            let mut family = snapshot.family(metric);
            for (key, used) in self.usage.iter() {
                if let Some(n) = of(used) {
                    let labels = key.map(|(key, modality)| key.and(modality.as_str().into(), names));
                    family.push(labels, Value::Count(n));
                }
            }
        };
        counts(names::USAGE_INPUT, |used| Some(used.input));
        counts(names::USAGE_OUTPUT, |used| Some(used.output));
        counts(names::USAGE_CACHE_READ, |used| used.cache_read);
        counts(names::USAGE_CACHE_WRITE, |used| used.cache_write);
        counts(names::USAGE_REASONING, |used| used.reasoning);
    }
}

impl Key {
    fn labels(&self, names: &Names<'_>) -> [Label; 6] {
        let [address, port] = names.server(self.upstream);
        [
            self.operation.into(),
            names.provider(self.upstream, self.provider),
            names.request_model(self.request_model),
            names.response_model(self.response_model),
            address,
            port,
        ]
    }

    /// The labels with one more.
    fn and(&self, more: Label, names: &Names<'_>) -> [Label; 7] {
        let [operation, provider, request_model, response_model, address, port] = self.labels(names);
        [operation, provider, request_model, response_model, address, port, more]
    }
}

impl Modality {
    /// Only the oldest of the APIs has nothing but text to take and to give. Of the others the usage
    /// object does not tell, and neither does one that did not come.
    fn of(exchange: &Exchange) -> Self {
        let told = exchange.answer.usage.is_some();
        if told && exchange.request.dialect == Dialect::Completions { Self::Text } else { Self::Unknown }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Unknown => "unknown",
        }
    }
}

impl Used {
    /// An operation of which nothing is told adds nothing, and is there.
    fn add(&mut self, exchange: &Exchange) {
        let usage = exchange.answer.usage.unwrap_or_default();
        let Usage { input, cached_input, cache_write_input, reasoning, .. } = usage;
        self.input += input.unwrap_or(0);
        self.output += output(exchange).unwrap_or(0);
        for (sum, n) in [
            (&mut self.cache_read, cached_input),
            (&mut self.cache_write, cache_write_input),
            (&mut self.reasoning, reasoning),
        ] {
            if let Some(n) = n {
                *sum = Some(sum.unwrap_or(0) + n);
            }
        }
    }
}

/// The output tokens, where they were counted. Chunks that stand in for tokens are no count.
fn output(exchange: &Exchange) -> Option<u64> {
    let tokens = exchange.answer.tokens.filter(|tokens| tokens.provenance != Provenance::CountedChunks)?;
    Some(tokens.count)
}

fn observe(histograms: &mut Capped<Key, Histogram>, key: Key, tokens: Option<u64>) {
    if let Some(tokens) = tokens {
        histograms.of(key, || Histogram::new(GENAI_TOKENS)).observe(tokens as f64);
    }
}

fn seconds() -> Histogram {
    Histogram::new(GENAI_SECONDS)
}
