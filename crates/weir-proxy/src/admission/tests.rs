use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use weir_core::lanes::{LaneGauge, Lanes};
use weir_core::policy::{LaneLimits, Policy};

use super::{Admission, Permit, Rejection};

fn limits(max_concurrent: usize, max_queued: usize) -> LaneLimits {
    LaneLimits { max_concurrent: Some(max_concurrent), max_queued, queue_timeout: Duration::from_secs(30) }
}

fn policy(global: LaneLimits) -> Policy {
    Policy { global, models: BTreeMap::new(), fallbacks: Vec::new() }
}

fn admission(policy: &Policy) -> (Arc<Admission>, Arc<LaneGauge>) {
    let gauges = Arc::new(Lanes::default());
    let admission = Arc::new(Admission::new(policy, Arc::clone(&gauges)));
    (admission, gauges.gauge("global"))
}

/// Asks for leave in a task of its own, and lets it get as far as it can.
async fn ask(admission: &Arc<Admission>) -> JoinHandle<Result<Permit, Rejection>> {
    let admission = Arc::clone(admission);
    let asked = TaskTracker::new().spawn(async move { admission.admit(None).await });
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn they_are_admitted_in_the_order_in_which_they_came() {
    let (admission, gauge) = admission(&policy(limits(1, 8)));
    let first = admission.admit(None).await.unwrap();
    let second = ask(&admission).await;
    let third = ask(&admission).await;
    assert_eq!(gauge.queued.load(Relaxed), 2);
    drop(first);
    let second = second.await.unwrap().unwrap();
    assert!(!third.is_finished());
    drop(second);
    drop(third.await.unwrap().unwrap());
    assert_eq!((gauge.queued.load(Relaxed), gauge.in_flight.load(Relaxed)), (0, 0));
    assert_eq!((gauge.arrivals.load(Relaxed), gauge.completions.load(Relaxed)), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_full_line_turns_away_and_says_how_long_it_would_take() {
    let (admission, gauge) = admission(&policy(limits(1, 1)));
    // A departure, so that there is a throughput to predict from.
    drop(admission.admit(None).await.unwrap());
    let _first = admission.admit(None).await.unwrap();
    let _second = ask(&admission).await;
    let Err(Rejection::Full(Some(wait))) = admission.admit(None).await else { panic!("let in") };
    assert!(wait > Duration::ZERO);
    assert_eq!(gauge.rejected_full.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_after_its_timeout_and_not_before() {
    let (admission, gauge) = admission(&policy(limits(1, 4)));
    let _held = admission.admit(None).await.unwrap();
    let waiting = ask(&admission).await;
    tokio::time::advance(Duration::from_millis(29_990)).await;
    assert!(!waiting.is_finished());
    tokio::time::advance(Duration::from_millis(20)).await;
    assert!(matches!(waiting.await.unwrap(), Err(Rejection::TimedOut(_))));
    assert_eq!((gauge.queued.load(Relaxed), gauge.timed_out.load(Relaxed)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn who_leaves_the_line_holds_nobody_up() {
    let (admission, gauge) = admission(&policy(limits(1, 8)));
    let held = admission.admit(None).await.unwrap();
    let gone: Vec<_> = [ask(&admission).await, ask(&admission).await, ask(&admission).await].into();
    let last = ask(&admission).await;
    for waiting in &gone {
        waiting.abort();
    }
    for waiting in gone {
        assert!(waiting.await.unwrap_err().is_cancelled());
    }
    assert_eq!((gauge.queued.load(Relaxed), gauge.abandoned.load(Relaxed)), (1, 3));
    drop(held);
    drop(last.await.unwrap().unwrap());
    assert_eq!(gauge.in_flight.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_place_handed_to_one_who_just_left_is_not_lost() {
    let (admission, gauge) = admission(&policy(limits(1, 8)));
    for _ in 0..1000 {
        let held = admission.admit(None).await.unwrap();
        let waiting = ask(&admission).await;
        // Handed over, and gone before it could take it.
        drop(held);
        waiting.abort();
        let _ = waiting.await;
        assert_eq!(gauge.in_flight.load(Relaxed), 0);
    }
    drop(admission.admit(None).await.unwrap());
    assert_eq!(gauge.queued.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn limits_change_under_way_without_dropping_anyone() {
    let (admission, gauge) = admission(&policy(limits(3, 8)));
    let held: Vec<_> = [
        admission.admit(None).await.unwrap(),
        admission.admit(None).await.unwrap(),
        admission.admit(None).await.unwrap(),
    ]
    .into();
    admission.apply(&policy(limits(1, 8)));
    assert_eq!((gauge.in_flight.load(Relaxed), gauge.limit()), (3, Some(1)));
    let waiting = ask(&admission).await;
    let mut held = held.into_iter();
    drop(held.next());
    drop(held.next());
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "two places were taken away while in use");
    drop(held.next());
    let admitted = waiting.await.unwrap().unwrap();
    let another = ask(&admission).await;
    assert!(!another.is_finished());
    admission.apply(&policy(LaneLimits { max_concurrent: None, ..limits(0, 8) }));
    drop(another.await.unwrap().unwrap());
    drop(admitted);
    assert_eq!((gauge.in_flight.load(Relaxed), gauge.limit()), (0, None));
}

#[tokio::test(start_paused = true)]
async fn a_full_model_does_not_stand_in_the_way_of_others() {
    let mut models = BTreeMap::new();
    models.insert("small".into(), limits(1, 0));
    models.insert("unknown".into(), limits(0, 0));
    let both = Policy { global: limits(2, 0), models, fallbacks: Vec::new() };
    let (admission, _) = admission(&both);
    let _small = admission.admit(Some("small")).await.unwrap();
    assert!(matches!(admission.admit(Some("small")).await, Err(Rejection::Full(_))));
    assert!(matches!(admission.admit(None).await, Err(Rejection::Full(_))));
    let _other = admission.admit(Some("other")).await.unwrap();
    assert!(matches!(admission.admit(Some("third")).await, Err(Rejection::Full(_))));
}
