//! The file is read again while alerts fire.

use std::sync::Arc;

use weir_analysis::alert::status::Handling;
use weir_analysis::alert::{AlertStatus, Cause, Transition};
use weir_analysis::snapshot::Snapshot;
use weir_telemetry::{ActionFate, AlertNews};

use super::{at, by_hand, changed, fires, firing, resolves, rules};

const ALERT: &str = r#"{name: a, condition: "p95_ttft > 2s", action: throttle_requests}"#;

fn file(alert: &str, actions: &str) -> String {
    format!("alerts: [{alert}]\nactions: {{{actions}}}\n")
}

fn replaced(text: &str, ended: Vec<Transition>) -> AlertNews {
    AlertNews::Replaced(Box::new(rules(text)), ended)
}

#[tokio::test]
async fn what_an_alert_had_begun_ends_with_its_rule() {
    let text = file(ALERT, "throttle_requests: {to: 50%}");
    let (mut actions, around) = by_hand(&text);
    actions.take(changed([fires(&rules(&text), "a", 1)]));
    let gone = Transition { cause: Cause::RuleGone, ..resolves(&rules(&text), "a", 2) };
    actions.take(replaced(&file("", ""), vec![gone]));
    assert_eq!(around.global(), Some(64));
    assert_eq!(around.fates()[1], ("throttle_requests".to_owned(), ActionFate::Ended, 1));
}

#[tokio::test]
async fn a_throttle_holds_as_it_is_set_up_now() {
    let text = file(ALERT, "throttle_requests: {to: 50%}");
    let (mut actions, mut around) = by_hand(&text);
    actions.take(changed([fires(&rules(&text), "a", 1)]));
    around.landmarks();
    actions.take(replaced(&file(ALERT, "throttle_requests: {to: 25%}"), vec![]));
    assert_eq!(around.global(), Some(16));
    assert_eq!(around.landmarks()[0].1, "global: 32 to 16 (a: throttle_requests)");
    // Of another lane: the global one is given back.
    actions.take(replaced(&file(ALERT, "throttle_requests: {to: 5, model: m}"), vec![]));
    assert_eq!((around.global(), around.policy.borrow().models["m"].max_concurrent), (Some(64), Some(5)));
    assert_eq!(around.landmarks().len(), 2);
    actions.take(changed([resolves(&rules(&text), "a", 2)]));
    assert_eq!(around.policy.borrow().models["m"].max_concurrent, Some(10));
    let name = "throttle_requests".to_owned();
    assert_eq!(around.fates(), [(name.clone(), ActionFate::Begun, 1), (name, ActionFate::Ended, 1)]);
}

#[tokio::test]
async fn what_the_file_does_not_ask_for_any_more_is_ended() {
    let text = file(ALERT, "throttle_requests: {to: 50%}");
    let other_kind = "throttle_requests: {type: scale_up, step: 3}";
    let no_action = r#"{name: a, condition: "p95_ttft > 2s"}"#;
    for (next, replicas) in [
        (file(ALERT, "throttle_requests: {to: 50%, dry_run: true}"), None),
        (file(ALERT, ""), None),
        (file(no_action, "throttle_requests: {to: 50%}"), None),
        (file(ALERT, other_kind), Some(4)),
    ] {
        let (mut actions, around) = by_hand(&text);
        actions.take(changed([fires(&rules(&text), "a", 1)]));
        assert_eq!(around.global(), Some(32));
        actions.take(replaced(&next, vec![]));
        assert_eq!((around.global(), around.counts.desired_replicas()), (Some(64), replicas), "{next}");
    }
}

#[tokio::test]
async fn what_is_new_and_lasts_is_in_force_at_once_but_not_in_a_silence() {
    let none = file(r#"{name: a, condition: "p95_ttft > 2s"}"#, "");
    let text = file(ALERT, "throttle_requests: {to: 50%}");
    let (mut actions, around) = by_hand(&none);
    actions.take(changed([fires(&rules(&none), "a", 1)]));
    actions.take(replaced(&text, vec![]));
    assert_eq!(around.global(), Some(32));

    let (mut actions, around) = by_hand(&none);
    actions.take(changed([fires(&rules(&none), "a", 1)]));
    let handling = Handling { silenced_until: Some(at(9)), acknowledged: None };
    let alerts = vec![AlertStatus { handling, ..firing(&rules(&none), "a", at(1)) }];
    around.snapshot.send_replace(Arc::new(Snapshot { alerts, ..Snapshot::empty(at(2), at(0)) }));
    actions.take(replaced(&text, vec![]));
    assert_eq!(around.global(), Some(64));
}

#[tokio::test]
async fn reading_a_file_again_begins_nothing_that_came_too_soon() {
    let text = file(ALERT, "throttle_requests: {to: 50%}");
    let (mut actions, around) = by_hand(&text);
    let rules = rules(&text);
    actions.take(changed([fires(&rules, "a", 1), resolves(&rules, "a", 2), fires(&rules, "a", 3)]));
    assert_eq!(around.global(), Some(64));
    actions.take(replaced(&text, vec![]));
    assert_eq!(around.global(), Some(64));
}
