//! Who is told of alerts, over real sockets.

use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use weir_analysis::alert::status::Handling;
use weir_analysis::alert::{AlertState, AlertStatus, Cause, Rules, Transition};
use weir_telemetry::notify::NotifyOptions;
use weir_telemetry::{ActionFate, AlertNews};

use super::receiver::Receiver;
use super::{Around, LIMIT, around, at, change, changed, fires, firing, resolves, rules, texts};
use crate::actions::{ActionsHandle, start};

/// Actions with their task.
struct Running {
    rules: Rules,
    news: mpsc::Sender<AlertNews>,
    handle: ActionsHandle,
    around: Around,
}

fn running(alerts: &str, actions: &str) -> Running {
    let rules = rules(&format!("alerts: [{alerts}]\nactions: {{{actions}}}\n"));
    let (mut wiring, around) = around(rules.clone(), None);
    wiring.notify = NotifyOptions { resend: Duration::from_millis(50), ..NotifyOptions::default() };
    let (news, received) = mpsc::channel(8);
    let handle = start(wiring, received, LIMIT, &TaskTracker::new());
    Running { rules, news, handle, around }
}

impl Running {
    async fn tell(&self, news: AlertNews) {
        self.news.send(news).await.unwrap();
    }

    /// No more news come; what waits is sent before the end.
    async fn finish(self) -> Around {
        drop(self.news);
        tokio::time::timeout(LIMIT, self.handle.ended()).await.unwrap();
        self.around
    }
}

const SLOW: &str = r#"{name: slow, condition: "p95_ttft > 2s for 5m", severity: critical, action: hook, labels: {team: inference}, runbook_url: "http://wiki/ttft"}"#;

#[tokio::test]
async fn a_webhook_is_told_in_the_form_of_an_alertmanager_when_it_begins_and_when_it_is_over() {
    let receiver = Receiver::start().await;
    let hook = format!("hook: {{type: webhook, url: '{}/in'}}", receiver.url);
    let running = running(SLOW, &hook);
    running.tell(changed([fires(&running.rules, "slow", 0)])).await;
    running.tell(changed([resolves(&running.rules, "slow", 90)])).await;
    let around = running.finish().await;

    let came = receiver.came();
    assert_eq!(came.len(), 2);
    let (first, second) = (&came[0].body, &came[1].body);
    assert_eq!((&*came[0].path, &first["version"], &first["receiver"]), ("/in", &json!("4"), &json!("hook")));
    let alert = &first["alerts"][0];
    assert_eq!((&first["status"], &alert["status"]), (&json!("firing"), &json!("firing")));
    let labels = json!({"alertname": "slow", "severity": "critical", "team": "inference"});
    assert_eq!(alert["labels"], labels);
    let annotations = texts(&[
        ("condition", "p95_ttft > 2s for 5m"),
        ("runbook_url", "http://wiki/ttft"),
        ("summary", "p95_ttft is 3.2 s"),
        ("value", "3.2 s"),
    ]);
    assert_eq!(alert["annotations"], json!(annotations));
    assert_eq!(alert["startsAt"], "2024-02-29T12:34:56.000000000Z");
    assert_eq!(alert["endsAt"], "0001-01-01T00:00:00Z");

    let alert = &second["alerts"][0];
    assert_eq!((&second["status"], &alert["status"]), (&json!("resolved"), &json!("resolved")));
    assert_eq!((&alert["labels"], &second["groupKey"]), (&labels, &first["groupKey"]));
    assert_eq!(
        (&alert["annotations"]["value"], &alert["fingerprint"]),
        (&json!("1.1 s"), &first["alerts"][0]["fingerprint"])
    );
    assert_eq!(alert["startsAt"], "2024-02-29T12:34:56.000000000Z");
    assert_eq!(alert["endsAt"], "2024-02-29T12:36:26.000000000Z");

    let name = "hook".to_owned();
    assert_eq!(around.fates(), [(name.clone(), ActionFate::Begun, 1), (name, ActionFate::Ended, 1)]);
    let targets = around.counts.targets();
    assert_eq!((targets.len(), &*targets[0].0, targets[0].1.sent()), (1, "hook", 2));
}

