//! Prometheus' exposition format, version 0.0.4.

use std::fmt::Write;

use super::labels;
use crate::metrics::histogram::Histogram;
use crate::metrics::snapshot::{Family, LabelSet, Snapshot, Value};

/// Writes the page.
pub(super) fn write(snapshot: &Snapshot) -> String {
    let mut page = String::new();
    for family in &snapshot.families {
        let (name, kind) = (family.metric.name, family.metric.kind.as_str());
        let _ = writeln!(page, "# HELP {name} {}\n# TYPE {name} {kind}", family.metric.help);
        for sample in &family.series {
            match &sample.value {
                Value::Count(n) => line(&mut page, family, "", &sample.labels, None, n),
                Value::Number(number) => line(&mut page, family, "", &sample.labels, None, number),
                Value::Histogram(values) => histogram(&mut page, family, &sample.labels, values),
            }
        }
    }
    page
}

fn histogram(page: &mut String, family: &Family, labels: &LabelSet, histogram: &Histogram) {
    for (bound, count) in histogram.cumulative() {
        line(page, family, "_bucket", labels, Some(&bound.to_string()), count);
    }
    let count = histogram.count();
    line(page, family, "_bucket", labels, Some("+Inf"), count);
    line(page, family, "_sum", labels, None, histogram.sum());
    line(page, family, "_count", labels, None, count);
}

fn line(
    page: &mut String,
    family: &Family,
    suffix: &str,
    of: &LabelSet,
    bound: Option<&str>,
    value: impl std::fmt::Display,
) {
    page.push_str(family.metric.name);
    page.push_str(suffix);
    labels(page, &family.metric, of, bound);
    let _ = writeln!(page, " {value}");
}

#[cfg(test)]
mod tests {
    use weir_core::exchange::WallTime;

    use super::{Histogram, Snapshot, write};
    use crate::names;

    #[test]
    fn a_page_is_written_to_the_letter() {
        let mut snapshot = Snapshot::new(WallTime(1), WallTime(1));
        snapshot.family(names::LANE_LIMIT).count(["a\\b\"c\nd".into()], 7);
        snapshot.family(names::STALLED_STREAMS).count([], 0);
        let mut silence = snapshot.family(names::INFLIGHT_OLDEST_SILENCE);
        silence.number([], f64::NAN);
        silence.number([], 0.25);
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        histogram.observe(0.5);
        histogram.observe(3.25);
        snapshot.family(names::ITL).histogram(["m".into()], &histogram);
        let expected = "\
# HELP weir_lane_limit How many requests may be in flight; absent without a limit.
# TYPE weir_lane_limit gauge
weir_lane_limit{lane=\"a\\\\b\\\"c\\nd\"} 7
# HELP weir_stalled_streams Streams with output that are silent for longer than stall_after.
# TYPE weir_stalled_streams gauge
weir_stalled_streams 0
# HELP weir_inflight_oldest_silence_seconds The longest time for which an admitted exchange has heard nothing from the upstream.
# TYPE weir_inflight_oldest_silence_seconds gauge
weir_inflight_oldest_silence_seconds 0.25
# HELP weir_itl_seconds Inter-token latency: the gap before each token after the first.
# TYPE weir_itl_seconds histogram
weir_itl_seconds_bucket{model=\"m\",le=\"0.5\"} 1
weir_itl_seconds_bucket{model=\"m\",le=\"1\"} 1
weir_itl_seconds_bucket{model=\"m\",le=\"+Inf\"} 2
weir_itl_seconds_sum{model=\"m\"} 3.75
weir_itl_seconds_count{model=\"m\"} 2
";
        assert_eq!(write(&snapshot), expected);
    }
}
