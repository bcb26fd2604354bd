//! Errors by class, against what is allowed.

use std::collections::BTreeMap;

use weir_analysis::slo::{BurnWindow, ClassStatus, ErrorClass};
use weir_analysis::snapshot::Snapshot;

use super::figure::{foreign, or_absent, small_share};
use super::page::Page;

/// As much of an advice is shown.
const TEXT: usize = 400;

/// The windows that are shown.
const WINDOWS: [BurnWindow; 3] = [BurnWindow::FiveMinutes, BurnWindow::Hour, BurnWindow::Day];

/// A class in each of the windows.
type OfWindows<'a> = [Option<&'a ClassStatus>; WINDOWS.len()];

pub(super) fn show(snapshot: &Snapshot, page: &mut Page) {
    let mut classes = BTreeMap::<ErrorClass, OfWindows<'_>>::new();
    for of_window in &snapshot.error_classes.windows {
        let Some(place) = WINDOWS.iter().position(|window| *window == of_window.window) else { continue };
        for status in &of_window.classes {
            classes.entry(status.class).or_default()[place] = Some(status);
        }
    }
    classes.retain(|_, windows| windows.iter().flatten().any(|of| of.count > 0 || of.over == Some(true)));
    if classes.is_empty() {
        return;
    }
    page.heading("Errors (count and share of all exchanges)");
    let titles = ["Class", ">5 min", ">", ">Hour", ">", ">Day", ">", ">Allowed"];
    page.table(titles, classes.iter().map(|(class, windows)| row(*class, windows)));
    for (class, windows) in &classes {
        let over = windows.iter().flatten().find(|of| of.over == Some(true));
        if let Some(advice) = over.and_then(|of| of.advice.as_deref()) {
            page.line(&format!("Over: {}. {}", class.as_str(), foreign(advice, TEXT)));
        }
    }
}

fn row(class: ErrorClass, windows: &OfWindows<'_>) -> [String; 8] {
    let count = |of: Option<&ClassStatus>| or_absent(of, |of| of.count.to_string());
    let share = |of: Option<&ClassStatus>| or_absent(of.and_then(|of| of.share), small_share);
    let [five, hour, day] = *windows;
    let allowed = windows.iter().flatten().next().map(|of| of.allowed_share);
    [
        class.as_str().into(),
        count(five),
        share(five),
        count(hour),
        share(hour),
        count(day),
        share(day),
        or_absent(allowed, small_share),
    ]
}
