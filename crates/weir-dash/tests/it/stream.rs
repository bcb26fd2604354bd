//! Snapshots as they come.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use weir_analysis::buffering::{Buffering, Sign};
use weir_analysis::snapshot::Snapshot;

use crate::house::{ask, code, house, snapshot, status};

const SOON: Duration = Duration::from_secs(5);

/// One who looks on.
struct Viewer(BufReader<TcpStream>);

impl Viewer {
    async fn new(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /api/stream HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        Self(BufReader::new(stream))
    }

    /// The next line; `None` at the end of the connection.
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = timeout(SOON, self.0.read_line(&mut line)).await.unwrap().unwrap();
        (read > 0).then_some(line)
    }

    /// The next snapshot, with the id of its event.
    async fn snapshot(&mut self) -> Option<(u64, Snapshot)> {
        let mut id = None;
        loop {
            let line = self.line().await?;
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.trim().parse().unwrap());
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((id.unwrap(), serde_json::from_str(data).unwrap()));
            }
        }
    }
}

#[tokio::test]
async fn the_first_event_comes_at_once_and_each_new_snapshot_as_it_comes() {
    let house = house().await;
    let mut viewer = Viewer::new(house.address).await;
    let mut head = String::new();
    while let Some(line) = viewer.line().await.filter(|line| line != "\r\n") {
        head += &line;
    }
    assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
    assert!(head.contains("cache-control: no-store\r\n"), "{head}");
    assert_eq!(viewer.snapshot().await.unwrap(), (1, (*snapshot(1)).clone()));
    for at in [20, 30] {
        house.snapshot.send_replace(snapshot(at));
        assert_eq!(viewer.snapshot().await.unwrap(), (at, (*snapshot(at)).clone()));
    }
}

#[tokio::test]
async fn no_more_than_thirty_two_look_on() {
    let house = house().await;
    let mut viewers = Vec::new();
    for _ in 0..32 {
        let mut viewer = Viewer::new(house.address).await;
        viewer.snapshot().await.unwrap();
        viewers.push(viewer);
    }
    let answer = ask(house.address, "GET /api/stream").await;
    assert_eq!((status(&answer), code(&answer).as_str()), (503, "too_many_viewers"));
    assert_eq!(status(&ask(house.address, "GET /api/snapshot").await), 200);
    // All of them see the same one.
    house.snapshot.send_replace(snapshot(9));
    for viewer in &mut viewers {
        assert_eq!(viewer.snapshot().await.unwrap().0, 9);
    }
    // A place is free as soon as somebody leaves it.
    drop(viewers.pop());
    let mut late = None;
    for _ in 0..50 {
        let mut viewer = Viewer::new(house.address).await;
        if viewer.line().await.unwrap().contains(" 200 ") {
            late = Some(viewer);
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(late.unwrap().snapshot().await.unwrap().0, 9);
}

#[tokio::test]
async fn a_slow_viewer_skips_snapshots() {
    let house = house().await;
    let mut slow = Viewer::new(house.address).await;
    let mut quick = Viewer::new(house.address).await;
    slow.snapshot().await.unwrap();
    quick.snapshot().await.unwrap();
    // More than all buffers between hold. The quick one paces it: it sees every one.
    let wide = |at| {
        let mut wide = (*snapshot(at)).clone();
        wide.buffering.push(Buffering {
            upstream: "x".repeat(1 << 20),
            hop: "upstream".into(),
            sign: Sign::AtOnce,
            streams: 5,
            held_back: 5,
            text: String::new(),
            remedy: String::new(),
        });
        Arc::new(wide)
    };
    let last = 65;
    for at in 2..=last {
        house.snapshot.send_replace(wide(at));
        assert_eq!(quick.snapshot().await.unwrap().0, at);
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        seen.push(slow.snapshot().await.unwrap().0);
    }
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    assert!(seen.len() < 60, "{seen:?}");
}

#[tokio::test]
async fn stopping_ends_a_stream_cleanly() {
    let house = house().await;
    let mut viewer = Viewer::new(house.address).await;
    let mut deaf = Viewer::new(house.address).await;
    viewer.snapshot().await.unwrap();
    deaf.snapshot().await.unwrap();
    house.stop.cancel();
    house.tracker.close();
    let mut rest = String::new();
    timeout(SOON, viewer.0.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "{rest:?}");
    timeout(SOON, house.tracker.wait()).await.unwrap();
}

#[tokio::test]
async fn a_stream_ends_with_its_snapshots() {
    let house = house().await;
    let mut viewer = Viewer::new(house.address).await;
    viewer.snapshot().await.unwrap();
    drop(house.snapshot);
    let ended = async { while viewer.line().await.unwrap() != "0\r\n" {} };
    timeout(SOON, ended).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_comment_comes_every_fifteen_seconds_and_after_five_minutes_the_end() {
    let house = house().await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream.write_all(b"GET /api/stream HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    // The one at the very end may come or not.
    assert!((19..=20).contains(&all.matches("\r\n:\n\n\r\n").count()), "{all}");
    assert_eq!(all.matches("event: snapshot\n").count(), 1);
    assert!(all.ends_with("\r\n0\r\n\r\n"), "{all:?}");
}

#[tokio::test]
async fn who_asks_for_the_head_only_takes_no_place_for_long() {
    let house = house().await;
    for _ in 0..40 {
        let answer = ask(house.address, "HEAD /api/stream").await;
        assert!(answer.contains("text/event-stream"), "{answer}");
        tokio::task::yield_now().await;
    }
}
