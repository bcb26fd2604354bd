//! What can be asked of the API.

use std::time::Duration;

use serde_json::{Value, json as value};
use tokio::time::Instant;
use weir_analysis::api::{ExchangeFilter, ExchangeSummary, RequestSummary, Timings, TokenSummary, Waypoint};
use weir_analysis::snapshot::Snapshot;
use weir_analysis::time::Moment;
use weir_core::outcome::Outcome;
use weir_core::timeline::Offset;

use crate::house::{ask, body, code, house, json, snapshot, status};

fn summary(request_id: &str) -> ExchangeSummary {
    ExchangeSummary {
        request_id: request_id.into(),
        trace_id: None,
        at: Moment(5),
        request: RequestSummary {
            model: Some("m".into()),
            upstream: "default".into(),
            path: "/v1/chat/completions".into(),
            dialect: "openai_chat".into(),
            stream: true,
        },
        status: Some(200),
        outcome: "completed".into(),
        error_type: None,
        tokens: TokenSummary { input: Some(1), output: None, output_provenance: None, cached_input: None },
        timings: Timings {
            queue_wait_s: None,
            ttft_s: Some(0.5),
            upstream_ttft_s: None,
            tpot_s: None,
            tps: None,
            e2e_s: None,
            duration_s: 1.5,
        },
        flow: None,
        cost_usd: None,
        waterfall: vec![Waypoint { mark: "received".into(), at_s: 0.0 }],
    }
}

#[tokio::test]
async fn the_snapshot_is_the_newest() {
    let house = house().await;
    let seen: Snapshot =
        serde_json::from_value(json(&ask(house.address, "GET /api/snapshot").await)).unwrap();
    assert_eq!(seen, *snapshot(1));
    house.snapshot.send_replace(snapshot(17));
    let answer = ask(house.address, "GET /api/snapshot").await;
    assert_eq!(serde_json::from_value::<Snapshot>(json(&answer)).unwrap(), *snapshot(17));
    assert!(answer.contains("x-content-type-options: nosniff\r\n"), "{answer}");
    let head = ask(house.address, "HEAD /api/snapshot").await;
    assert_eq!((status(&head), body(&head)), (200, ""));
}

#[tokio::test]
async fn parts_of_the_snapshot_are_had_alone() {
    let house = house().await;
    house.snapshot.send_replace(snapshot(17));
    let in_flight = json(&ask(house.address, "GET /api/inflight").await);
    assert_eq!((&in_flight["at"], &in_flight["in_flight"]["decode"]), (&value!(17), &value!(0)));
    assert_eq!(in_flight["in_flight"]["no_progress_s"], Value::Null);
    for path in ["slo", "alerts"] {
        assert_eq!(json(&ask(house.address, &format!("GET /api/{path}")).await)["at"], 17);
    }
    let schema = json(&ask(house.address, "GET /api/schema").await);
    assert_eq!(schema["title"], "Snapshot");
}

#[tokio::test]
async fn exchanges_are_asked_for_and_handed_on() {
    let mut house = house().await;
    house.snapshot.send_replace(snapshot(3_600_000_000_000));
    let line = "GET /api/exchanges?model=a%2Fb&outcome=completed&min_ttft_ms=250&since=1m&limit=2";
    let (answer, asked) = tokio::join!(ask(house.address, line), async {
        let (filter, reply) = house.exchanges.recv().await.unwrap();
        reply.send(vec![summary("new"), summary("old")]).unwrap();
        filter
    });
    let expected = ExchangeFilter {
        model: Some("a/b".into()),
        outcome: Some(Outcome::Completed),
        min_ttft: Some(Offset(250_000_000)),
        since: Some(Moment(3_540_000_000_000)),
        limit: 2,
        ..ExchangeFilter::default()
    };
    assert_eq!(asked, expected);
    let exchanges: Vec<ExchangeSummary> = serde_json::from_value(json(&answer)["exchanges"].clone()).unwrap();
    assert_eq!(exchanges, [summary("new"), summary("old")]);
}

