//! Alerts in the pipeline: they are judged with each tick, told on, and outlive a restart.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use weir_analysis::alert::{AlertState, Cause, Rules};
use weir_analysis::api::{AlertCommand, CommandError};
use weir_core::outcome::{ErrorType, Outcome};
use weir_telemetry::{AlertNews, TelemetryConfig};

use crate::sut::{Sut, stream};

fn rules(condition: &str) -> Rules {
    let text = format!("- {{name: errors, condition: '{condition}', action: notify_team}}");
    Rules::parse(&text, &|_| None).unwrap().rules
}

fn config(dir: &std::path::Path) -> TelemetryConfig {
    let mut config = TelemetryConfig { state_dir: Some(dir.to_owned()), ..TelemetryConfig::default() };
    config.observatory.rules = rules("error_rate > 50%");
    config
}

async fn news(sut: &mut Sut) -> AlertNews {
    timeout(Duration::from_secs(20), sut.news.recv()).await.unwrap().unwrap()
}

async fn standing(sut: &mut Sut) -> AlertState {
    let AlertNews::Standing(alerts) = news(sut).await else { panic!("where they stand comes first") };
    alerts[0].state
}

async fn command(sut: &Sut, command: AlertCommand) -> Result<(), CommandError> {
    let (reply, done) = oneshot::channel();
    sut.commands.send((command, reply)).await.unwrap();
    done.await.unwrap()
}

#[tokio::test]
async fn an_alert_fires_outlives_a_restart_and_ends_with_its_rule() {
    let dir = tempfile::tempdir().unwrap();
    let mut sut = Sut::start(config(dir.path()));
    assert_eq!(standing(&mut sut).await, AlertState::Inactive);
    let acknowledge = || AlertCommand::Acknowledge { alert: "errors".into(), note: "mine".into() };
    assert_eq!(command(&sut, acknowledge()).await, Err(CommandError::NotFiring));
    let mut failed = stream(1, "m");
    (failed.outcome, failed.error_type) = (Outcome::StreamError, Some(ErrorType::StreamError));
    sut.send(failed).await;
    let AlertNews::Changed(changed) = news(&mut sut).await else { panic!("it fires") };
    assert_eq!((&*changed[0].alert, changed[0].to), ("errors", AlertState::Firing));
    assert_eq!(changed[0].reading.as_ref().unwrap().value, Some(1.0));
    assert_eq!(command(&sut, acknowledge()).await, Ok(()));
    let snapshot = sut.snapshot.borrow().clone();
    assert_eq!(&*snapshot.alerts[0].handling.acknowledged.as_ref().unwrap().note, "mine");
    assert_eq!(snapshot.landmarks[0].event, "alert_firing");
    assert!(sut.text().await.lines().any(|line| line.starts_with("weir_state_rows ")));
    sut.shutdown().await;

    let mut sut = Sut::start(config(dir.path()));
    assert_eq!(standing(&mut sut).await, AlertState::Firing);
    sut.rules.send(rules("error_rate > 90%")).await.unwrap();
    let AlertNews::Replaced(replaced, ended) = news(&mut sut).await else { panic!("it ends") };
    assert_eq!(*replaced, rules("error_rate > 90%"));
    assert_eq!((ended[0].from, ended[0].cause), (AlertState::Firing, Cause::RuleGone));
    sut.shutdown().await;
}

#[tokio::test]
async fn a_silence_is_for_alerts_that_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut sut = Sut::start(config(dir.path()));
    standing(&mut sut).await;
    let silence =
        |alert: &str| AlertCommand::Silence { alert: alert.into(), length: Duration::from_secs(60) };
    assert_eq!(command(&sut, silence("other")).await, Err(CommandError::UnknownAlert));
    assert_eq!(command(&sut, silence("errors")).await, Ok(()));
    assert!(sut.snapshot.borrow().alerts[0].handling.silenced_until.is_some());
    assert_eq!(command(&sut, AlertCommand::Unsilence { alert: "errors".into() }).await, Ok(()));
    assert_eq!(sut.snapshot.borrow().alerts[0].handling.silenced_until, None);
    sut.shutdown().await;
}
