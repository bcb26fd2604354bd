//! What a destination reads out of the bytes that it is sent.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogramDataPoint, HistogramDataPoint, Metric,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use proptest::prelude::*;
use prost::Message;
use weir_analysis::cost::{NanoUsd, Source, Valuation};
use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::observation::Observation;
use weir_core::outcome::Outcome;
use weir_core::timeline::{Mark, Offset};

use super::{GenAiNames, HistogramKind, MetricOptions, Temporality, request};
use crate::config::{TelemetryConfig, UpstreamFacts};
use crate::fixture::{House, MS, RECEIVED, STARTED, after, exchange, stream, turned_away};
use crate::metrics::Snapshot;
use crate::recorder::{Beside, Recorder};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;
const DELTA: i32 = AggregationTemporality::Delta as i32;

/// The metrics of a request by name, after a journey through bytes.
struct Received(BTreeMap<String, Metric>);

impl Received {
    fn of(snapshot: &Snapshot, previous: Option<&Snapshot>, options: MetricOptions) -> Self {
        let bytes = request(Resource::default(), snapshot, previous, options).encode_to_vec();
        let request = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
        let [resource] = <[_; 1]>::try_from(request.resource_metrics).unwrap();
        assert!(resource.resource.is_some());
        let [scope] = <[_; 1]>::try_from(resource.scope_metrics).unwrap();
        assert_eq!(scope.scope.unwrap().name, "weir");
        let mut metrics = BTreeMap::new();
        for metric in scope.metrics {
            let name = metric.name.clone();
            assert!(!metric.description.is_empty() && !metric.unit.is_empty(), "{name}");
            assert!(metrics.insert(name.clone(), metric).is_none(), "{name} stands twice");
        }
        let received = Self(metrics);
        received.check();
        received
    }

    /// No two points of a metric have the same attributes, and buckets hold what is counted.
    fn check(&self) {
        for name in self.0.keys() {
            let mut seen: Vec<_> = Vec::new();
            for attributes in self.attributes(name) {
                assert!(!seen.contains(&attributes), "{name}{attributes:?} stands twice");
                seen.push(attributes);
            }
            for point in self.exponential(name) {
                let positive: u64 = point.positive.as_ref().unwrap().bucket_counts.iter().sum();
                assert_eq!(point.count, positive + point.zero_count, "{name}");
            }
            for point in self.explicit(name) {
                assert_eq!(point.count, point.bucket_counts.iter().sum::<u64>(), "{name}");
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1, "{name}");
            }
        }
    }

    fn names(&self, prefix: &str) -> Vec<&str> {
        self.0.keys().filter(|name| name.starts_with(prefix)).map(String::as_str).collect()
    }

    fn data(&self, name: &str) -> &Data {
        self.0[name].data.as_ref().unwrap()
    }

    fn exponential(&self, name: &str) -> &[ExponentialHistogramDataPoint] {
        match self.0.get(name).and_then(|metric| metric.data.as_ref()) {
            Some(Data::ExponentialHistogram(histogram)) => &histogram.data_points,
            _ => &[],
        }
    }

    fn explicit(&self, name: &str) -> &[HistogramDataPoint] {
        match self.0.get(name).and_then(|metric| metric.data.as_ref()) {
            Some(Data::Histogram(histogram)) => &histogram.data_points,
            _ => &[],
        }
    }

    /// The values of a sum or gauge by attributes.
    fn numbers(&self, name: &str) -> Vec<(String, f64)> {
        let points = match self.0.get(name).and_then(|metric| metric.data.as_ref()) {
            Some(Data::Sum(sum)) => &sum.data_points,
            Some(Data::Gauge(gauge)) => &gauge.data_points,
            _ => return Vec::new(),
        };
        let value = |number| match number {
            Number::AsInt(n) => n as f64,
            Number::AsDouble(number) => number,
        };
        points.iter().map(|point| (text(&point.attributes), value(point.value.unwrap()))).collect()
    }

    fn attributes(&self, name: &str) -> Vec<String> {
        let exponential = self.exponential(name).iter().map(|point| text(&point.attributes));
        let explicit = self.explicit(name).iter().map(|point| text(&point.attributes));
        let numbers = self.numbers(name).into_iter().map(|(attributes, _)| attributes);
        exponential.chain(explicit).chain(numbers).collect()
    }
}

