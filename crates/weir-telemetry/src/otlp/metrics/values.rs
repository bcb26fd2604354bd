//! The values that are told of a metric: as they stand, or as they changed.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::metrics::{Family, LabelSet, Value};

/// A series and what is told of it.
pub(super) type Told<'a> = (&'a LabelSet, Cow<'a, Value>);

/// What is told of a metric: its values, or if `delta` how they differ from those of `earlier`, without
/// the series that do not.
pub(super) fn values<'a>(family: &'a Family, earlier: Option<&Family>, delta: bool) -> Vec<Told<'a>> {
    let as_it_stands = |value| Cow::Borrowed(value);
    if !delta {
        return family.series.iter().map(|sample| (&sample.labels, as_it_stands(&sample.value))).collect();
    }
    let earlier: HashMap<&LabelSet, &Value> = earlier
        .into_iter()
        .flat_map(|family| &family.series)
        .map(|sample| (&sample.labels, &sample.value))
        .collect();
    let told = family.series.iter().filter_map(|sample| {
        let value = match earlier.get(&sample.labels) {
            Some(before) => Cow::Owned(since(&sample.value, before)?),
            None => as_it_stands(&sample.value),
        };
        (!is_nothing(&value)).then_some((&sample.labels, value))
    });
    told.collect()
}

/// What came between two values of a series, which are of one kind.
fn since(value: &Value, before: &Value) -> Option<Value> {
    match (value, before) {
        (Value::Count(n), Value::Count(before)) => Some(Value::Count(n.saturating_sub(*before))),
        (Value::Number(number), Value::Number(before)) => Some(Value::Number((number - before).max(0.0))),
        (Value::Histogram(histogram), Value::Histogram(before)) => {
            Some(Value::Histogram(Box::new(histogram.since(before))))
        }
        _ => None,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Count(n) => *n == 0,
        Value::Number(number) => *number == 0.0,
        Value::Histogram(histogram) => histogram.count() == 0,
    }
}