#[tokio::test]
async fn who_is_not_told_of_the_begin_is_not_told_of_the_end() {
    let receiver = Receiver::start().await;
    let hook = format!("hook: {{type: webhook, url: '{}'}}", receiver.url);
    let running = running(SLOW, &hook);
    let silenced = Transition { silenced: true, ..fires(&running.rules, "slow", 0) };
    running.tell(changed([silenced, resolves(&running.rules, "slow", 1)])).await;
    running.tell(changed([fires(&running.rules, "slow", 2), resolves(&running.rules, "slow", 3)])).await;
    // Too soon after the one before.
    running.tell(changed([fires(&running.rules, "slow", 4), resolves(&running.rules, "slow", 5)])).await;
    running.finish().await;
    let starts: Vec<_> =
        receiver.came().iter().map(|came| came.body["alerts"][0]["startsAt"].clone()).collect();
    assert_eq!(starts, ["2024-02-29T12:34:58.000000000Z"; 2]);
}

#[tokio::test]
async fn a_webhook_is_not_told_of_the_end_unless_it_wants_to_be_nor_again_after_a_restart() {
    let receiver = Receiver::start().await;
    let hooks = format!(
        "hook: {{type: webhook, url: '{0}/hook'}}, once: {{type: webhook, url: '{0}/once', send_resolved: false}}",
        receiver.url
    );
    let running = running(&SLOW.replace("action: hook", "action: [hook, once]"), &hooks);
    let handling = Handling { silenced_until: Some(at(60)), acknowledged: None };
    let status = AlertStatus { handling, ..firing(&running.rules, "slow", at(0)) };
    running.tell(AlertNews::Standing(vec![status])).await;
    running.tell(changed([resolves(&running.rules, "slow", 1)])).await;
    let around = running.finish().await;
    assert_eq!(around.fates(), [("hook".into(), ActionFate::Ended, 1)]);
    let came: Vec<_> =
        receiver.came().into_iter().map(|came| (came.path, came.body["status"].clone())).collect();
    assert_eq!(came, [("/hook".to_owned(), json!("resolved"))]);
}

#[tokio::test]
async fn an_alertmanager_is_told_again_after_a_restart_until_it_is_over() {
    let receiver = Receiver::start().await;
    let push = format!("push: {{type: alertmanager, url: '{}'}}", receiver.url);
    let running = running(&SLOW.replace("action: hook", "action: push"), &push);
    running.tell(AlertNews::Standing(vec![firing(&running.rules, "slow", at(0))])).await;
    // Once at first, and then again and again.
    let came = receiver.until(3).await;
    assert!(came.iter().all(|came| came.path == "/api/v2/alerts"));
    assert!(came.iter().all(|came| came.body[0]["startsAt"] == "2024-02-29T12:34:56.000000000Z"));
    // Whatever the rule says by now, it is the same alert that is over.
    let rules = rules(&format!(
        "alerts: [{}]\nactions: {{{push}}}\n",
        SLOW.replace("action: hook", "action: push").replace("critical", "info")
    ));
    running.tell(AlertNews::Replaced(Box::new(rules.clone()), vec![])).await;
    running.tell(changed([resolves(&rules, "slow", 9)])).await;
    running.finish().await;
    let came = receiver.came();
    let last = &came.last().unwrap().body[0];
    assert_eq!(
        (&last["endsAt"], &last["labels"]["severity"]),
        (&json!("2024-02-29T12:35:05.000000000Z"), &json!("critical"))
    );
    assert!(came.iter().all(|came| came.body.as_array().unwrap().len() == 1));
}

#[tokio::test]
async fn a_scaler_is_told_how_many_replicas_are_asked_for_and_only_that() {
    let receiver = Receiver::start().await;
    let actions = format!(
        "more: {{type: scale_up, step: 2, url: '{}', format: template, template: '{{{{ annotations.desired_replicas }}}}', headers: {{x-team: ops}}}}",
        receiver.url
    );
    let running = running(&SLOW.replace("action: hook", "action: more"), &actions);
    running.tell(changed([fires(&running.rules, "slow", 0)])).await;
    assert_eq!(receiver.until(1).await[0].body, json!(3));
    assert_eq!(receiver.came()[0].headers["x-team"], "ops");
    assert_eq!(running.around.counts.desired_replicas(), Some(3));
    running.tell(changed([resolves(&running.rules, "slow", 9)])).await;
    let around = running.finish().await;
    assert_eq!((receiver.came().len(), around.counts.desired_replicas()), (1, None));
}