/// Attributes as one would write them down.
fn text(attributes: &[KeyValue]) -> String {
    let text = |attribute: &KeyValue| match attribute.value.as_ref().unwrap().value.as_ref().unwrap() {
        Any::StringValue(text) => format!("{}={text}", attribute.key),
        Any::IntValue(number) => format!("{}:{number}", attribute.key),
        Any::BoolValue(flag) => format!("{}!{flag}", attribute.key),
        other => panic!("{other:?}"),
    };
    attributes.iter().map(text).collect::<Vec<_>>().join(" ")
}

fn config() -> TelemetryConfig {
    let facts = UpstreamFacts {
        name: "default".into(),
        provider: Some("vllm".into()),
        address: "engine.internal".into(),
        port: 8000,
    };
    TelemetryConfig { upstreams: vec![facts], ..TelemetryConfig::default() }
}

fn house(exchanges: impl IntoIterator<Item = Exchange>) -> House {
    let mut house = House::new(&config());
    exchanges.into_iter().for_each(|exchange| house.record(exchange, false));
    house
}

fn with(genai: GenAiNames) -> MetricOptions {
    MetricOptions { genai, ..MetricOptions::default() }
}

fn delta() -> MetricOptions {
    MetricOptions { temporality: Temporality::Delta, ..MetricOptions::default() }
}

const OPERATION: &str = "gen_ai.operation.name=chat gen_ai.provider.name=vllm gen_ai.request.model=m \
    gen_ai.response.model=m-0613 server.address=engine.internal server.port:8000";

#[test]
fn a_stream_is_told_in_the_words_of_the_conventions() {
    let received = Received::of(&house([stream("m")]).snapshot(60), None, MetricOptions::default());
    let genai = [
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_per_output_chunk",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.token.usage",
    ];
    assert_eq!(received.names("gen_ai"), genai);
    for (name, count, sum) in [(genai[0], 1, 0.151), (genai[1], 3, 0.05), (genai[2], 1, 0.09)] {
        assert_eq!(received.attributes(name), [OPERATION], "{name}");
        let point = &received.exponential(name)[0];
        assert_eq!(point.count, count, "{name}");
        assert!((point.sum.unwrap() - sum).abs() < 1e-9, "{name}");
        assert_eq!(received.0[name].unit, "s");
    }
    let kinds = ["input", "output"].map(|kind| format!("{OPERATION} gen_ai.token.type={kind}"));
    assert_eq!(received.attributes(genai[3]), kinds);
    assert_eq!(received.exponential(genai[3]).iter().map(|p| p.sum.unwrap()).collect::<Vec<_>>(), [9.0, 4.0]);
    assert_eq!(
        received.attributes("http.server.request.duration"),
        ["http.request.method=POST url.scheme=http http.response.status_code:200 \
          http.route=/v1/chat/completions network.protocol.version=2"]
    );
    assert_eq!(
        received.attributes("http.client.request.duration"),
        ["http.request.method=POST server.address=engine.internal server.port:8000 \
          http.response.status_code:200"]
    );
    let client = received.exponential("http.client.request.duration")[0].sum.unwrap();
    assert!((client - 0.128).abs() < 1e-9, "{client}");
}

#[test]
fn a_snapshot_can_go_to_another_thread() {
    let snapshot = house([stream("m")]).snapshot(60);
    let elsewhere = std::thread::spawn(move || Received::of(&snapshot, None, MetricOptions::default()));
    assert_eq!(elsewhere.join().unwrap().exponential("weir.ttft").len(), 1);
}

