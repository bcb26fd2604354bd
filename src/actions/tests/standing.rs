//! Alerts that fire already when Weir starts.

use weir_analysis::alert::AlertStatus;
use weir_analysis::alert::status::Handling;
use weir_core::observation::LandmarkEvent;
use weir_telemetry::{ActionFate, AlertNews};

use super::{at, by_hand, changed, fires, firing, resolves, rules};

const TEXT: &str = r#"
alerts:
  - {name: a, condition: "p95_ttft > 2s", action: [throttle_requests, fallback_model, scale_up, tried, notify_team]}
  - {name: quiet, condition: "p95_itl > 1s", action: throttle_requests}
actions:
  throttle_requests: {to: 50%}
  fallback_model: {to: small}
  scale_up: {step: 2}
  tried: {type: throttle, to: 1, dry_run: true}
"#;

#[tokio::test]
async fn what_lasts_is_in_force_again_and_ends_with_its_alert() {
    let (rules, (mut actions, mut around)) = (rules(TEXT), by_hand(TEXT));
    let inactive = AlertStatus { state: Default::default(), ..firing(&rules, "quiet", at(0)) };
    let since = at(0).minus(std::time::Duration::from_secs(100));
    actions.take(AlertNews::Standing(vec![firing(&rules, "a", since), inactive]));
    assert_eq!((around.global(), around.counts.desired_replicas()), (Some(32), Some(3)));
    assert_eq!(around.policy.borrow().fallbacks.len(), 1);
    // The limit did change; no action was begun.
    let limit = "global: 64 to 32 (a: throttle_requests)".to_owned();
    assert_eq!(around.landmarks(), [(LandmarkEvent::LimitChanged, limit)]);
    assert_eq!(around.fates(), []);
    actions.take(changed([resolves(&rules, "a", 10)]));
    assert_eq!((around.global(), around.counts.desired_replicas()), (Some(64), None));
    assert!(around.policy.borrow().fallbacks.is_empty());
    let count = |name: &str, fate| (name.to_owned(), fate, 1);
    let ended = [count("scale_up", ActionFate::Ended), count("throttle_requests", ActionFate::Ended)];
    assert_eq!(around.fates(), ended);
    // It was begun 100 s before the start; 199 s after the start is too soon, one second later is not.
    actions.take(changed([fires(&rules, "a", 199), resolves(&rules, "a", 199)]));
    assert!(around.fates().contains(&count("throttle_requests", ActionFate::RateLimited)));
    actions.take(changed([fires(&rules, "a", 200)]));
    assert_eq!(around.global(), Some(32));
}

#[tokio::test]
async fn a_silence_that_lasts_begins_nothing() {
    let (rules, (mut actions, around)) = (rules(TEXT), by_hand(TEXT));
    let silenced = |until| AlertStatus {
        handling: Handling { silenced_until: Some(until), acknowledged: None },
        ..firing(&rules, "quiet", at(0))
    };
    actions.take(AlertNews::Standing(vec![silenced(at(60))]));
    assert_eq!(around.global(), Some(64));
    actions.take(changed([resolves(&rules, "quiet", 1)]));
    assert_eq!(around.fates(), []);
    // One that is over by now.
    actions.take(AlertNews::Standing(vec![silenced(at(0))]));
    assert_eq!(around.global(), Some(32));
}
