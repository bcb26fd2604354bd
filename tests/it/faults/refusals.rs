//! Answers that Weir makes up because none could be had.

use std::time::Duration;

use weir_core::timeline::Mark;

use crate::harness::play::verdict;
use crate::harness::{Rig, Upstream, Wire};

/// Reads one of Weir's own answers: OpenAI's error shape, and a header that says whose it is.
async fn own_answer(client: &mut Wire, status: u16, class: &str) {
    let answer = client.response().await;
    assert_eq!(answer.status(), status);
    assert_eq!(answer.head.header("weir-error"), Some(class));
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    let body = answer.json();
    let error = body["error"].as_object().expect("an error object");
    let mut keys: Vec<_> = error.keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["code", "message", "param", "type"]);
    assert_eq!((&error["code"], &error["param"]), (&class.into(), &serde_json::Value::Null));
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
}

#[tokio::test]
async fn an_upstream_that_closes_before_it_answers() {
    for said in ["", "HTTP/1.1 200 OK\r\nContent-", "this is not HTTP\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n"] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        client.ask(r#"{"model":"m","stream":true}"#).await;
        let (mut engine, _) = upstream.asked().await;
        engine.send(said).await;
        drop(engine);
        own_answer(&mut client, 502, "upstream_reset").await;
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("upstream_unreachable", Some("upstream_reset")), "{said:?}");
        assert_eq!((record.status, record.timeline.at(Mark::ResponseHead)), (Some(502), None));
        assert!(record.timeline.at(Mark::Dispatched).is_some());
        assert!(upstream.is_untouched().await, "what may have been processed is not sent again");
        // The client's connection is still of use.
        client.ask("{}").await;
        upstream.asked().await;
    }
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_in_time() {
    let (mut rig, upstream) =
        Rig::with(|setup| setup.config.timeouts.response_head = Duration::from_millis(50)).await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m"}"#).await;
    let (mut engine, _) = upstream.asked().await;
    own_answer(&mut client, 504, "upstream_timeout_headers").await;
    engine.closed().await;
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("timeout", Some("upstream_timeout_headers")));
    let waited = record.timeline.between(Mark::Dispatched, Mark::Ended).unwrap().as_duration();
    assert!(waited >= Duration::from_millis(50));
}

#[tokio::test]
async fn an_upstream_that_is_not_there() {
    let gone = Upstream::bind().await;
    let address = gone.address();
    drop(gone);
    let mut rig = Rig::towards(address, |_| {});
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m"}"#).await;
    own_answer(&mut client, 502, "upstream_connect").await;
    let record = rig.record().await;
    assert_eq!(verdict(&record), ("upstream_unreachable", Some("upstream_connect")));
    assert_eq!((record.status, record.timeline.at(Mark::Connected)), (Some(502), None));
    assert!(record.timeline.at(Mark::Admitted).is_some());
    assert_eq!(rig.tally.upstream_connect_errors.load(std::sync::atomic::Ordering::Relaxed), 1);
}

/// A listener whose backlog is full answers no further connection.
#[tokio::test]
async fn an_upstream_that_does_not_accept_in_time() {
    use socket2::{Domain, Socket, Type};

    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = ([127, 0, 0, 1], 0).into();
    socket.bind(&any.into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut filling = Vec::new();
    loop {
        let connected =
            tokio::time::timeout(Duration::from_millis(200), tokio::net::TcpStream::connect(address)).await;
        match connected {
            Ok(connection) => filling.push(connection.unwrap()),
            Err(_) => break,
        }
        assert!(filling.len() < 64, "the backlog never fills");
    }
    let mut rig = Rig::towards(address, |setup| setup.config.timeouts.connect = Duration::from_millis(50));
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m"}"#).await;
    own_answer(&mut client, 504, "upstream_connect").await;
    assert_eq!(verdict(&rig.record().await), ("upstream_unreachable", Some("upstream_connect")));
}

#[tokio::test]
async fn an_upgrade_that_nobody_asked_for() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask(r#"{"model":"m"}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n").await;
    own_answer(&mut client, 502, "upstream_reset").await;
    assert_eq!(verdict(&rig.record().await), ("upstream_unreachable", Some("upstream_reset")));
}

/// No error status is asked for again.
#[tokio::test]
async fn an_error_is_the_answer_and_not_a_reason_to_ask_again() {
    let (rig, upstream) = Rig::start().await;
    let served = upstream.serve(|asked| {
        let status = asked.head.target().rsplit('=').next().unwrap().to_owned();
        crate::harness::response(&format!("{status} X"), "Retry-After: 0\r\n", "{}").into()
    });
    let mut client = rig.client().await;
    let statuses = [400, 401, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529];
    for status in statuses {
        let line = format!("POST /v1/chat/completions?s={status}");
        client.send(crate::harness::request(&line, "", "{}")).await;
        assert_eq!(client.response().await.status(), status);
    }
    assert_eq!(served.requests(), statuses.len());
}