#[test]
fn own_metrics_are_told_by_their_kind() {
    let house = house([stream("m")]);
    house.lanes.gauge("global").limit.store(7, Relaxed);
    let received = Received::of(&house.snapshot(60), None, MetricOptions::default());
    let point = &received.exponential("weir.ttft")[0];
    assert_eq!(text(&point.attributes), "model=m upstream=default dialect=openai_chat");
    assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (STARTED.0, after(60).0));
    assert_eq!((point.min, point.max, point.sum), (Some(0.1), Some(0.1), Some(0.1)));
    let positive = point.positive.as_ref().unwrap();
    let base = f64::from(-point.scale).exp2().exp2();
    let lower = base.powi(positive.offset);
    assert!(lower < 0.1 && 0.1 <= lower * base && positive.bucket_counts == [1]);
    let Data::Sum(requests) = received.data("weir.requests") else { panic!() };
    assert!(requests.is_monotonic && requests.aggregation_temporality == CUMULATIVE);
    let Data::Sum(inflight) = received.data("weir.inflight") else { panic!() };
    assert!(!inflight.is_monotonic && inflight.aggregation_temporality == CUMULATIVE);
    assert_eq!(received.numbers("weir.lane_limit"), [("lane=global".to_owned(), 7.0)]);
    assert!(matches!(received.data("weir.lane_limit"), Data::Gauge(_)));
    assert_eq!(received.0["weir.tokens_per_second"].unit, "{token}/s");
    assert!(received.names("weir.build").is_empty() && received.names("process").is_empty());
}

#[test]
fn explicit_buckets_are_those_of_the_page() {
    let options = MetricOptions { histograms: HistogramKind::Explicit, ..MetricOptions::default() };
    let received = Received::of(&house([stream("m")]).snapshot(60), None, options);
    let point = &received.explicit("weir.ttft")[0];
    let bucket = point.bucket_counts.iter().position(|&n| n == 1).unwrap();
    assert_eq!((point.explicit_bounds[bucket], point.count, point.max), (0.1, 1, Some(0.1)));
    let chunks = &received.explicit("gen_ai.client.operation.time_per_output_chunk")[0];
    // Two gaps of exactly 10 ms lie in the bucket above, and nobody knows the least of bins.
    assert_eq!(chunks.bucket_counts[..3], [0, 2, 1]);
    assert_eq!((chunks.min, chunks.max), (None, Some(0.03)));
}

#[test]
fn the_next_conventions_have_other_names() {
    let embeddings = exchange(Dialect::Embeddings, Some(200), Outcome::Completed, None, &[(Mark::Ended, 5)]);
    let snapshot = house([stream("m"), embeddings, turned_away()]).snapshot(60);
    let next = Received::of(&snapshot, None, with(GenAiNames::Next));
    assert_eq!(
        next.names("gen_ai"),
        [
            "gen_ai.client.inference.duration",
            "gen_ai.client.inference.operation.input_tokens",
            "gen_ai.client.inference.operation.output_tokens",
            "gen_ai.client.inference.time_per_output_chunk",
            "gen_ai.client.inference.time_to_first_chunk",
            "gen_ai.client.inference.usage.cache_read.input_tokens",
            "gen_ai.client.inference.usage.input_tokens",
            "gen_ai.client.inference.usage.output_tokens",
            "gen_ai.client.operation.duration",
        ]
    );
    assert_eq!(next.attributes("gen_ai.client.inference.operation.input_tokens"), [OPERATION]);
    assert_eq!(next.attributes("gen_ai.client.operation.duration").len(), 1);
    // An operation without an answer is told with no tokens.
    let refused = "gen_ai.operation.name=chat gen_ai.provider.name=vllm gen_ai.request.model=m \
        server.address=engine.internal server.port:8000 gen_ai.token.modality=unknown";
    let told = format!("{OPERATION} gen_ai.token.modality=unknown");
    let usage = next.numbers("gen_ai.client.inference.usage.input_tokens");
    assert!(usage.contains(&(refused.into(), 0.0)) && usage.contains(&(told.clone(), 9.0)), "{usage:?}");
    assert_eq!(next.numbers("gen_ai.client.inference.usage.cache_read.input_tokens"), [(told, 3.0)]);

    let now = Received::of(&snapshot, None, with(GenAiNames::V1_41));
    let both = Received::of(&snapshot, None, with(GenAiNames::Both));
    let mut names = [now.names("gen_ai"), next.names("gen_ai")].concat();
    names.sort_unstable();
    names.dedup();
    assert_eq!(both.names("gen_ai"), names);
    // Once each: the three exchanges, and of those not the one that keeps its name twice.
    assert_eq!(both.exponential("gen_ai.client.operation.duration").len(), 3);
}

