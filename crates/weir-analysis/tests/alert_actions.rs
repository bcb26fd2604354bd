//! Actions as files set them up, and what is remarked about them.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weir_analysis::alert::Rules;
use weir_analysis::alert::action::{Action, Format};
use weir_core::policy::ThrottleTo;

fn parsed(file: &str) -> weir_analysis::alert::Parsed {
    let env = |name: &str| match name {
        "HOST" => Some("hooks.example.com".to_owned()),
        "SECRET" => Some("hunter2".to_owned()),
        _ => None,
    };
    Rules::parse(file, &env).unwrap()
}

#[test]
fn a_webhook_has_all_that_a_call_needs() {
    let file = "actions:\n  page:\n    type: webhook\n    url: https://${HOST}/x\n    format: template\n    \
                template: '{{ alert }}'\n    secret: ${SECRET}\n    headers: {Authorization: 'Bearer ${SECRET}', X-Env: prod}\n    \
                send_resolved: false\n    timeout: 2s\n    max_retries: 0\n    dry_run: true\n    min_interval: 1h\n";
    let parsed = parsed(file);
    let config = parsed.rules.action("page").unwrap();
    assert!(config.dry_run);
    assert_eq!(config.min_interval, Duration::from_secs(3_600));
    let Action::Webhook(hook) = &config.action else { panic!("{config:?}") };
    assert_eq!(hook.call.url.reveal(), "https://hooks.example.com/x");
    assert_eq!(hook.call.secret.as_ref().unwrap().reveal(), "hunter2");
    assert_eq!(hook.call.headers["authorization"].reveal(), "Bearer hunter2");
    assert_eq!(hook.call.headers["x-env"].reveal(), "prod");
    assert_eq!(hook.format, Format::Template("{{ alert }}".into()));
    assert_eq!((hook.send_resolved, hook.call.max_retries), (false, 0));
    assert_eq!(hook.call.timeout, Duration::from_secs(2));
    let shown = format!("{parsed:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("Bearer"), "{shown}");
}

#[test]
fn what_is_not_said_has_a_default() {
    let file = "actions:\n  notify_team: {url: 'http://x'}\n  throttle_requests: {}\n  \
                fallback_model: {to: small}\n  scale_up: {}\n  investigate: {}\n  am: {type: alertmanager, url: 'http://am:9093'}\n  \
                few: {type: throttle, to: 16, model: big}\n";
    let rules = parsed(file).rules;
    let action = |name: &str| rules.action(name).unwrap().action.clone();
    let Action::Webhook(hook) = action("notify_team") else { panic!() };
    assert_eq!((hook.format, hook.send_resolved), (Format::Alertmanager, true));
    assert_eq!((hook.call.timeout, hook.call.max_retries), (Duration::from_secs(10), 3));
    assert_eq!(action("throttle_requests"), Action::Throttle { model: None, to: ThrottleTo::Share(0.5) });
    assert_eq!(action("few"), Action::Throttle { model: Some("big".into()), to: ThrottleTo::Count(16) });
    assert_eq!(action("fallback_model"), Action::FallbackModel { to: "small".into(), model: None });
    assert_eq!(action("investigate"), Action::Investigate { exchanges: 10 });
    let Action::ScaleUp(scale) = action("scale_up") else { panic!() };
    assert_eq!((scale.call, scale.step, scale.max_replicas), (None, 1, None));
    assert_eq!(action("am").kind(), "alertmanager");
    let config = rules.action("investigate").unwrap();
    assert_eq!((config.dry_run, config.min_interval), (false, Duration::from_secs(300)));
}

#[test]
fn names_that_nothing_sets_up_are_remarked_once() {
    let parsed = parsed(
        "alerts:\n- {name: a, condition: rps > 5, action: [scale_up, hook]}\n\
         - {alert: b, condition: rps > 5, actions: scale_up}\n\
         actions:\n  hook: {type: webhook, url: 'http://x'}\n  spare: {type: investigate}\n",
    );
    let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["2:42: scale_up is not set up: it is only logged", "5:3: no rule uses the action spare"]
    );
    assert_eq!(parsed.rules.action("scale_up"), None);
}

#[test]
fn a_list_alone_is_a_file_and_so_is_nothing() {
    assert_eq!(parsed("- {name: a, condition: rps > 5}").rules.rules().len(), 1);
    for nothing in ["", "# nothing\n", "alerts:\n", "alerts: []\nactions: {}\n"] {
        assert_eq!(parsed(nothing), weir_analysis::alert::Parsed::default(), "{nothing:?}");
    }
}

#[test]
fn an_slo_that_is_not_there_is_told_with_its_place() {
    let rules =
        parsed("- {name: a, condition: 'burn_rate(tftt, 1h) > 2 and budget_remaining(e2e) < 5%'}").rules;
    let told: Vec<_> = rules.unknown_slos(&["ttft", "e2e"]).iter().map(ToString::to_string).collect();
    assert_eq!(told, ["1:24: a: there is no SLO \"tftt\"; did you mean \"ttft\"? (SLOs are ttft, e2e)"]);
}
