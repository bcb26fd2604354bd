//! What the pipeline works out while it runs, and the last exchanges that it shows.

use std::time::Duration;

use tokio::sync::oneshot;
use weir_analysis::api::ExchangeFilter;
use weir_analysis::scope::{Scope, Window};
use weir_telemetry::TelemetryConfig;

use crate::sut::{Sut, stream};

fn filter(model: Option<&str>, limit: usize) -> ExchangeFilter {
    ExchangeFilter { model: model.map(Into::into), limit, ..ExchangeFilter::default() }
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_comes_each_second_with_what_was_seen() {
    let sut = Sut::start(TelemetryConfig::default());
    tokio::time::sleep(Duration::from_millis(500)).await;
    for id in 1..=4 {
        sut.send(stream(id, "m")).await;
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let mut seen = sut.snapshot.clone();
    let snapshot = seen.borrow_and_update().clone();
    let of = |scope: &Scope| {
        snapshot.figures.iter().find(|figures| figures.scope == *scope && figures.window == Window::Minute)
    };
    let overall = &of(&Scope::Overall).unwrap().figures;
    assert_eq!((overall.requests.count, overall.requests.errors), (4, 0));
    assert_eq!(overall.latency.ttft.as_ref().unwrap().mean, 0.1);
    assert_eq!(overall.latency.itl.as_ref().unwrap().count, 12);
    assert_eq!(of(&Scope::Model("m".into())).unwrap().figures.requests.count, 4);
    let availability = snapshot.slos.iter().find(|slo| &*slo.name == "availability").unwrap();
    assert_eq!((availability.budget.good, availability.budget.bad), (4, 0));
    assert_eq!(snapshot.landmarks[0].event, "started");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(seen.has_changed().unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_last_exchanges_are_told_newest_first() {
    let sut = Sut::start(TelemetryConfig::default());
    for id in 1..=1_100 {
        sut.send(stream(id, if id % 2 == 0 { "even" } else { "odd" })).await;
    }
    for (filter, expected) in
        [(filter(None, 2_000), 1_024), (filter(Some("even"), 3), 3), (filter(Some("none"), 3), 0)]
    {
        let (reply, answer) = oneshot::channel();
        sut.asking.send((filter, reply)).await.unwrap();
        let list = answer.await.unwrap();
        assert_eq!(list.len(), expected);
        assert!(list.windows(2).all(|two| two[0].at >= two[1].at));
    }
}
