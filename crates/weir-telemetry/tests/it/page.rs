//! Reads a metrics page back, strictly, and holds it to the rules of the format.

use std::collections::BTreeMap;

/// All others do not.
const FALL_BELOW_ZERO: [&str; 2] = ["weir_slo_error_budget_remaining_ratio", "weir_lane_law_residual_ratio"];

type Labels = BTreeMap<String, String>;

/// A page that was read.
#[derive(Debug, Default)]
pub(crate) struct Page {
    samples: BTreeMap<(String, Labels), f64>,
    kinds: BTreeMap<String, String>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut family = String::new();
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(!help.is_empty() && !page.kinds.contains_key(name), "{line}");
                family = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, family, "{line}");
                page.kinds.insert(name.to_owned(), kind.to_owned());
            } else {
                let (name, labels, value) = sample(line);
                let histogram = page.kinds[&family] == "histogram";
                let suffix = name.strip_prefix(family.as_str()).unwrap();
                assert_eq!(histogram, ["_bucket", "_sum", "_count"].contains(&suffix), "{line}");
                assert!(histogram || suffix.is_empty(), "{line}");
                assert!(value.is_finite() && (value >= 0.0 || FALL_BELOW_ZERO.contains(&&*family)), "{line}");
                let before = page.samples.insert((name, labels), value);
                assert!(before.is_none(), "twice: {line}");
            }
        }
        page.check_histograms();
        page
    }

    /// A sample whose labels hold these.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut found = self.all(name, labels);
        let value = found.next();
        assert!(found.next().is_none(), "{name}{labels:?} stands for several");
        value
    }

    /// The sum over samples whose labels hold these.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.all(name, labels).sum()
    }

    pub(crate) fn all<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&str, &str)],
    ) -> impl Iterator<Item = f64> + 'a {
        let holds = |of: &Labels| labels.iter().all(|(k, v)| of.get(*k).is_some_and(|w| w == v));
        self.samples.iter().filter(move |((n, l), _)| n == name && holds(l)).map(|(_, &v)| v)
    }

    /// The different values of a label.
    pub(crate) fn values(&self, name: &str, label: &str) -> Vec<&str> {
        let mut values: Vec<_> = self
            .samples
            .keys()
            .filter(|(n, _)| n == name)
            .filter_map(|(_, labels)| labels.get(label).map(String::as_str))
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    pub(crate) fn families(&self) -> Vec<&str> {
        self.kinds.keys().map(String::as_str).collect()
    }

    /// Buckets rise, and the last is the count.
    fn check_histograms(&self) {
        let mut last: BTreeMap<(String, Labels), Vec<(f64, f64)>> = BTreeMap::new();
        for ((name, labels), &value) in &self.samples {
            if let Some(family) = name.strip_suffix("_bucket") {
                let mut labels = labels.clone();
                let bound: f64 = labels.remove("le").unwrap().parse().unwrap();
                last.entry((family.to_owned(), labels)).or_default().push((bound, value));
            }
        }
        for ((family, labels), mut buckets) in last {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{family}{labels:?}");
            let count = self.samples[&(format!("{family}_count"), labels)];
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, count)));
        }
    }
}

fn sample(line: &str) -> (String, Labels, f64) {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let value = value.parse().unwrap();
    let Some((name, mut rest)) = series.split_once('{') else {
        return (series.to_owned(), Labels::new(), value);
    };
    let mut labels = Labels::new();
    while rest != "}" {
        let (label, after) = rest.trim_start_matches(',').split_once("=\"").unwrap();
        let mut text = String::new();
        let mut chars = after.char_indices();
        rest = loop {
            match chars.next().unwrap() {
                (at, '"') => break &after[at + 1..],
                (_, '\\') => text.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c => c,
                }),
                (_, c) => text.push(c),
            }
        };
        assert!(labels.insert(label.to_owned(), text).is_none(), "{line}");
    }
    (name.to_owned(), labels, value)
}
