//! Prometheus' text format.

use std::fmt::Write as _;

use super::histogram::Histogram;

/// A page of metrics whose samples all share some labels.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    labels: String,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Page {
    /// An empty page; each sample will carry these labels.
    pub(crate) fn new(labels: &[(&str, &str)]) -> Self {
        Page { text: String::new(), labels: rendered(labels) }
    }

    /// Begins a metric; its samples follow.
    pub(crate) fn metric(&mut self, kind: Kind, name: &str, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// A sample of the metric begun last.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let own = rendered(labels);
        let comma = if own.is_empty() || self.labels.is_empty() { "" } else { "," };
        let _ = writeln!(self.text, "{name}{{{}{comma}{own}}} {value:?}", self.labels);
    }

    /// A counter or gauge without labels of its own.
    pub(crate) fn value(&mut self, kind: Kind, name: &str, help: &str, value: f64) {
        self.metric(kind, name, help);
        self.sample(name, &[], value);
    }

    /// A histogram.
    pub(crate) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.metric(Kind::Histogram, name, help);
        let bucket = format!("{name}_bucket");
        for (bound, count) in histogram.cumulative() {
            let le = if bound.is_finite() { format!("{bound:?}") } else { "+Inf".to_owned() };
            self.sample(&bucket, &[("le", &le)], count as f64);
        }
        self.sample(&format!("{name}_count"), &[], histogram.count() as f64);
        self.sample(&format!("{name}_sum"), &[], histogram.sum());
    }

    /// The page.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

fn rendered(labels: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| {
            let value = value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            format!("{name}=\"{value}\"")
        })
        .collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_carry_all_labels_with_their_values_escaped() {
        let mut page = Page::new(&[("model_name", "a\"b\\c")]);
        page.value(Kind::Gauge, "depth", "How deep.", 1.5);
        page.sample("depth", &[("side", "left")], 2.0);
        assert_eq!(
            page.into_text(),
            "# HELP depth How deep.\n# TYPE depth gauge\n\
             depth{model_name=\"a\\\"b\\\\c\"} 1.5\n\
             depth{model_name=\"a\\\"b\\\\c\",side=\"left\"} 2.0\n"
        );
    }

    #[test]
    fn a_histogram_has_cumulative_buckets() {
        let mut histogram = Histogram::new(&[0.5, 2.0]);
        for value in [0.25, 1.0, 1.0] {
            histogram.observe(value);
        }
        let mut page = Page::new(&[]);
        page.histogram("h", "Help.", &histogram);
        assert_eq!(
            page.into_text(),
            "# HELP h Help.\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 1.0\nh_bucket{le=\"2.0\"} 3.0\n\
             h_bucket{le=\"+Inf\"} 3.0\nh_count{} 3.0\nh_sum{} 2.25\n"
        );
    }
}