#[test]
fn who_failed_is_said_on_the_side_that_it_concerns() {
    let received = Received::of(&house([turned_away()]).snapshot(60), None, MetricOptions::default());
    let operation = received.attributes("gen_ai.client.operation.duration");
    assert!(operation[0].ends_with("error.type=proxy_queue_full"), "{operation:?}");
    let server = received.attributes("http.server.request.duration");
    assert!(server[0].contains("status_code:429") && !server[0].contains("error.type"), "{server:?}");
    assert!(received.names("http.client").is_empty());
    assert_eq!(received.names("gen_ai"), ["gen_ai.client.operation.duration"]);
}

#[test]
fn only_kept_traces_are_exemplars() {
    let mut house = house([stream("m")]);
    let first = house.snapshot(60);
    let none = Received::of(&first, None, MetricOptions::default());
    assert!(none.exponential("weir.ttft")[0].exemplars.is_empty());
    house.record(stream("m"), true);
    let second = house.snapshot(120);
    let of = |snapshot, previous, options| Received::of(snapshot, previous, options);
    let received = of(&second, Some(&first), MetricOptions::default());
    let [exemplar] = <[_; 1]>::try_from(received.exponential("weir.ttft")[0].exemplars.clone()).unwrap();
    assert_eq!((exemplar.trace_id, exemplar.span_id), (vec![0xab; 16], vec![0xcd; 8]));
    assert_eq!(exemplar.time_unix_nano, RECEIVED.0 + 151 * MS);
    // A delta has the exemplars of its own time.
    house.record(stream("m"), false);
    let received = of(&house.snapshot(180), Some(&second), delta());
    assert_eq!(received.exponential("weir.ttft")[0].count, 1);
    assert!(received.exponential("weir.ttft")[0].exemplars.is_empty());
}

#[test]
fn a_delta_tells_what_came_since() {
    let mut house = house([stream("m")]);
    house.tally.connections_open.store(3, Relaxed);
    let first = house.snapshot(60);
    let received = Received::of(&first, None, delta());
    let point = &received.exponential("weir.ttft")[0];
    assert_eq!((point.start_time_unix_nano, point.min, point.max), (STARTED.0, Some(0.1), Some(0.1)));
    house.record(turned_away(), false);
    house.tally.connections_accepted.store(5, Relaxed);
    let second = house.snapshot(120);
    let received = Received::of(&second, Some(&first), delta());
    let Data::Sum(requests) = received.data("weir.requests") else { panic!() };
    assert_eq!((requests.aggregation_temporality, requests.is_monotonic), (DELTA, true));
    let [point] = <[_; 1]>::try_from(requests.data_points.clone()).unwrap();
    assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (after(60).0, after(120).0));
    assert!(received.names("weir.ttft").is_empty());
    let Data::Sum(open) = received.data("weir.connections_open") else { panic!() };
    assert_eq!(open.aggregation_temporality, CUMULATIVE);
    assert_eq!(open.data_points[0].start_time_unix_nano, STARTED.0);
    let duration = &received.exponential("weir.duration")[0];
    assert_eq!((duration.count, duration.min, duration.max), (1, None, None));

    let low_memory = MetricOptions { temporality: Temporality::LowMemory, ..MetricOptions::default() };
    let received = Received::of(&second, Some(&first), low_memory);
    for (name, temporality) in [("weir.requests", DELTA), ("weir.connections_accepted", CUMULATIVE)] {
        let Data::Sum(sum) = received.data(name) else { panic!() };
        assert_eq!(sum.aggregation_temporality, temporality, "{name}");
    }
}

#[test]
fn what_finds_no_room_is_told_as_overflow() {
    let mut house = House::new(&config());
    for status in 100..3_000 {
        let mut odd = turned_away();
        odd.status = Some(status);
        house.record(odd, false);
    }
    let received = Received::of(&house.snapshot(60), None, MetricOptions::default());
    let points = received.exponential("http.server.request.duration");
    assert_eq!(points.len(), 2_000);
    let overflow = points.iter().find(|point| text(&point.attributes) == "otel.metric.overflow!true");
    assert_eq!(overflow.map(|point| point.count), Some(2_900 - 1_999));
}

