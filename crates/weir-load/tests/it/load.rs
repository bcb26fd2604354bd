//! The load driver against the engine: both must count the same.

use std::time::Duration;

use weir_load::arrival::Arrival;
use weir_load::client::{Report, drive};
use weir_load::engine::{Engine, EngineConfig, Fault, FaultRates};
use weir_load::workload::Workload;

use crate::wire::{config, engine, guarded, until};

async fn load(engine: &Engine, workload: &Workload, millis: u64) -> Report {
    let url = format!("http://{}", engine.addr());
    let mut last = Report::default();
    let duration = Duration::from_millis(millis);
    let report = guarded(drive(&url, workload, duration, 3, |report| last = *report)).await.unwrap();
    assert_eq!(report.ended(), report.sent);
    assert_eq!((last.ended(), last.ok, last.events), (report.ended(), report.ok, report.events));
    report
}

#[tokio::test]
async fn a_closed_loop_keeps_its_clients_busy_and_no_more() {
    let engine = engine(config()).await;
    let mut workload = Workload::demo("sim", Arrival::Closed { clients: 3 });
    workload.leaving = 0.0;
    let report = load(&engine, &workload, 300).await;
    assert!(report.sent >= 3);
    assert_eq!((report.ok, report.held_back), (report.sent, 0));
    let stats = until(&engine, |stats| stats.completed == report.ok).await;
    assert_eq!(stats.requests, report.sent);
    assert!(stats.peak_active <= 3, "{} at once", stats.peak_active);
}

#[tokio::test]
async fn constant_arrivals_come_as_often_as_they_should() {
    let engine = engine(config()).await;
    let mut workload = Workload::demo("sim", Arrival::Constant { per_second: 100.0 });
    workload.leaving = 0.0;
    workload.max_in_flight = 1000;
    let report = load(&engine, &workload, 305).await;
    // Arrivals that come late are sent late, unless the time is over by then.
    assert!((1..=30).contains(&report.sent), "{} sent", report.sent);
    assert_eq!(report.ok, report.sent);
}

#[tokio::test]
async fn outcomes_are_told_apart() {
    let rates = [
        ("429", 0.15),
        ("404", 0.1),
        ("503", 0.15),
        ("abort;at=1", 0.15),
        ("drop", 0.1),
        ("error;at=1", 0.1),
    ];
    let rates = rates.map(|(fault, share)| (fault.parse::<Fault>().unwrap(), share)).to_vec();
    let faults = FaultRates::new(rates).unwrap();
    let engine = engine(EngineConfig { faults, ..config() }).await;
    let mut workload = Workload::demo("sim", Arrival::Closed { clients: 1 });
    workload.mix = vec![(weir_load::workload::Shape::ChatStream, 1)];
    workload.tokens = (8, 8);
    workload.leaving = 0.0;
    let mut report = load(&engine, &workload, 200).await;
    while report.sent < 100 {
        report = load(&engine, &workload, 2000).await;
    }
    for (name, count) in [
        ("ok", report.ok),
        ("throttled", report.throttled),
        ("client_errors", report.client_errors),
        ("server_errors", report.server_errors),
        ("broken", report.broken),
    ] {
        assert!(count > 0, "{name}: {report:?}");
    }
    assert_eq!(report.cancelled, 0);
}

#[tokio::test]
async fn clients_that_leave_are_seen_at_both_ends() {
    let engine = engine(config()).await;
    let mut workload = Workload::demo("sim", Arrival::Closed { clients: 2 });
    workload.mix = vec![(weir_load::workload::Shape::ChatStream, 1)];
    workload.tokens = (50, 50);
    workload.leaving = 1.0;
    let report = load(&engine, &workload, 100).await;
    assert_eq!(report.cancelled, report.sent);
    // An engine may have written everything before it learns that the client has left.
    until(&engine, |stats| stats.gone + stats.completed == report.sent).await;
}

#[tokio::test]
async fn arrivals_without_room_are_held_back() {
    let engine = engine(config()).await;
    let mut workload = Workload::demo("sim", Arrival::Poisson { per_second: 1e6 });
    workload.max_in_flight = 2;
    workload.leaving = 0.0;
    let report = load(&engine, &workload, 200).await;
    assert!(report.held_back > 0);
    let stats = until(&engine, |stats| stats.completed == report.ok).await;
    assert!(stats.peak_active <= 2);
}