#[tokio::test]
async fn other_targets_hold_when_the_file_is_read_again() {
    let (before, after) = (Receiver::start().await, Receiver::start().await);
    let hook = |receiver: &Receiver| format!("hook: {{type: webhook, url: '{}'}}", receiver.url);
    let running = running(SLOW, &hook(&before));
    running.tell(changed([fires(&running.rules, "slow", 0)])).await;
    let rules = rules(&format!("alerts: [{SLOW}]\nactions: {{{}}}\n", hook(&after)));
    running.tell(AlertNews::Replaced(Box::new(rules.clone()), vec![])).await;
    running.tell(changed([resolves(&rules, "slow", 9)])).await;
    running.finish().await;
    let status = |receiver: &Receiver| -> Vec<_> {
        receiver.came().iter().map(|came| came.body["status"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((status(&before), status(&after)), (vec!["firing".to_owned()], vec!["resolved".to_owned()]));
}

#[tokio::test]
async fn what_can_never_be_called_fails_and_asks_for_no_replicas() {
    let actions = "hook: {type: webhook, url: 'http://127.0.0.1:9/', format: template, template: '{{ alert'}, \
                   more: {type: scale_up, url: 'http://127.0.0.1:9/', format: template, template: '{{ alert'}";
    let running = running(&SLOW.replace("action: hook", "action: [hook, more]"), actions);
    running.tell(changed([fires(&running.rules, "slow", 0)])).await;
    let around = running.finish().await;
    let count = |name: &str| (name.to_owned(), ActionFate::Failed, 1);
    assert_eq!(around.fates(), [count("hook"), count("more")]);
    assert_eq!(around.counts.desired_replicas(), None);
}

#[tokio::test]
async fn when_a_silence_ends_it_is_told_since_when_the_alert_fires() {
    let receiver = Receiver::start().await;
    let hook = format!("hook: {{type: webhook, url: '{}'}}", receiver.url);
    let running = running(SLOW, &hook);
    let silenced = Transition { silenced: true, ..fires(&running.rules, "slow", 0) };
    let states = (AlertState::Firing, AlertState::Firing);
    let late = Transition { cause: Cause::SilenceEnded, ..change(&running.rules, "slow", states, at(30)) };
    running.tell(changed([silenced, late])).await;
    running.finish().await;
    let came = receiver.came();
    assert_eq!(came.len(), 1);
    assert_eq!(came[0].body["alerts"][0]["startsAt"], "2024-02-29T12:34:56.000000000Z");
}

#[tokio::test]
async fn a_webhook_that_a_rule_names_anew_waits_for_the_next_firing() {
    let receiver = Receiver::start().await;
    let hook = format!("hook: {{type: webhook, url: '{}'}}", receiver.url);
    let running = running(&SLOW.replace("action: hook,", ""), &hook);
    running.tell(changed([fires(&running.rules, "slow", 0)])).await;
    let rules = rules(&format!("alerts: [{SLOW}]\nactions: {{{hook}}}\n"));
    running.tell(AlertNews::Replaced(Box::new(rules.clone()), vec![])).await;
    running.tell(changed([resolves(&rules, "slow", 9)])).await;
    let around = running.finish().await;
    assert_eq!((receiver.came().len(), around.fates()), (0, vec![]));
}

#[tokio::test]
async fn who_is_not_to_be_told_any_more_is_told_of_an_end_that_is_not_before_the_begin() {
    let receiver = Receiver::start().await;
    let hook = format!("hook: {{type: webhook, url: '{}'}}", receiver.url);
    let running = running(SLOW, &hook);
    running.tell(changed([fires(&running.rules, "slow", 5)])).await;
    // What is known is a little older than the news.
    let none = rules(&format!("alerts: [{}]\n", SLOW.replace("action: hook,", "")));
    running.tell(AlertNews::Replaced(Box::new(none), vec![])).await;
    running.finish().await;
    let alert = &receiver.came()[1].body["alerts"][0];
    assert_eq!((&alert["status"], &alert["endsAt"]), (&json!("resolved"), &alert["startsAt"]));
}
