//! Metrics: from snapshots of the recorder to the request that a destination is sent.

mod options;
mod points;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use options::MetricOptions;
pub use options::{GenAiNames, HistogramKind, Temporality};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::metrics::{Family, Snapshot};
use crate::names::{GenAiName, Listed, Naming, otlp_name};
use points::Points;
use values::values;

/// Tells a destination what `snapshot` holds. `previous` is the snapshot that it was told of before, if
/// any: with temporality [`Temporality::Delta`] what was counted since then is told, and series that
/// stand still are left out.
pub(crate) fn request(
    resource: Resource,
    snapshot: &Snapshot,
    previous: Option<&Snapshot>,
    options: MetricOptions,
) -> ExportMetricsServiceRequest {
    let mut metrics = Vec::new();
    for family in &snapshot.families {
        let names = names(&family.metric, options.genai);
        if names.is_empty() {
            continue;
        }
        let delta = is_delta(family, options.temporality);
        let earlier = previous.filter(|_| delta).and_then(|previous| find(previous, &family.metric));
        let values = values(family, earlier, delta);
        let start = previous.filter(|_| delta).map_or(snapshot.started, |previous| previous.at);
        for Name { name, token_type } in names {
            let points = Points { metric: &family.metric, token_type, start, at: snapshot.at };
            if let Some(data) = points.data(&values, delta, options.histograms) {
                add(&mut metrics, &family.metric, name, data);
            }
        }
    }
    let scope = InstrumentationScope {
        name: "weir".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    };
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }];
    let resource_metrics =
        vec![ResourceMetrics { resource: Some(resource), scope_metrics, ..ResourceMetrics::default() }];
    ExportMetricsServiceRequest { resource_metrics }
}

/// A name of a metric, and what it takes besides to tell it from others of that name.
#[derive(Debug)]
struct Name {
    name: String,
    token_type: Option<&'static str>,
}

/// What a metric is called; nothing where it is not told.
fn names(metric: &Listed, genai: GenAiNames) -> Vec<Name> {
    let plain = |name: String| Name { name, token_type: None };
    let versions = match metric.naming {
        Naming::Own => return otlp_name(metric).map(plain).into_iter().collect(),
        Naming::Convention => return vec![plain(metric.name.to_owned())],
        Naming::GenAi { v1_41, next } => match genai {
            GenAiNames::V1_41 => [v1_41, None],
            GenAiNames::Next => [None, next],
            // What did not change its name is not told twice.
            GenAiNames::Both => [v1_41, next.filter(|_| next != v1_41)],
        },
    };
    let named = |GenAiName { name, token_type }| Name { name: name.to_owned(), token_type };
    versions.into_iter().flatten().map(named).collect()
}

/// Whether what is told of a metric is what came since the last time.
fn is_delta(family: &Family, temporality: Temporality) -> bool {
    use crate::names::Kind::{Counter, Gauge, Histogram, UpDown};
    match (family.metric.kind, temporality) {
        (UpDown | Gauge, _) | (_, Temporality::Cumulative) => false,
        (Counter | Histogram, Temporality::Delta) => true,
        (Counter | Histogram, Temporality::LowMemory) => !family.observed,
    }
}

fn find<'a>(snapshot: &'a Snapshot, metric: &Listed) -> Option<&'a Family> {
    snapshot.families.iter().find(|family| family.metric.name == metric.name)
}

/// Adds a metric, or its points to those of the same name: one name stands once.
fn add(metrics: &mut Vec<Metric>, metric: &Listed, name: String, data: Data) {
    let same = metrics.iter_mut().find(|metric| metric.name == name);
    match (same.and_then(|metric| metric.data.as_mut()), data) {
        (Some(Data::Histogram(there)), Data::Histogram(more)) => there.data_points.extend(more.data_points),
        (Some(Data::ExponentialHistogram(there)), Data::ExponentialHistogram(more)) => {
            there.data_points.extend(more.data_points);
        }
        (_, data) => metrics.push(Metric {
            name,
            description: metric.help.to_owned(),
            unit: metric.unit.ucum().to_owned(),
            data: Some(data),
            ..Metric::default()
        }),
    }
}
