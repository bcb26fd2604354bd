use weir_core::observation::Tick;
use weir_core::outcome::Outcome;

use super::{MIB, at, error, exchange, failed, model, unjudged, windows, with};
use crate::scope::{Scope, Window};

#[test]
fn values_without_room_are_in_the_mean_and_not_in_quantiles() {
    // Room for the three series and for few bins.
    let mut probe = with(64 * MIB, 8);
    probe.exchange(&exchange("known", 1, 2, 2), at(0), unjudged());
    let limit = probe.memory().used_bytes as usize + 4_000;
    let mut windows = with(limit, 8);
    for n in 0..500_u64 {
        windows.exchange(&exchange("known", 100 + n * 10, 10_000, 2), at(n), unjudged());
    }
    let memory = windows.memory();
    assert!(memory.overflowed > 0);
    assert!(memory.used_bytes <= memory.limit_bytes, "{memory:?}");
    let ttft = windows.figures(&Scope::Overall, Window::Minute).unwrap().latency.ttft.unwrap();
    assert_eq!((ttft.count, ttft.max), (500, 5.09));
    assert!((ttft.mean - 2.595).abs() < 1e-9, "{}", ttft.mean);
    // All of it leaves, and there is room again.
    windows.tick(at(3_700_000), &Tick::default());
    assert_eq!(windows.figures(&Scope::Overall, Window::Hour), None);
    windows.exchange(&exchange("known", 100, 10_000, 2), at(3_700_000), unjudged());
    assert_eq!(windows.memory().overflowed, memory.overflowed);
}

#[test]
fn memory_stays_near_its_bound_in_a_flood_of_values() {
    let mut windows = with(MIB, 8);
    for n in 0..40_000_u64 {
        let first = 1 + n * 7_919 % 60_000;
        windows.exchange(
            &exchange("m", first, first + n * 104_729 % 600_000, n % 5_000),
            at(n * 100),
            unjudged(),
        );
        let memory = windows.memory();
        // A list that grows has slack for an eighth.
        assert!(memory.used_bytes <= memory.limit_bytes * 9 / 8, "{memory:?}");
    }
    assert!(windows.memory().overflowed > 0);
}

#[test]
fn invented_models_take_no_place() {
    let mut windows = windows();
    for n in 0..100 {
        windows.exchange(&failed(&format!("invented {n}"), Outcome::UpstreamError, 404), at(n), error(true));
    }
    windows.exchange(&failed("known", Outcome::UpstreamError, 500), at(100), unjudged());
    let mut nameless = exchange("", 1, 2, 2);
    nameless.request.model = None;
    windows.exchange(&nameless, at(100), unjudged());
    let expected =
        [Scope::Overall, model("known"), model("other"), model("unknown"), Scope::Upstream("default".into())];
    assert_eq!(windows.scopes(), expected);
    let other = windows.figures(&model("other"), Window::Minute).unwrap();
    assert_eq!((other.requests.count, other.requests.errors), (100, 100));
    assert_eq!(windows.memory().turned_away, 0);
}

#[test]
fn models_beyond_the_bound_are_other_until_one_is_idle_for_an_hour() {
    let mut windows = with(64 * MIB, 3);
    // One of three places is kept for the known model.
    for name in ["a", "b", "c", "known"] {
        windows.exchange(&exchange(name, 1, 2, 2), at(0), unjudged());
    }
    let models = |windows: &super::Windows| -> Vec<Scope> {
        windows.scopes().into_iter().filter(|scope| matches!(scope, Scope::Model(_))).collect()
    };
    assert_eq!(models(&windows), [model("a"), model("b"), model("known"), model("other")]);
    assert_eq!(windows.memory().turned_away, 1);
    windows.exchange(&exchange("b", 1, 2, 2), at(3_600_000), unjudged());
    windows.exchange(&exchange("c", 1, 2, 2), at(3_600_000), unjudged());
    assert_eq!(windows.memory().turned_away, 2);
    windows.exchange(&exchange("c", 1, 2, 2), at(3_600_001), unjudged());
    assert_eq!(models(&windows), [model("b"), model("c"), model("known"), model("other")]);
    assert_eq!((windows.memory().turned_away, windows.memory().dropped), (2, 1));
    windows.exchange(&exchange(&"x".repeat(257), 1, 2, 2), at(3_600_001), unjudged());
    assert_eq!(models(&windows).len(), 4);
}

#[test]
fn without_any_room_there_are_figures_over_all() {
    let mut windows = with(0, 8);
    windows.exchange(&exchange("a", 100, 200, 2), at(2_000), unjudged());
    assert_eq!(windows.scopes(), [Scope::Overall]);
    let figures = windows.figures(&Scope::Overall, Window::Minute).unwrap();
    assert_eq!(figures.requests.per_s, Some(0.5));
    let ttft = figures.latency.ttft.unwrap();
    assert_eq!((ttft.mean, ttft.p50), (0.1, None));
    assert_eq!(windows.memory().turned_away, 2);
}
