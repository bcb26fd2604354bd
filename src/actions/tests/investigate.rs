//! What is written down when an alert fires.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use weir_analysis::api::ExchangeFilter;
use weir_core::dialect::Dialect;
use weir_core::exchange::ExchangeId;
use weir_core::observation::LandmarkEvent;
use weir_core::timeline::{Offset, Stamp};
use weir_telemetry::ActionFate;

use super::{Around, LIMIT, around, changed, fires, rules};
use crate::actions::start;

const TEXT: &str = r#"
alerts: [{name: slow, condition: "p95_ttft > 2s where model = 'm'", action: investigate}]
actions: {investigate: {exchanges: 2}}
"#;

/// Lets the alert fire, answers whoever asks for exchanges, and waits for the end.
async fn fire(state_dir: Option<&Path>, clock: fn() -> Stamp) -> (Around, Option<ExchangeFilter>) {
    let rules = rules(TEXT);
    let (mut wiring, mut around) = around(rules.clone(), state_dir);
    wiring.clock = clock;
    let (news, received) = mpsc::channel(1);
    let handle = start(wiring, received, LIMIT, &TaskTracker::new());
    let id = ExchangeId(7);
    let live = around.inflight.enter(id, Stamp(1_000_000_000), Dialect::Completions);
    live.name_model("m");
    live.chunk(Offset(500_000_000), 1, 1);
    news.send(changed([fires(&rules, "slow", 1)])).await.unwrap();
    drop(news);
    let mut filter = None;
    if state_dir.is_some() {
        let (asked, reply) = tokio::time::timeout(LIMIT, around.asked.recv()).await.unwrap().unwrap();
        filter = Some(asked);
        reply.send(Vec::new()).unwrap();
    }
    tokio::time::timeout(LIMIT, handle.ended()).await.unwrap();
    drop(live);
    (around, filter)
}

#[tokio::test]
async fn a_bundle_tells_how_things_stood() {
    let dir = tempfile::tempdir().unwrap();
    let (mut around, filter) = fire(Some(dir.path()), || Stamp(3_000_000_000)).await;
    let filter = filter.unwrap();
    assert_eq!((filter.model.as_deref(), filter.limit), (Some("m"), 1_024));
    let text = fs::read(dir.path().join("bundles/20240229T123457.000Z-slow.json")).unwrap();
    let bundle: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&bundle["version"], &bundle["exchanges"]), (&json!(1), &json!([])));
    let transition = &bundle["transition"];
    assert_eq!((&transition["alert"], &transition["reading"]["value"]), (&json!("slow"), &json!(3.2)));
    assert_eq!(bundle["snapshot"]["at"], 1_709_210_096_000_000_000_u64);
    let running = json!([{
        "id": 7, "model": "m", "upstream": null, "phase": "decode", "age_s": 2.0, "silent_s": 2.0,
        "ttft_s": 0.5, "chunks": 1, "tokens": 1,
    }]);
    assert_eq!(bundle["in_flight"], running);
    assert_eq!(around.fates(), [("investigate".into(), ActionFate::Begun, 1)]);
    assert_eq!(around.landmarks(), [(LandmarkEvent::ActionFired, "slow: investigate".to_owned())]);
}

#[tokio::test]
async fn without_a_folder_it_fails() {
    let (mut around, _) = fire(None, weir_proxy::monotonic).await;
    assert!(around.landmarks().is_empty());
    assert_eq!(around.fates(), [("investigate".into(), ActionFate::Failed, 1)]);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_to_makes_it_fail() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let (around, _) = fire(Some(&file), weir_proxy::monotonic).await;
    assert_eq!(around.fates(), [("investigate".into(), ActionFate::Failed, 1)]);
}
