//! Commands to alerts.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use weir_analysis::api::{AlertCommand, CommandError};

use crate::house::{House, body, code, house, post, status};

/// Gives a command and answers it.
async fn give(
    house: &mut House,
    path: &str,
    text: &str,
    result: Result<(), CommandError>,
) -> (String, AlertCommand) {
    tokio::join!(post(house.address, path, text), async {
        let (command, reply) = house.alerts.recv().await.unwrap();
        reply.send(result).unwrap();
        command
    })
}

#[tokio::test]
async fn commands_are_read_and_carried_out() {
    let mut house = house().await;
    let silence = |alert: &str, seconds| AlertCommand::Silence {
        alert: alert.into(),
        length: Duration::from_millis(seconds),
    };
    let note = "x".repeat(1_024);
    for (path, text, expected) in [
        ("slow/silence", r#"{"for": "2h"}"#.to_owned(), silence("slow", 7_200_000)),
        ("slow/silence", r#"{"for": 1.5}"#.to_owned(), silence("slow", 1_500)),
        ("slow/silence", r#"{"for": "30d"}"#.to_owned(), silence("slow", 2_592_000_000)),
        ("a%20b%2Fc/silence", r#"{"for": 60}"#.to_owned(), silence("a b/c", 60_000)),
        ("slow/unsilence", String::new(), AlertCommand::Unsilence { alert: "slow".into() }),
        ("slow/unsilence", "{}".to_owned(), AlertCommand::Unsilence { alert: "slow".into() }),
        (
            "slow/acknowledge",
            format!(r#"{{"note": "{note}"}}"#),
            AlertCommand::Acknowledge { alert: "slow".into(), note },
        ),
        (
            "slow/acknowledge",
            String::new(),
            AlertCommand::Acknowledge { alert: "slow".into(), note: String::new() },
        ),
    ] {
        let (answer, command) = give(&mut house, &format!("/api/alerts/{path}"), &text, Ok(())).await;
        assert_eq!((status(&answer), body(&answer)), (204, ""), "{path}");
        assert_eq!(command, expected);
    }
}

#[tokio::test]
async fn what_cannot_be_carried_out_is_said() {
    let mut house = house().await;
    for (error, expected) in
        [(CommandError::UnknownAlert, (404, "unknown_alert")), (CommandError::NotFiring, (409, "not_firing"))]
    {
        let (answer, _) = give(&mut house, "/api/alerts/x/acknowledge", "{}", Err(error)).await;
        assert_eq!((status(&answer), code(&answer).as_str()), expected);
    }
    let begun = Instant::now();
    let answer = post(house.address, "/api/alerts/x/unsilence", "{}").await;
    assert_eq!((status(&answer), code(&answer).as_str()), (503, "no_answer"));
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn bodies_that_do_not_say_what_they_should_are_refused() {
    let mut house = house().await;
    let long = format!(r#"{{"note": "{}"}}"#, "x".repeat(1_025));
    for (what, text) in [
        ("silence", ""),
        ("silence", "{}"),
        ("silence", r#"{"for": ""}"#),
        ("silence", r#"{"for": "0s"}"#),
        ("silence", r#"{"for": -1}"#),
        ("silence", r#"{"for": 1e300}"#),
        ("silence", r#"{"for": "30d 1s"}"#),
        ("silence", r#"{"for": "two hours"}"#),
        ("silence", r#"{"for": null}"#),
        ("silence", r#"{"for": "2h", "until": 1}"#),
        ("silence", r#"{"for": "2h""#),
        ("unsilence", "[]x"),
        ("unsilence", r#"{"for": "2h"}"#),
        ("acknowledge", r#"{"note": 1}"#),
        ("acknowledge", &long),
        ("acknowledge", "\u{0}"),
    ] {
        let answer = post(house.address, &format!("/api/alerts/slow/{what}"), text).await;
        assert_eq!((status(&answer), code(&answer).as_str()), (400, "invalid_body"), "{what} {text}");
    }
    for path in ["slow/delete", "/silence", "%ff/silence", "slow/silence/", "slow/x/silence"] {
        let answer = post(house.address, &format!("/api/alerts/{path}"), "{}").await;
        assert_eq!((status(&answer), code(&answer).as_str()), (404, "not_found"), "{path}");
    }
    let name = "x".repeat(257);
    assert_eq!(status(&post(house.address, &format!("/api/alerts/{name}/silence"), "{}").await), 404);
    assert!(house.alerts.try_recv().is_err(), "nobody is told what is wrong");
}

#[tokio::test]
async fn a_long_body_and_one_that_never_comes_are_refused() {
    let house = house().await;
    let text = format!(r#"{{"note": "{}"}}"#, "x".repeat(16 * 1024));
    let answer = post(house.address, "/api/alerts/slow/acknowledge", &text).await;
    assert_eq!((status(&answer), code(&answer).as_str()), (413, "body_too_large"));
    let mut late = TcpStream::connect(house.address).await.unwrap();
    let head = "POST /api/alerts/slow/unsilence HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        connection: close\r\ncontent-length: 9\r\n\r\n{";
    late.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(Duration::from_secs(8), late.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!((status(&answer), code(&answer).as_str()), (408, "body_timeout"));
}
