//! The text of a metrics page: Prometheus' exposition format, version 0.0.4.

use std::fmt::Write;

use super::histogram::Histogram;
use crate::names::Metric;

/// A page in the making. Writing to a `String` cannot fail, so results of `write!` are let go.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// Begins a metric; its samples follow.
    pub(super) fn family<const N: usize>(&mut self, metric: Metric<N>) -> Family<'_, N> {
        let Metric { name, kind, help, .. } = metric;
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", kind.as_str());
        Family { text: &mut self.text, metric }
    }

    /// The finished text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// One metric of the page.
#[derive(Debug)]
pub(super) struct Family<'a, const N: usize> {
    text: &'a mut String,
    metric: Metric<N>,
}

impl<const N: usize> Family<'_, N> {
    /// A whole number.
    pub(super) fn count(&mut self, labels: [&str; N], value: u64) {
        self.series("", labels, None);
        let _ = writeln!(self.text, " {value}");
    }

    /// A number. What is not a number is left out.
    pub(super) fn number(&mut self, labels: [&str; N], value: f64) {
        if value.is_finite() {
            self.series("", labels, None);
            let _ = writeln!(self.text, " {value}");
        }
    }

    /// A histogram.
    pub(super) fn histogram(&mut self, labels: [&str; N], histogram: &Histogram) {
        for (bound, count) in histogram.cumulative() {
            self.series("_bucket", labels, Some(bound));
            let _ = writeln!(self.text, " {count}");
        }
        let count = histogram.count();
        self.series("_bucket", labels, Some(f64::INFINITY));
        let _ = writeln!(self.text, " {count}");
        self.series("_sum", labels, None);
        let _ = writeln!(self.text, " {}", histogram.sum());
        self.series("_count", labels, None);
        let _ = writeln!(self.text, " {count}");
    }

    fn series(&mut self, suffix: &str, values: [&str; N], bound: Option<f64>) {
        self.text.push_str(self.metric.name);
        self.text.push_str(suffix);
        let mut separator = '{';
        for (label, value) in self.metric.labels.iter().zip(values) {
            let _ = write!(self.text, "{separator}{label}=\"");
            escape(self.text, value);
            self.text.push('"');
            separator = ',';
        }
        if let Some(bound) = bound {
            let _ = match bound.is_finite() {
                true => write!(self.text, "{separator}le=\"{bound}\""),
                false => write!(self.text, "{separator}le=\"+Inf\""),
            };
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
    }
}

/// Escapes what the format escapes.
fn escape(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, Page};
    use crate::names;

    #[test]
    fn a_page_is_written_to_the_letter() {
        let mut page = Page::default();
        page.family(names::LANE_LIMIT).count(["a\\b\"c\nd"], 7);
        page.family(names::STALLED_STREAMS).count([], 0);
        let mut silence = page.family(names::INFLIGHT_OLDEST_SILENCE);
        silence.number([], f64::NAN);
        silence.number([], 0.25);
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        histogram.observe(0.5);
        histogram.observe(3.25);
        page.family(names::ITL).histogram(["m"], &histogram);
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
        assert_eq!(page.finish(), expected);
    }
}
