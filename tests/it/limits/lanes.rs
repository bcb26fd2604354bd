use std::sync::atomic::Ordering::Relaxed;

use weir_core::lanes::UNKNOWN;

use super::{answered, busy};
use crate::harness::rig::limits;
use crate::harness::{Rig, Wire, until};

async fn asking(rig: &Rig, body: &str) -> Wire {
    let mut client = rig.client().await;
    client.ask(body).await;
    client
}

#[tokio::test]
async fn a_model_that_is_full_does_not_stand_in_the_way_of_others() {
    let (rig, upstream) = Rig::with(|setup| {
        setup.limit(8, 8);
        setup.policy.models.insert("big".into(), limits(1, 1));
    })
    .await;
    let (mut big, mut big_engine) = busy(&rig, &upstream, r#"{"model":"big"}"#).await;
    let lane = rig.lanes.gauge("big");
    let mut waits = asking(&rig, r#"{"model":"big"}"#).await;
    until(|| lane.queued.load(Relaxed) == 1).await;
    let mut refused = asking(&rig, r#"{"model":"big"}"#).await;
    assert_eq!(refused.response().await.status(), 429);
    assert_eq!(lane.rejected_full.load(Relaxed), 1);
    assert_eq!(rig.global().in_flight.load(Relaxed), 1, "who waits for a model holds no place of all");

    let (mut small, mut small_engine) = busy(&rig, &upstream, r#"{"model":"small"}"#).await;
    answered(&mut small, &mut small_engine).await;
    answered(&mut big, &mut big_engine).await;
    big_engine.request().await;
    answered(&mut waits, &mut big_engine).await;
    until(|| lane.in_flight.load(Relaxed) == 0).await;
}

#[tokio::test]
async fn what_names_no_model_has_a_lane_of_its_own() {
    let (rig, upstream) = Rig::with(|setup| {
        setup.policy.models.insert(UNKNOWN.into(), limits(1, 0));
    })
    .await;
    let (_client, _engine) = busy(&rig, &upstream, "not json").await;
    for body in ["{}", r#"{"model":5}"#, "[]"] {
        let mut client = asking(&rig, body).await;
        assert_eq!(client.response().await.status(), 429, "{body}");
    }
    let (mut named, mut engine) = busy(&rig, &upstream, r#"{"model":"m"}"#).await;
    answered(&mut named, &mut engine).await;
}

#[tokio::test]
async fn lanes_come_and_go_with_the_policy() {
    let (rig, upstream) = Rig::start().await;
    let (mut before, mut before_engine) = busy(&rig, &upstream, r#"{"model":"m"}"#).await;
    rig.policy.send_modify(|policy| {
        policy.models.insert("m".into(), limits(1, 0));
    });
    let lane = rig.lanes.gauge("m");
    until(|| lane.limit() == Some(1)).await;
    let (mut first, mut engine) = busy(&rig, &upstream, r#"{"model":"m"}"#).await;
    assert_eq!(asking(&rig, r#"{"model":"m"}"#).await.response().await.status(), 429);
    answered(&mut before, &mut before_engine).await;

    rig.policy.send_modify(|policy| policy.models.clear());
    // The watch is followed by a task of its own.
    let mut tries = 0;
    let (mut free, mut free_engine) = loop {
        let mut client = asking(&rig, r#"{"model":"m"}"#).await;
        tokio::select! {
            answer = client.response() => assert_eq!(answer.status(), 429),
            asked = before_engine.request() => {
                drop(asked);
                break (client, before_engine);
            }
        }
        tries += 1;
        assert!(tries < 1000, "the lane stays");
    };
    answered(&mut free, &mut free_engine).await;
    answered(&mut first, &mut engine).await;
}
