//! The pages for scrapers and probes, and the listener itself.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use weir_core::page::PageFormat;

use crate::house::{ask, body, house};

#[tokio::test]
async fn a_page_is_asked_for_and_handed_on() {
    let mut house = house().await;
    let asked = tokio::join!(ask(house.address, "GET /metrics?x=1"), async {
        house.pages.recv().await.unwrap().1.send("weir_up 1\n".repeat(50_000)).unwrap();
    });
    let answer = asked.0;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{}", &answer[..200]);
    assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert_eq!(body(&answer), "weir_up 1\n".repeat(50_000));
}

#[tokio::test]
async fn whoever_prefers_openmetrics_gets_it() {
    let mut house = house().await;
    let line =
        "GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\nx:";
    let asked = tokio::join!(ask(house.address, line), async {
        let (format, page) = house.pages.recv().await.unwrap();
        page.send("# EOF\n".into()).unwrap();
        format
    });
    assert_eq!(asked.1, PageFormat::OpenMetrics);
    let media = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(asked.0.contains(media), "{}", asked.0);
}

#[tokio::test]
async fn health_and_readiness_are_two_things() {
    let house = house().await;
    let answer = ask(house.address, "GET /readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    house.ready.send(false).unwrap();
    let answer = ask(house.address, "GET /readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(body(&answer), "draining\n");
    let answer = ask(house.address, "GET /healthz").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(body(&answer), "ok\n");
}

#[tokio::test]
async fn methods_and_paths_that_are_not_there_are_told_so() {
    let house = house().await;
    let answer = ask(house.address, "HEAD /healthz").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("content-length: 3\r\n"), "{answer}");
    assert_eq!(body(&answer), "");
    for method in ["POST", "DELETE", "OPTIONS"] {
        let answer = ask(house.address, &format!("{method} /metrics")).await;
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
        assert!(answer.contains("allow: GET, HEAD\r\n"), "{answer}");
    }
    for path in ["/", "/metrics/", "/v1/models", "//metrics"] {
        let answer = ask(house.address, &format!("GET {path}")).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    }
}

#[tokio::test]
async fn a_slow_pipeline_does_not_hang_a_scrape() {
    let mut house = house().await;
    let begun = Instant::now();
    // Nobody answers: some of these are in the channel, the others wait for room in it.
    let scrapes: Vec<_> = (0..8).map(|_| house.tracker.spawn(ask(house.address, "GET /metrics"))).collect();
    for scrape in scrapes {
        let answer = scrape.await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
    let taken = begun.elapsed();
    assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&taken), "{taken:?}");
    // Health does not depend on it, and a pipeline that is gone answers at once.
    assert!(ask(house.address, "GET /healthz").await.starts_with("HTTP/1.1 200 "));
    house.pages.close();
    let begun = Instant::now();
    assert!(ask(house.address, "GET /metrics").await.starts_with("HTTP/1.1 503 "));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_and_are_served() {
    let house = house().await;
    let mut idle = Vec::new();
    for _ in 0..64 {
        idle.push(TcpStream::connect(house.address).await.unwrap());
    }
    let mut late = Box::pin(ask(house.address, "GET /healthz"));
    assert!(timeout(Duration::from_millis(300), &mut late).await.is_err());
    idle.clear();
    let answer = timeout(Duration::from_secs(5), late).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn stopping_waits_for_the_request_at_hand_and_not_for_idle_connections() {
    let mut house = house().await;
    let idle = TcpStream::connect(house.address).await.unwrap();
    let scrape = house.tracker.spawn(ask(house.address, "GET /metrics"));
    let (_, page) = house.pages.recv().await.unwrap();
    house.stop.cancel();
    house.tracker.close();
    tokio::time::sleep(Duration::from_millis(50)).await;
    page.send("last\n".into()).unwrap();
    assert_eq!(body(&scrape.await.unwrap()), "last\n");
    timeout(Duration::from_secs(2), house.tracker.wait()).await.unwrap();
    assert!(TcpStream::connect(house.address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_client_that_never_reads() {
    let mut house = house().await;
    let mut deaf = TcpStream::connect(house.address).await.unwrap();
    deaf.write_all(b"GET /metrics HTTP/1.1\r\nhost: weir\r\n\r\n").await.unwrap();
    let (_, page) = house.pages.recv().await.unwrap();
    page.send("x".repeat(64 << 20)).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    house.stop.cancel();
    house.tracker.close();
    timeout(Duration::from_secs(5), house.tracker.wait()).await.unwrap();
}
