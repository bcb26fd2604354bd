//! The targets of notifications, out of the actions of a file.

use http::{HeaderMap, HeaderName, HeaderValue};
use weir_analysis::alert::Rules;
use weir_analysis::alert::action::{self, Action, CallConfig};
use weir_telemetry::notify::{Format, Secret, Target};

/// A target for each action that calls somebody, by the action's name. One that could never be called is
/// left out, and logged: whoever uses it is told that it failed.
pub(super) fn targets(rules: &Rules) -> Vec<Target> {
    let mut targets = Vec::new();
    // An action of which only the log speaks calls nobody.
    for (name, config) in rules.actions().iter().filter(|(_, config)| !config.dry_run) {
        match target(name, &config.action).map(|target| target.check().map(|()| target)) {
            Some(Ok(target)) => targets.push(target),
            Some(Err(error)) => tracing::error!(action = %name, %error, "an action cannot be carried out"),
            None => {}
        }
    }
    targets
}

fn target(name: &str, action: &Action) -> Option<Target> {
    let (call, format, send_resolved) = match action {
        Action::Webhook(config) => (&config.call, format(&config.format), config.send_resolved),
        Action::AlertmanagerPush(config) => (&config.call, Format::AlertmanagerPush, true),
        // A scaler is told what to reach; that it is enough again it sees from the figure.
        Action::ScaleUp(config) => (config.call.as_ref()?, format(&config.format), false),
        Action::Throttle { .. } | Action::FallbackModel { .. } | Action::Investigate { .. } => return None,
    };
    Some(Target {
        name: name.into(),
        url: call.url.reveal().to_owned(),
        format,
        secret: call.secret.as_ref().map(|secret| Secret::new(secret.reveal())),
        headers: headers(name, call),
        timeout: call.timeout,
        max_retries: call.max_retries,
        send_resolved,
    })
}

fn format(format: &action::Format) -> Format {
    match format {
        action::Format::Alertmanager => Format::AlertmanagerWebhook,
        action::Format::Slack => Format::Slack,
        action::Format::Template(text) => Format::Template(text.to_string()),
    }
}

fn headers(action: &str, call: &CallConfig) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &call.headers {
        match (HeaderName::try_from(&**name), HeaderValue::try_from(value.reveal())) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
            _ => tracing::error!(%action, header = %name, "a header cannot be sent, and is left out"),
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_analysis::alert::Rules;
    use weir_telemetry::notify::{Format, Secret};

    use super::targets;

    const FILE: &str = r#"
alerts:
  - {name: slow, condition: "p95_ttft > 2s", action: [hook, push, more, quiet, never, throttle_requests]}
actions:
  hook: {type: webhook, url: "http://h.example/${KEY}", format: slack, secret: "${KEY}", headers: {X-Api-Key: "${KEY}", x-team: ops}, send_resolved: false, timeout: 3s, max_retries: 1}
  push: {type: alertmanager, url: "http://am.example/base"}
  more: {type: scale_up, url: "http://s.example/", format: template, template: "{{ alert }}"}
  wish: {type: scale_up}
  quiet: {type: webhook, url: "http://q.example/", dry_run: true}
  never: {type: webhook, url: "http://n.example/", format: template, template: "{{ alert"}
  throttle_requests: {}
"#;

    #[test]
    fn each_action_that_calls_somebody_is_a_target_with_what_it_needs() {
        let rules = Rules::parse(FILE, &|_| Some("k3y".to_owned())).unwrap().rules;
        let targets = targets(&rules);
        let names: Vec<&str> = targets.iter().map(|target| &*target.name).collect();
        assert_eq!(names, ["hook", "more", "push"]);
        let [hook, more, push] = &targets[..] else { panic!() };
        assert_eq!((&*hook.url, &hook.format), ("http://h.example/k3y", &Format::Slack));
        assert_eq!(hook.secret, Some(Secret::new("k3y")));
        assert_eq!((hook.timeout, hook.max_retries, hook.send_resolved), (Duration::from_secs(3), 1, false));
        assert_eq!(hook.headers["x-api-key"], "k3y");
        assert_eq!(hook.headers["x-team"], "ops");
        assert!(hook.headers["x-api-key"].is_sensitive());
        assert_eq!((&more.format, more.send_resolved), (&Format::Template("{{ alert }}".into()), false));
        assert_eq!((&push.format, push.send_resolved), (&Format::AlertmanagerPush, true));
        assert!(!format!("{targets:?}").contains("k3y"));
    }
}
