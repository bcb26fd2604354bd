//! A whole Weir, in which an alert fires, and which is started again.

use std::fs;
use std::path::Path;

use weir_analysis::alert::Rules;

use super::receiver::Receiver;
use super::{LIMIT, rules};
use crate::config::{self, Overrides};
use crate::serve::Weir;

async fn weir(rules: &Rules, state_dir: &Path) -> Weir {
    let local = Some("127.0.0.1:0".to_owned());
    let overrides = Overrides {
        upstream: Some("http://127.0.0.1:9".to_owned()),
        listen: local.clone(),
        admin: local,
        ..Overrides::default()
    };
    let mut settings = config::load(None, &overrides).unwrap().settings;
    settings.telemetry.observatory.rules = rules.clone();
    settings.telemetry.state_dir = Some(state_dir.to_owned());
    Weir::start(settings, |exchanges| exchanges).await.map_err(|error| error.to_string()).unwrap()
}

#[tokio::test]
async fn an_alert_has_its_actions_carried_out_and_what_lasts_of_them_again_after_a_restart() {
    let (receiver, dir) = (Receiver::start().await, tempfile::tempdir().unwrap());
    let rules = rules(&format!(
        r#"
alerts: [{{name: idle, condition: "in_flight < 1", action: [hook, throttle_requests, investigate]}}]
actions: {{hook: {{type: webhook, url: "{}"}}, throttle_requests: {{to: 3}}, investigate: {{}}}}
"#,
        receiver.url
    ));
    let throttled = |weir: &Weir| weir.regulator.release("idle/throttle_requests");

    let first = weir(&rules, dir.path()).await;
    let came = receiver.until(1).await;
    assert_eq!(came[0].body["alerts"][0]["labels"]["alertname"], "idle");
    assert_eq!(throttled(&first), ["global: 3 to no limit"]);
    assert!(tokio::time::timeout(LIMIT, first.shut_down()).await.unwrap());
    let bundles = || fs::read_dir(dir.path().join("bundles")).unwrap().count();
    assert_eq!(bundles(), 1);

    let second = weir(&rules, dir.path()).await;
    let again = tokio::time::timeout(LIMIT, async {
        loop {
            let changes = throttled(&second);
            if !changes.is_empty() {
                break changes;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    assert_eq!(again.await.unwrap(), ["global: 3 to no limit"]);
    assert!(tokio::time::timeout(LIMIT, second.shut_down()).await.unwrap());
    assert_eq!((receiver.came().len(), bundles()), (1, 1));
}
