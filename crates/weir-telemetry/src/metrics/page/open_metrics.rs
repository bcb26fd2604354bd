//! The OpenMetrics format, version 1.0.0: the other one with units, exemplars and an end.

use std::fmt::{Display, Write};

use super::{escape, labels};
use crate::metrics::exemplar::Exemplar;
use crate::metrics::histogram::Histogram;
use crate::metrics::snapshot::{Family, LabelSet, Snapshot, Value};
use crate::names::{Kind, Unit};

/// Writes the page.
pub(super) fn write(snapshot: &Snapshot) -> String {
    let mut page = String::new();
    for family in &snapshot.families {
        head(&mut page, family);
        for sample in &family.series {
            let suffix = if family.metric.kind == Kind::Counter { "_total" } else { "" };
            match &sample.value {
                Value::Count(n) => line(&mut page, family, suffix, &sample.labels, None, n),
                Value::Number(number) => line(&mut page, family, suffix, &sample.labels, None, number),
                Value::Histogram(values) => {
                    histogram(&mut page, family, &sample.labels, values);
                    continue;
                }
            }
            page.push('\n');
        }
    }
    page.push_str("# EOF\n");
    page
}

/// What stands before the samples. A unit has to be the end of the name, or is not said.
fn head(page: &mut String, family: &Family) {
    let (name, kind) = (name(family), family.metric.kind.as_str());
    let _ = writeln!(page, "# TYPE {name} {kind}");
    let unit = match family.metric.unit {
        Unit::TokensPerSecond | Unit::RequestsPerSecond | Unit::Count(_) => None,
        unit => Some(unit.as_str()),
    };
    if let Some(unit) = unit.filter(|unit| name.ends_with(unit)) {
        let _ = writeln!(page, "# UNIT {name} {unit}");
    }
    let _ = write!(page, "# HELP {name} ");
    escape(page, family.metric.help);
    page.push('\n');
}

/// The family of a counter is named without what its samples end in.
fn name(family: &Family) -> &'static str {
    let name = family.metric.name;
    name.strip_suffix("_total").unwrap_or(name)
}

fn histogram(page: &mut String, family: &Family, labels: &LabelSet, histogram: &Histogram) {
    let bounds = histogram.cumulative().map(|(bound, count)| (canonical(bound), count));
    let all = ("+Inf".to_owned(), histogram.count());
    for (bucket, (bound, count)) in bounds.chain([all]).enumerate() {
        line(page, family, "_bucket", labels, Some(&bound), count);
        if let Some(exemplar) = histogram.exemplar(bucket) {
            write_exemplar(page, exemplar);
        }
        page.push('\n');
    }
    line(page, family, "_sum", labels, None, histogram.sum());
    page.push('\n');
    line(page, family, "_count", labels, None, histogram.count());
    page.push('\n');
}

/// Writes a sample, and leaves the line open.
fn line(
    page: &mut String,
    family: &Family,
    suffix: &str,
    of: &LabelSet,
    bound: Option<&str>,
    value: impl Display,
) {
    page.push_str(name(family));
    page.push_str(suffix);
    labels(page, &family.metric, of, bound);
    let _ = write!(page, " {value}");
}

/// The labels have 63 characters of the 128 that are allowed.
fn write_exemplar(page: &mut String, Exemplar { value, witness }: &Exemplar) {
    let (trace, span) = (witness.trace_id, witness.span_id);
    let (seconds, nanos) = (witness.at.0 / 1_000_000_000, witness.at.0 % 1_000_000_000);
    let _ = write!(
        page,
        " # {{trace_id=\"{trace}\",span_id=\"{span}\"}} {value} {seconds}.{:03}",
        nanos / 1_000_000
    );
}

/// A bound as the format wants it: with a fraction, and an exponent of two digits.
fn canonical(bound: f64) -> String {
    let text = format!("{bound:?}");
    match text.split_once("e-") {
        Some((number, exponent)) => format!("{number}e-{exponent:0>2}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use weir_core::exchange::WallTime;
    use weir_core::trace::{SpanId, TraceId};

    use super::{Histogram, Snapshot, canonical, write};
    use crate::metrics::exemplar::Witness;
    use crate::names;

    #[test]
    fn a_page_is_written_to_the_letter() {
        let mut snapshot = Snapshot::new(WallTime(1), WallTime(1));
        snapshot.family(names::LANE_LIMIT).count(["a\\b\"c\nd".into()], 7);
        snapshot.family(names::REQUEST_BYTES).count(["m".into(), "u".into(), "d".into()], 9);
        snapshot.family(names::LANE_WAIT_SECONDS).number(["l".into()], 1.5);
        let mut histogram = Histogram::new(&[0.000_05, 1.0]);
        histogram.observe(0.000_05);
        let witness = Witness {
            trace_id: TraceId::new([0xab; 16]).unwrap(),
            span_id: SpanId::new([0xcd; 8]).unwrap(),
            at: WallTime(1_709_210_096_007_654_321),
        };
        histogram.observe_seen(3.25, Some(&witness));
        snapshot.family(names::ITL).histogram(["m".into()], &histogram);
        let expected = "\
# TYPE weir_lane_limit gauge
# HELP weir_lane_limit How many requests may be in flight; absent without a limit.
weir_lane_limit{lane=\"a\\\\b\\\"c\\nd\"} 7
# TYPE weir_request_bytes counter
# UNIT weir_request_bytes bytes
# HELP weir_request_bytes Bytes of request bodies read.
weir_request_bytes_total{model=\"m\",upstream=\"u\",dialect=\"d\"} 9
# TYPE weir_lane_wait_seconds counter
# UNIT weir_lane_wait_seconds seconds
# HELP weir_lane_wait_seconds Waits of admitted requests, summed.
weir_lane_wait_seconds_total{lane=\"l\"} 1.5
# TYPE weir_itl_seconds histogram
# UNIT weir_itl_seconds seconds
# HELP weir_itl_seconds Inter-token latency: the gap before each token after the first.
weir_itl_seconds_bucket{model=\"m\",le=\"5e-05\"} 1
weir_itl_seconds_bucket{model=\"m\",le=\"1.0\"} 1
weir_itl_seconds_bucket{model=\"m\",le=\"+Inf\"} 2 # {trace_id=\"abababababababababababababababab\",span_id=\"cdcdcdcdcdcdcdcd\"} 3.25 1709210096.007
weir_itl_seconds_sum{model=\"m\"} 3.25005
weir_itl_seconds_count{model=\"m\"} 2
# EOF
";
        assert_eq!(write(&snapshot), expected);
    }

    #[test]
    fn bounds_are_canonical() {
        for (bound, text) in [(1.0, "1.0"), (0.000_01, "1e-05"), (0.000_1, "0.0001"), (600.0, "600.0")] {
            assert_eq!(canonical(bound), text);
        }
    }
}
