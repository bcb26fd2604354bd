//! One action of one alert, from its begin to its end.

use weir_analysis::alert::{AlertState, Cause, Transition};
use weir_core::observation::LandmarkEvent::{ActionFired, LimitChanged};
use weir_core::policy::Fallback;
use weir_telemetry::ActionFate;

use super::{by_hand, change, changed, fires, resolves, rules};

const THROTTLES: &str = r#"
alerts:
  - {name: high_ttft, condition: "p95_ttft > 2s", action: throttle_requests}
  - {name: other, condition: "p95_itl > 1s", action: [throttle_requests, model_only]}
actions:
  throttle_requests: {to: 50%}
  model_only: {type: throttle, to: 4, model: m}
"#;

#[tokio::test]
async fn a_throttle_lowers_a_limit_until_its_alert_is_over() {
    let (rules, (mut actions, mut around)) = (rules(THROTTLES), by_hand(THROTTLES));
    actions.take(changed([fires(&rules, "high_ttft", 1)]));
    assert_eq!(around.global(), Some(32));
    let told = |event, text: &str| (event, text.to_owned());
    assert_eq!(
        around.landmarks(),
        [
            told(LimitChanged, "global: 64 to 32 (high_ttft: throttle_requests)"),
            told(ActionFired, "high_ttft: throttle_requests"),
        ]
    );
    // Another alert asks for the same, and for less of a model.
    actions.take(changed([fires(&rules, "other", 2), resolves(&rules, "high_ttft", 2)]));
    assert_eq!((around.global(), around.policy.borrow().models["m"].max_concurrent), (Some(32), Some(4)));
    assert_eq!(around.landmarks().len(), 3);
    actions.take(changed([resolves(&rules, "other", 3)]));
    assert_eq!((around.global(), around.policy.borrow().models["m"].max_concurrent), (Some(64), Some(10)));
    assert_eq!(
        around.landmarks(),
        [
            told(LimitChanged, "m: 4 to 10 (other: model_only)"),
            told(LimitChanged, "global: 32 to 64 (other: throttle_requests)"),
        ]
    );
    assert_eq!(
        around.fates(),
        [
            ("model_only".into(), ActionFate::Begun, 1),
            ("model_only".into(), ActionFate::Ended, 1),
            ("throttle_requests".into(), ActionFate::Begun, 2),
            ("throttle_requests".into(), ActionFate::Ended, 2),
        ]
    );
}

#[tokio::test]
async fn in_a_silence_nothing_is_begun_but_all_is_ended() {
    let (rules, (mut actions, around)) = (rules(THROTTLES), by_hand(THROTTLES));
    let silenced = |change| Transition { silenced: true, ..change };
    actions.take(changed([silenced(fires(&rules, "high_ttft", 1))]));
    assert_eq!((around.global(), around.fates()), (Some(64), vec![]));
    // The silence ends while it fires.
    let still = change(&rules, "high_ttft", (AlertState::Firing, AlertState::Firing), super::at(5));
    actions.take(changed([Transition { cause: Cause::SilenceEnded, ..still }]));
    assert_eq!(around.global(), Some(32));
    actions.take(changed([silenced(resolves(&rules, "high_ttft", 9))]));
    assert_eq!(around.global(), Some(64));
    assert_eq!(around.fates().len(), 2);
}

#[tokio::test]
async fn a_rule_that_is_gone_ends_what_was_begun() {
    let (rules, (mut actions, around)) = (rules(THROTTLES), by_hand(THROTTLES));
    actions.take(changed([fires(&rules, "high_ttft", 1)]));
    let gone = Transition { cause: Cause::RuleGone, ..resolves(&rules, "high_ttft", 2) };
    actions.take(changed([gone]));
    assert_eq!(around.global(), Some(64));
}

#[tokio::test]
async fn a_change_to_pending_begins_nothing() {
    let (rules, (mut actions, around)) = (rules(THROTTLES), by_hand(THROTTLES));
    let pending = change(&rules, "high_ttft", (AlertState::Inactive, AlertState::Pending), super::at(1));
    actions.take(changed([pending]));
    assert_eq!((around.global(), around.fates()), (Some(64), vec![]));
}

