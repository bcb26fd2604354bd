//! The points of a metric.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Exemplar, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge,
    Histogram as ExplicitHistogram, HistogramDataPoint, NumberDataPoint, Sum, exemplar,
};
use weir_core::exchange::WallTime;

use super::options::HistogramKind;
use super::values::Told;
use crate::metrics::{self, Histogram, Label, LabelSet, Value};
use crate::names::{Kind, Listed};

/// What the points of a metric have in common.
#[derive(Debug)]
pub(super) struct Points<'a> {
    pub(super) metric: &'a Listed,
    /// The value of `gen_ai.token.type`, where the metric is one of two of one name.
    pub(super) token_type: Option<&'static str>,
    /// Since when was counted.
    pub(super) start: WallTime,
    /// Until when.
    pub(super) at: WallTime,
}

impl Points<'_> {
    /// The points; absent where there are none.
    pub(super) fn data(&self, values: &[Told<'_>], delta: bool, kind: HistogramKind) -> Option<Data> {
        if values.is_empty() {
            return None;
        }
        let temporality =
            if delta { AggregationTemporality::Delta } else { AggregationTemporality::Cumulative };
        let aggregation_temporality = temporality.into();
        Some(match (self.metric.kind, kind) {
            (Kind::Gauge, _) => Data::Gauge(Gauge { data_points: self.numbers(values) }),
            (kind @ (Kind::Counter | Kind::UpDown), _) => Data::Sum(Sum {
                data_points: self.numbers(values),
                aggregation_temporality,
                is_monotonic: kind == Kind::Counter,
            }),
            (Kind::Histogram, HistogramKind::Exponential) => {
                let data_points = self.histograms(values, |labels, of| self.exponential(labels, of));
                Data::ExponentialHistogram(ExponentialHistogram { data_points, aggregation_temporality })
            }
            (Kind::Histogram, HistogramKind::Explicit) => {
                let data_points = self.histograms(values, |labels, of| self.explicit(labels, of));
                Data::Histogram(ExplicitHistogram { data_points, aggregation_temporality })
            }
        })
    }

    fn numbers(&self, values: &[Told<'_>]) -> Vec<NumberDataPoint> {
        let point = |(labels, value): &Told<'_>| {
            let value = match **value {
                Value::Count(n) => Number::AsInt(i64::try_from(n).unwrap_or(i64::MAX)),
                Value::Number(number) => Number::AsDouble(number),
                Value::Histogram(_) => return None,
            };
            Some(NumberDataPoint {
                attributes: self.attributes(labels),
                // What goes up and down is as it is at a moment.
                start_time_unix_nano: if self.metric.kind == Kind::Gauge { 0 } else { self.start.0 },
                time_unix_nano: self.at.0,
                value: Some(value),
                ..NumberDataPoint::default()
            })
        };
        values.iter().filter_map(point).collect()
    }

    fn histograms<P>(&self, values: &[Told<'_>], point: impl Fn(&LabelSet, &Histogram) -> P) -> Vec<P> {
        let histogram = |(labels, value): &Told<'_>| match &**value {
            Value::Histogram(histogram) => Some(point(labels, histogram)),
            Value::Count(_) | Value::Number(_) => None,
        };
        values.iter().filter_map(histogram).collect()
    }

    fn exponential(&self, labels: &LabelSet, histogram: &Histogram) -> ExponentialHistogramDataPoint {
        let buckets = histogram.exponential();
        ExponentialHistogramDataPoint {
            attributes: self.attributes(labels),
            start_time_unix_nano: self.start.0,
            time_unix_nano: self.at.0,
            count: histogram.count(),
            sum: Some(histogram.sum()),
            scale: buckets.scale(),
            zero_count: buckets.zeros(),
            positive: Some(Buckets { offset: buckets.offset(), bucket_counts: buckets.counts().to_vec() }),
            exemplars: histogram.exemplars().map(told).collect(),
            min: histogram.min(),
            max: histogram.max(),
            ..ExponentialHistogramDataPoint::default()
        }
    }

    fn explicit(&self, labels: &LabelSet, histogram: &Histogram) -> HistogramDataPoint {
        HistogramDataPoint {
            attributes: self.attributes(labels),
            start_time_unix_nano: self.start.0,
            time_unix_nano: self.at.0,
            count: histogram.count(),
            sum: Some(histogram.sum()),
            bucket_counts: histogram.counts().to_vec(),
            explicit_bounds: histogram.bounds().to_vec(),
            exemplars: histogram.exemplars().map(told).collect(),
            min: histogram.min(),
            max: histogram.max(),
            ..HistogramDataPoint::default()
        }
    }

    fn attributes(&self, labels: &LabelSet) -> Vec<KeyValue> {
        let mut attributes = match labels {
            LabelSet::Own(labels) => {
                let named = self.metric.labels.iter().zip(labels);
                named.filter_map(|(name, label)| Some(attribute(name, any(label)?))).collect()
            }
            LabelSet::Overflow => vec![attribute("otel.metric.overflow", Any::BoolValue(true))],
        };
        if let Some(token_type) = self.token_type {
            attributes.push(attribute("gen_ai.token.type", Any::StringValue(token_type.into())));
        }
        attributes
    }
}

fn any(label: &Label) -> Option<Any> {
    match label {
        Label::Absent => None,
        Label::Name(name) => Some(Any::StringValue((*name).to_owned())),
        Label::Text(text) => Some(Any::StringValue((**text).to_owned())),
        Label::Number(number) => Some(Any::IntValue((*number).into())),
    }
}

fn attribute(name: &str, value: Any) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn told(exemplar: &metrics::Exemplar) -> Exemplar {
    let metrics::Exemplar { value, witness } = exemplar;
    Exemplar {
        time_unix_nano: witness.at.0,
        span_id: witness.span_id.bytes().to_vec(),
        trace_id: witness.trace_id.bytes().to_vec(),
        value: Some(exemplar::Value::AsDouble(*value)),
        ..Exemplar::default()
    }
}
