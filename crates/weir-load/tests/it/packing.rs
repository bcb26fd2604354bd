//! Packed answers, read as they come.

use std::io::Read;

use serde_json::json;
use weir_load::engine::EngineConfig;
use weir_load::truth::{StreamEnd, read};

use crate::wire::{Connection, config, count, engine, post, until};

const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// What can be read of packed bytes, whether they have ended or not.
fn unpacked(coding: &str, packed: &[u8]) -> String {
    let mut reader: Box<dyn Read> = match coding {
        "gzip" => Box::new(flate2::read::GzDecoder::new(packed)),
        "deflate" => Box::new(flate2::read::ZlibDecoder::new(packed)),
        "br" => Box::new(brotli::Decompressor::new(packed, 4096)),
        _ => Box::new(zstd::stream::read::Decoder::new(packed).unwrap()),
    };
    let mut text = Vec::new();
    let mut piece = [0; 64];
    while let Ok(read @ 1..) = reader.read(&mut piece) {
        text.extend_from_slice(&piece[..read]);
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn packed_answers_say_what_plain_ones_say() {
    let engine = engine(config()).await;
    for stream in [true, false] {
        let body = json!({"messages": [], "max_tokens": 20, "stream": stream}).to_string();
        let plain =
            post(&engine, "/v1/chat/completions", &[("x-sim-seed", "1"), ("x-request-id", "r")], &body);
        let plain = plain.await;
        assert!(!plain.head.contains("content-encoding"));
        for coding in CODINGS {
            for flush in ["event", "none"] {
                let headers = [
                    ("x-sim-seed", "1"),
                    ("x-request-id", "r"),
                    ("x-sim-pack", coding),
                    ("x-sim-pack-flush", flush),
                ];
                let packed = post(&engine, "/v1/chat/completions", &headers, &body).await;
                assert_eq!((packed.status, packed.complete), (200, true), "{coding} {flush}");
                assert!(packed.head.contains(&format!("content-encoding: {coding}\r\n")));
                assert_eq!(unpacked(coding, &packed.bytes), plain.body, "{coding} {flush}");
            }
        }
    }
    assert_eq!(engine.stats().completed, 2 * 9);
}

#[tokio::test]
async fn a_flushed_event_arrives_before_the_next_one_is_due() {
    let engine = engine(config()).await;
    for coding in CODINGS {
        let mut connection = Connection::open(&engine).await;
        let headers = [("x-sim-pack", coding), ("x-sim-fault", "stall;at=2")];
        let body = "{\"messages\":[],\"stream\":true}";
        connection.send("/v1/chat/completions", &headers, body).await;
        // Two chunks after the head, each on a line of its own.
        let chunks = |bytes: &[u8]| {
            let start = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)?;
            let (first, rest) = chunk(&bytes[start..])?;
            let (second, _) = chunk(rest)?;
            Some([first, second].concat())
        };
        connection.read_until(|bytes| chunks(bytes).is_some()).await;
        let text = unpacked(coding, &chunks(&connection.bytes).unwrap());
        assert_eq!(count(text.as_bytes(), "\n\n"), 2, "{coding}: {text}");
    }
}

/// The first chunk of a chunked body, if it is complete, and what follows it.
fn chunk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = bytes.windows(2).position(|two| two == b"\r\n")?;
    let size = usize::from_str_radix(std::str::from_utf8(&bytes[..line]).ok()?, 16).ok()?;
    let content = bytes.get(line + 2..line + 2 + size)?;
    Some((content, bytes.get(line + 4 + size..)?))
}

#[tokio::test]
async fn the_truth_counts_the_events_that_a_write_carried() {
    let path = std::env::temp_dir().join(format!("weir-load-packing-{}.jsonl", std::process::id()));
    let engine = engine(EngineConfig { truth: Some(path.clone()), ..config() }).await;
    let body = "{\"messages\":[],\"stream\":true,\"max_tokens\":5}";
    for flush in ["event", "none"] {
        let headers = [("x-request-id", flush), ("x-sim-pack", "gzip"), ("x-sim-pack-flush", flush)];
        let answer = post(&engine, "/v1/chat/completions", &headers, body).await;
        assert!(answer.complete);
    }
    until(&engine, |stats| stats.completed == 2).await;
    engine.shutdown().await;
    let truths = read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let events = |truth: &weir_load::truth::StreamTruth| -> Vec<u64> {
        truth.writes.iter().map(|write| write.events).collect()
    };
    let of = |id: &str| truths.iter().find(|truth| truth.id == id).unwrap();
    assert_eq!(of("event").end, StreamEnd::Ok);
    assert_eq!(events(of("event")), [1; 8]);
    // The coder writes its head with the first event, and keeps the rest until its end.
    assert_eq!(of("none").end, StreamEnd::Ok);
    assert_eq!(events(of("none")).iter().sum::<u64>(), 8);
    assert!(events(of("none")).len() <= 2, "{:?}", events(of("none")));
}

#[tokio::test]
async fn an_unknown_coding_is_refused() {
    let engine = engine(config()).await;
    let headers = [("x-sim-pack", "lzma")];
    let answer = post(&engine, "/v1/chat/completions", &headers, "{\"messages\":[]}").await;
    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"]["message"].as_str().unwrap().starts_with("x-sim-pack"));
}