/// A stream of which each figure is drawn out by a factor.
fn drawn_out(factor: f64) -> Exchange {
    let mut exchange = stream("m");
    let marks: Vec<_> = exchange.timeline.iter().collect();
    for (mark, Offset(at)) in marks {
        exchange.timeline.set(mark, Offset((at as f64 * factor) as u64));
    }
    exchange
}

/// Counts by bucket, at a scale that is not above the point's.
fn at_scale(point: &ExponentialHistogramDataPoint, scale: i32) -> BTreeMap<i32, u64> {
    let buckets = point.positive.as_ref().unwrap();
    let mut counts = BTreeMap::new();
    for (nth, &n) in (0..).zip(&buckets.bucket_counts).filter(|(_, n)| **n > 0) {
        *counts.entry((buckets.offset + nth) >> (point.scale - scale)).or_default() += n;
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever the range, and so however often the scale falls on the way.
    #[test]
    fn deltas_add_up_to_the_whole(rounds in prop::collection::vec(prop::collection::vec(-9.0_f64..9.0, 0..8), 1..8)) {
        let mut house = House::new(&config());
        let mut previous: Option<Snapshot> = None;
        let mut parts = Vec::new();
        for (nth, round) in (1..).zip(&rounds) {
            round.iter().for_each(|factor| house.record(drawn_out(factor.exp2()), false));
            let snapshot = house.snapshot(60 * nth);
            parts.push(Received::of(&snapshot, previous.as_ref(), delta()));
            previous = Some(snapshot);
        }
        let whole = Received::of(&previous.unwrap(), None, MetricOptions::default());
        for name in ["weir.ttft", "weir.duration", "gen_ai.client.operation.duration"] {
            let Some(all) = whole.exponential(name).first() else { continue };
            let mut counts = BTreeMap::new();
            let (mut count, mut sum) = (0, 0.0);
            for part in parts.iter().flat_map(|part| part.exponential(name)) {
                prop_assert!(part.scale >= all.scale);
                for (bucket, n) in at_scale(part, all.scale) {
                    *counts.entry(bucket).or_default() += n;
                }
                count += part.count;
                sum += part.sum.unwrap();
            }
            prop_assert_eq!(&counts, &at_scale(all, all.scale), "{}", name);
            prop_assert_eq!(count, all.count);
            prop_assert!((sum - all.sum.unwrap()).abs() < 1e-6);
        }
        let total = |received: &Received| received.numbers("weir.requests").iter().map(|(_, n)| n).sum::<f64>();
        prop_assert_eq!(parts.iter().map(total).sum::<f64>(), total(&whole));
    }
}

#[test]
fn figures_of_the_analysis_are_gauges_and_costs_are_sums() {
    let mut house = house([]);
    house.analysis.cost.usd_per_hour = Some(1.25);
    house.analysis.memory.limit_bytes = 7;
    let valuation =
        Valuation { total: Some(NanoUsd(250_000_000)), source: Source::Upstream, ..Valuation::UNKNOWN };
    let observation = Observation::Exchange(Box::new(stream("m")));
    house.metrics.record(&observation, &Beside { valuation, kept: false });
    let first = house.snapshot(10);
    house.metrics.record(&observation, &Beside { valuation, kept: false });
    let all = Received::of(&house.snapshot(20), Some(&first), delta());
    let Data::Gauge(gauge) = all.data("weir.cost_usd_per_hour") else { panic!("no gauge") };
    assert_eq!(gauge.data_points[0].value, Some(Number::AsDouble(1.25)));
    assert_eq!(all.0["weir.cost_usd_per_hour"].unit, "{usd}");
    assert_eq!(all.numbers("weir.analysis_memory_limit_bytes"), [(String::new(), 7.0)]);
    let Data::Sum(sum) = all.data("weir.cost_usd") else { panic!("no sum") };
    assert_eq!((sum.is_monotonic, sum.aggregation_temporality), (true, DELTA));
    let labels = "model=m upstream=default source=upstream".to_owned();
    assert_eq!(all.numbers("weir.cost_usd"), [(labels, 0.25)]);
}
