//! The metrics page: a snapshot, written in one of the two formats.

mod open_metrics;
mod text;

use std::fmt::Write;

use weir_core::page::PageFormat;

use super::snapshot::{LabelSet, Snapshot};
use crate::names::Listed;

/// Writes the page. Writing to a `String` cannot fail, so results of `write!` are let go.
pub(super) fn write(snapshot: &Snapshot, format: PageFormat) -> String {
    match format {
        PageFormat::Text => text::write(snapshot),
        PageFormat::OpenMetrics => open_metrics::write(snapshot),
    }
}

/// Writes the labels of a sample, the bound of a bucket (as the format writes it) behind them.
fn labels(page: &mut String, metric: &Listed, labels: &LabelSet, bound: Option<&str>) {
    let mut separator = '{';
    let mut label = |name: &str, value: &str| {
        let _ = write!(page, "{separator}{name}=\"");
        escape(page, value);
        page.push('"');
        separator = ',';
    };
    if let LabelSet::Own(values) = labels {
        for (name, value) in metric.labels.iter().zip(values) {
            if let Some(value) = value.text() {
                label(name, &value);
            }
        }
    }
    if let Some(bound) = bound {
        label("le", bound);
    }
    if separator == ',' {
        page.push('}');
    }
}

/// Escapes what both formats escape.
fn escape(page: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => page.push_str("\\\\"),
            '"' => page.push_str("\\\""),
            '\n' => page.push_str("\\n"),
            c => page.push(c),
        }
    }
}
