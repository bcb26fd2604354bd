//! Everything that the recorders have counted, at one moment, as plain data. The metrics page in both
//! its formats and OTLP are readings of it.

use std::borrow::Cow;
use std::sync::Arc;

use weir_core::exchange::WallTime;

use super::histogram::Histogram;
use crate::names::{Listed, Metric};

/// What was counted until one moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The moment.
    pub(crate) at: WallTime,
    /// When counting began.
    pub(crate) started: WallTime,
    pub(crate) families: Vec<Family>,
}

/// All series of one metric.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) metric: Listed,
    /// Whether it is counted elsewhere and only read here.
    pub(crate) observed: bool,
    pub(crate) series: Vec<Sample>,
}

/// One series of a metric.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) labels: LabelSet,
    pub(crate) value: Value,
}

/// What tells a series from the others of its metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LabelSet {
    /// One value for each label of the metric.
    Own(Box<[Label]>),
    /// The series of all that found the metric full.
    Overflow,
}

/// The value of a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Label {
    /// The label does not apply.
    Absent,
    Name(&'static str),
    Text(Arc<str>),
    Number(u16),
}

/// The value of a series.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Count(u64),
    Number(f64),
    Histogram(Box<Histogram>),
}

impl Snapshot {
    /// An empty one.
    pub(super) fn new(at: WallTime, started: WallTime) -> Self {
        Self { at, started, families: Vec::new() }
    }

    /// Begins a metric that is counted here; its series follow.
    pub(super) fn family<const N: usize>(&mut self, metric: Metric<N>) -> FamilyOf<'_, N> {
        self.begin(metric, false)
    }

    /// Begins a metric that is counted elsewhere, and read at this moment.
    pub(super) fn observed<const N: usize>(&mut self, metric: Metric<N>) -> FamilyOf<'_, N> {
        self.begin(metric, true)
    }

    fn begin<const N: usize>(&mut self, metric: Metric<N>, observed: bool) -> FamilyOf<'_, N> {
        let nth = self.families.len();
        self.families.push(Family { metric: metric.listed(), observed, series: Vec::new() });
        FamilyOf { series: &mut self.families[nth].series }
    }
}

/// A metric with `N` labels in the making.
#[derive(Debug)]
pub(super) struct FamilyOf<'a, const N: usize> {
    series: &'a mut Vec<Sample>,
}

impl<const N: usize> FamilyOf<'_, N> {
    /// A whole number.
    pub(super) fn count(&mut self, labels: [Label; N], n: u64) {
        self.push(Some(labels), Value::Count(n));
    }

    /// A number. What is not a number is left out.
    pub(super) fn number(&mut self, labels: [Label; N], number: f64) {
        if number.is_finite() {
            self.push(Some(labels), Value::Number(number));
        }
    }

    /// A histogram.
    pub(super) fn histogram(&mut self, labels: [Label; N], histogram: &Histogram) {
        self.capped(Some(labels), histogram);
    }

    /// A histogram of a metric that is bounded: without labels it is that of the overflow.
    pub(super) fn capped(&mut self, labels: Option<[Label; N]>, histogram: &Histogram) {
        self.push(labels, Value::Histogram(Box::new(histogram.clone())));
    }

    /// A series; without labels it is that of the overflow.
    pub(super) fn push(&mut self, labels: Option<[Label; N]>, value: Value) {
        let labels = labels.map_or(LabelSet::Overflow, |labels| LabelSet::Own(labels.into()));
        self.series.push(Sample { labels, value });
    }
}

impl Label {
    /// The value as text; absent where the label is.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Absent => None,
            Self::Name(name) => Some((*name).into()),
            Self::Text(text) => Some((&**text).into()),
            Self::Number(number) => Some(number.to_string().into()),
        }
    }
}

impl From<&'static str> for Label {
    fn from(name: &'static str) -> Self {
        Self::Name(name)
    }
}

impl From<&Arc<str>> for Label {
    fn from(text: &Arc<str>) -> Self {
        Self::Text(Arc::clone(text))
    }
}

impl From<u16> for Label {
    fn from(number: u16) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<Label>> From<Option<T>> for Label {
    fn from(label: Option<T>) -> Self {
        label.map_or(Self::Absent, Into::into)
    }
}
