use weir_core::observation::Tick;

use super::{at, close, exchange, model, pulse, tick, unjudged, windows};
use crate::scope::{Scope, Window};

fn count(windows: &super::Windows, window: Window) -> Option<u64> {
    let figures = windows.figures(&Scope::Overall, window)?;
    let ttft = figures.latency.ttft.map(|ttft| ttft.count);
    assert_eq!(ttft, Some(figures.requests.count), "counts and values leave together");
    ttft
}

#[test]
fn an_empty_window_has_no_figures() {
    let mut windows = windows();
    assert_eq!(windows.figures(&Scope::Overall, Window::Hour), None);
    windows.tick(at(30_000), &Tick::default());
    assert_eq!(windows.figures(&Scope::Overall, Window::Hour), None);
    assert_eq!(windows.figures(&model("m"), Window::Hour), None);
}

#[test]
fn a_value_leaves_each_window_at_its_boundary() {
    let mut windows = windows();
    // In the slot from 60 s to 65 s.
    windows.exchange(&exchange("m", 100, 200, 5), at(60_000), unjudged());
    for (window, last) in
        [(Window::Minute, 119_999), (Window::FiveMinutes, 359_999), (Window::Hour, 3_659_999)]
    {
        windows.tick(at(last), &Tick::default());
        assert_eq!(count(&windows, window), Some(1), "{window:?}");
        windows.tick(at(last + 1), &Tick::default());
        assert_eq!(windows.figures(&Scope::Overall, window), None, "{window:?}");
    }
}

#[test]
fn the_greatest_leaves_with_its_slot() {
    let mut windows = windows();
    windows.exchange(&exchange("m", 900, 1_000, 5), at(0), unjudged());
    windows.exchange(&exchange("m", 300, 1_000, 5), at(31_000), unjudged());
    let max = |windows: &super::Windows, window| {
        windows.figures(&Scope::Overall, window).unwrap().latency.ttft.unwrap().max
    };
    windows.tick(at(59_000), &Tick::default());
    assert_eq!(max(&windows, Window::Minute), 0.9);
    windows.tick(at(60_000), &Tick::default());
    assert_eq!(max(&windows, Window::Minute), 0.3);
    assert_eq!(max(&windows, Window::Hour), 0.9);
    windows.tick(at(3_600_000), &Tick::default());
    assert_eq!(windows.figures(&Scope::Overall, Window::Hour), None);
}

#[test]
fn rates_divide_by_what_there_is_of_a_window() {
    let mut windows = windows();
    windows.exchange(&exchange("m", 100, 200, 5), at(500), unjudged());
    assert_eq!(windows.figures(&Scope::Overall, Window::Minute).unwrap().requests.per_s, None);
    for _ in 0..9 {
        windows.exchange(&exchange("m", 100, 200, 5), at(10_000), unjudged());
    }
    windows.tick(at(20_000), &Tick::default());
    for window in Window::ALL {
        let figures = windows.figures(&Scope::Overall, window).unwrap();
        assert_eq!((figures.span_s, figures.requests.per_s), (20.0, Some(0.5)), "{window:?}");
    }
    // At 72 s one minute reaches back to the slot that began at 15 s.
    windows.exchange(&exchange("m", 100, 200, 5), at(72_000), unjudged());
    let figures = windows.figures(&Scope::Overall, Window::Minute).unwrap();
    assert_eq!((figures.span_s, figures.requests.count), (57.0, 1));
    assert!(close(figures.requests.per_s, 1.0 / 57.0));
}

#[test]
fn a_leap_of_hours_forgets_and_goes_on() {
    let mut windows = windows();
    windows.exchange(&exchange("m", 100, 200, 5), at(1_000), unjudged());
    windows.pulse(&pulse("m", &[10, 20]), at(1_000));
    let before = windows.memory().used_bytes;
    windows.tick(at(36_000_000), &Tick::default());
    for window in Window::ALL {
        assert_eq!(windows.figures(&Scope::Overall, window), None);
    }
    assert!(windows.memory().used_bytes < before);
    windows.exchange(&exchange("m", 100, 200, 5), at(36_001_000), unjudged());
    assert_eq!(count(&windows, Window::Hour), Some(1));
    assert!(windows.sparklines(&Scope::Overall).unwrap().rps.len() == 239);
    windows.tick(crate::time::Moment(u64::MAX), &Tick::default());
    assert_eq!(windows.figures(&Scope::Overall, Window::Hour), None);
}

#[test]
fn what_comes_late_counts_and_time_does_not_go_back() {
    let mut windows = windows();
    windows.tick(at(100_000), &Tick::default());
    windows.exchange(&exchange("m", 100, 200, 5), at(94_000), unjudged());
    windows.pulse(&pulse("m", &[10]), at(0));
    assert_eq!(count(&windows, Window::Minute), Some(1));
    assert_eq!(windows.figures(&Scope::Overall, Window::Minute).unwrap().span_s, 55.0);
    windows.tick(at(99_000), &Tick::default());
    assert_eq!(windows.figures(&Scope::Overall, Window::Minute).unwrap().span_s, 55.0);
}

#[test]
fn the_same_observations_give_the_same_figures() {
    let run = || {
        let mut windows = windows();
        for n in 0..2_000_u64 {
            let first = 50 + n * 7919 % 1_000;
            let name = ["a", "b", "known"][(n % 3) as usize];
            windows.exchange(
                &exchange(name, first, first + n * 104_729 % 9_000, n % 300),
                at(n * 500),
                unjudged(),
            );
            windows.pulse(&pulse(name, &[n % 90, 12]), at(n * 500));
            windows.tick(at(n * 500), &tick([n % 3, 1, 2, 3]));
        }
        let scopes = windows.scopes();
        let figures: Vec<_> = scopes
            .iter()
            .flat_map(|scope| Window::ALL.map(|window| windows.figures(scope, window)))
            .collect();
        let text = serde_json::to_string(&figures).unwrap();
        (scopes, text, windows.memory())
    };
    assert_eq!(run(), run());
}

#[test]
fn memory_is_told_as_it_is_held() {
    let mut windows = windows();
    let empty = windows.memory().used_bytes;
    for n in 0..3_000_u64 {
        windows.exchange(&exchange("m", n % 977, 2_000, 5), at(n * 100), unjudged());
    }
    assert!(windows.memory().used_bytes > empty);
    let held: usize = [&windows.overall]
        .into_iter()
        .chain(windows.models.find("m"))
        .chain(windows.upstreams.find("default"))
        .map(super::super::series::Series::bytes)
        .sum();
    assert_eq!(windows.memory().used_bytes, (held + "m".len() + "default".len()) as u64);
}