#[tokio::test]
async fn hostile_queries_are_told_what_is_known() {
    let mut house = house().await;
    let many = "limit=1&".repeat(33);
    for (query, expected) in [
        ("modell=x", "unknown_parameter"),
        ("=", "unknown_parameter"),
        ("%00=%ff", "unknown_parameter"),
        ("model[]=x", "unknown_parameter"),
        ("limit=-1", "invalid_parameter"),
        ("limit=1e3", "invalid_parameter"),
        ("limit=99999999999999999999", "invalid_parameter"),
        ("outcome=%3Cscript%3E", "invalid_parameter"),
        ("min_e2e_ms=inf", "invalid_parameter"),
        ("since=99999999999999999999999", "invalid_parameter"),
        ("limit=1&limit=2", "invalid_parameter"),
        (many.as_str(), "invalid_parameter"),
    ] {
        let answer = ask(house.address, &format!("GET /api/exchanges?{query}")).await;
        assert_eq!((status(&answer), code(&answer).as_str()), (400, expected), "{query}");
    }
    let answer = ask(house.address, "GET /api/exchanges?modell=x").await;
    let known =
        "there are model, upstream, outcome, error_type, min_ttft_ms, min_e2e_ms, since, request_id, limit";
    assert!(body(&answer).contains(known), "{answer}");
    assert!(house.exchanges.try_recv().is_err(), "nobody is asked what is wrong");
}

#[tokio::test]
async fn nobody_answers_within_two_seconds_and_nobody_there_at_once() {
    let mut house = house().await;
    let begun = Instant::now();
    // Some of these are in the channel, the others wait for room in it.
    let asked: Vec<_> =
        (0..8).map(|_| house.tracker.spawn(ask(house.address, "GET /api/exchanges"))).collect();
    for answer in asked {
        let answer = answer.await.unwrap();
        assert_eq!((status(&answer), code(&answer).as_str()), (503, "no_answer"), "{answer}");
    }
    let taken = begun.elapsed();
    assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&taken), "{taken:?}");
    // What needs nobody's answer is there.
    assert_eq!(status(&ask(house.address, "GET /api/snapshot").await), 200);
    house.exchanges.close();
    let begun = Instant::now();
    assert_eq!(status(&ask(house.address, "GET /api/exchanges").await), 503);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn paths_and_methods_that_are_not_there_are_told_so() {
    let house = house().await;
    for path in
        ["/api", "/api/", "/api/none", "/api/snapshot/", "/api/Snapshot", "/api//snapshot", "/api/alerts/x"]
    {
        let answer = ask(house.address, &format!("GET {path}")).await;
        assert_eq!((status(&answer), code(&answer).as_str()), (404, "not_found"), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = ask(house.address, &format!("{method} /api/snapshot")).await;
        assert_eq!((status(&answer), code(&answer).as_str()), (405, "method_not_allowed"), "{method}");
        assert!(answer.contains("allow: GET, HEAD\r\n"), "{answer}");
    }
    let answer = ask(house.address, "GET /api/alerts/slow/silence").await;
    assert!(status(&answer) == 405 && answer.contains("allow: POST\r\n"), "{answer}");
    assert_eq!(status(&ask(house.address, "GET /apis").await), 404);
}

/// Regenerate the file with `WEIR_WRITE_SCHEMA=1 cargo test -p weir-dash schema`.
#[tokio::test]
async fn the_schema_that_is_documented_is_the_one_there_is() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/snapshot.schema.json");
    if std::env::var_os("WEIR_WRITE_SCHEMA").is_some() {
        std::fs::write(file, weir_dash::snapshot_schema()).unwrap();
    }
    let documented: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let there_is: Value = serde_json::from_str(&weir_dash::snapshot_schema()).unwrap();
    assert!(documented == there_is, "regenerate: WEIR_WRITE_SCHEMA=1 cargo test -p weir-dash schema");
}
