//! Damaged requests: relayed once, refused or cut off, and never taken for two.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::harness::{Rig, chunk, response, until};

const CASES: u32 = 120;

/// What is done to the bytes of a request.
#[derive(Clone, Debug)]
enum Harm {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let odd = prop::sample::select(vec![
        &b"\r"[..],
        b"\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\0",
        b" ",
        b"\t",
        b":",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 3\r\n",
        b"0\r\n\r\n",
        b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
    ]);
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Harm::Flip(at, byte)),
        (any::<prop::sample::Index>(), odd).prop_map(|(at, bytes)| Harm::Insert(at, bytes.to_vec())),
        (any::<prop::sample::Index>(), 1_usize..6).prop_map(|(at, count)| Harm::Remove(at, count)),
    ]
}

impl Harm {
    fn to(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Flip(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] ^= byte;
            }
            Self::Insert(at, odd) => {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, odd.iter().copied());
            }
            Self::Remove(at, count) => {
                let at = at.index(bytes.len());
                bytes.drain(at..bytes.len().min(at + count));
            }
        }
    }
}

/// A request with a length, and one in chunks.
fn whole(chunked: bool) -> Vec<u8> {
    let head = "POST /v1/files HTTP/1.1\r\nHost: weir.test\r\nX-Note: a b\r\n";
    if chunked {
        let mut bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        bytes.extend_from_slice(&chunk("{\"a\":1}"));
        bytes.extend_from_slice(&chunk("GET /inside HTTP/1.1\r\n\r\n"));
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    } else {
        format!("{head}Content-Length: 24\r\n\r\nGET /inside HTTP/1.1\r\n\r\n").into_bytes()
    }
}

async fn is_harmless(chunked: bool, harms: &[Harm]) {
    let (rig, upstream) = Rig::with(|setup| {
        setup.config.listen.head_timeout = Duration::from_millis(60);
        setup.config.listen.body_timeout = Duration::from_millis(60);
        setup.config.timeouts.response_head = Duration::from_millis(120);
    })
    .await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let _served = upstream.serve(move |request| {
        seen.lock().unwrap().push(request.head.line.clone());
        response("200 OK", "", "{}").into()
    });
    let mut bytes = whole(chunked);
    harms.iter().for_each(|harm| harm.to(&mut bytes));
    let mut client = rig.client().await;
    // The proxy may close as soon as it has seen enough.
    let _ = client.try_send(&bytes).await;
    while client.more().await {}
    // What the client was told is one answer, or none; each that was relayed was seen by the upstream.
    let answers: Vec<&[u8]> =
        client.raw.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"HTTP/1.1 ")).collect();
    let relayed = answers.iter().filter(|line| line.starts_with(b"HTTP/1.1 200")).count();
    let lines = asked.lock().unwrap().clone();
    assert!(lines.len() <= 2, "{lines:?}");
    assert!(relayed <= lines.len(), "{relayed} of {lines:?}");
    let inserted =
        harms.iter().any(|harm| matches!(harm, Harm::Insert(_, odd) if odd.starts_with(b"GET /smuggled")));
    if !inserted {
        assert!(!lines.iter().any(|line| line.contains("smuggled")), "{lines:?}");
    }
    drop(client);
    until(|| rig.tally.connections_open.load(Relaxed) == 0).await;
    until(|| rig.inflight.is_empty()).await;
    assert_eq!(rig.global().in_flight.load(Relaxed), 0);
}

#[test]
fn damage_is_never_passed_on_as_something_else() {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cases = (any::<bool>(), prop::collection::vec(harm(), 1..4));
    runner
        .run(&cases, |(chunked, harms)| {
            runtime.block_on(is_harmless(chunked, &harms));
            Ok(())
        })
        .unwrap();
}