#[tokio::test]
async fn an_action_is_begun_once_in_its_interval_for_each_alert() {
    let (rules, (mut actions, around)) = (rules(THROTTLES), by_hand(THROTTLES));
    let name = "throttle_requests".to_owned();
    for (seconds, limit) in [(0, 32), (299, 64), (300, 32)] {
        actions.take(changed([fires(&rules, "high_ttft", seconds)]));
        assert_eq!(around.global(), Some(limit), "after {seconds} s");
        actions.take(changed([resolves(&rules, "high_ttft", seconds)]));
        assert_eq!(around.global(), Some(64));
    }
    let expected = [
        (name.clone(), ActionFate::Begun, 2),
        (name.clone(), ActionFate::Ended, 2),
        (name, ActionFate::RateLimited, 1),
    ];
    assert_eq!(around.fates(), expected);
    // Another alert has an interval of its own.
    actions.take(changed([fires(&rules, "other", 301)]));
    assert_eq!(around.global(), Some(32));
}

#[tokio::test]
async fn what_is_not_set_up_or_only_tried_is_counted_and_changes_nothing() {
    let text = r#"
alerts:
  - {name: a, condition: "p95_ttft > 2s", action: [notify_team, scale_up, throttle_requests, fallback_model, investigate]}
actions:
  throttle_requests: {dry_run: true}
  notify_team: {url: "http://127.0.0.1:9/", dry_run: true}
"#;
    let (rules, (mut actions, mut around)) = (rules(text), by_hand(text));
    actions.take(changed([fires(&rules, "a", 1)]));
    actions.take(changed([resolves(&rules, "a", 2), fires(&rules, "a", 3)]));
    let count = |name: &str, fate, n| (name.to_owned(), fate, n);
    assert_eq!(
        around.fates(),
        [
            count("fallback_model", ActionFate::NotSetUp, 2),
            count("investigate", ActionFate::NotSetUp, 2),
            count("notify_team", ActionFate::DryRun, 1),
            count("notify_team", ActionFate::RateLimited, 1),
            count("scale_up", ActionFate::NotSetUp, 2),
            count("throttle_requests", ActionFate::DryRun, 1),
            count("throttle_requests", ActionFate::RateLimited, 1),
        ]
    );
    assert_eq!((around.global(), around.counts.desired_replicas()), (Some(64), None));
    assert!(around.landmarks().is_empty() && around.counts.targets().is_empty());
}

#[tokio::test]
async fn a_fallback_stands_in_the_policy_and_is_said_to_be_of_no_use() {
    let text = r#"
alerts: [{name: a, condition: "error_rate > 5%", action: fallback_model}]
actions: {fallback_model: {model: big, to: small}}
"#;
    let (rules, (mut actions, mut around)) = (rules(text), by_hand(text));
    actions.take(changed([fires(&rules, "a", 1)]));
    assert_eq!(
        around.policy.borrow().fallbacks,
        [Fallback { model: Some("big".into()), to: "small".into() }]
    );
    actions.take(changed([resolves(&rules, "a", 2)]));
    assert!(around.policy.borrow().fallbacks.is_empty());
    assert_eq!(around.fates(), [("fallback_model".into(), ActionFate::NotAvailable, 1)]);
    assert!(around.landmarks().is_empty());
}

#[tokio::test]
async fn the_largest_wish_for_replicas_is_shown_while_its_alert_fires() {
    let text = r#"
alerts:
  - {name: a, condition: "p95_ttft > 2s", action: [scale_up, more]}
  - {name: b, condition: "queue_depth > 5", action: much_more}
actions:
  scale_up: {}
  more: {type: scale_up, step: 2}
  much_more: {type: scale_up, step: 9, max_replicas: 4}
"#;
    let (rules, (mut actions, mut around)) = (rules(text), by_hand(text));
    actions.take(changed([fires(&rules, "a", 1)]));
    assert_eq!(around.counts.desired_replicas(), Some(3));
    actions.take(changed([fires(&rules, "b", 2)]));
    assert_eq!(around.counts.desired_replicas(), Some(4));
    assert_eq!(around.landmarks().len(), 3);
    actions.take(changed([resolves(&rules, "b", 3)]));
    assert_eq!(around.counts.desired_replicas(), Some(3));
    actions.take(changed([resolves(&rules, "a", 4)]));
    assert_eq!(around.counts.desired_replicas(), None);
}
