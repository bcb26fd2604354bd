//! Packed bodies pass as they are; a copy is unpacked for the record.

use std::io::Write;

use weir_core::exchange::Unpacked;
use weir_core::timeline::Mark;

use crate::harness::message::chunked_head;
use crate::harness::play::Played;
use crate::harness::sse::three_tokens;
use crate::harness::{Ending, Play, Rig, request, response};

/// Packs one part after the other; what came out after each.
pub(crate) fn pack(coding: &str, parts: &[String], flush: bool) -> Vec<Vec<u8>> {
    fn each<W: Write>(
        mut encoder: W,
        parts: &[String],
        flush: bool,
        out: impl Fn(&mut W) -> &mut Vec<u8>,
        finish: impl FnOnce(W) -> Vec<u8>,
    ) -> Vec<Vec<u8>> {
        let mut packed = Vec::new();
        for part in parts {
            encoder.write_all(part.as_bytes()).unwrap();
            if flush {
                encoder.flush().unwrap();
            }
            packed.push(std::mem::take(out(&mut encoder)));
        }
        packed.push(finish(encoder));
        packed.retain(|part| !part.is_empty());
        packed
    }
    let level = flate2::Compression::default();
    match coding {
        "gzip" => each(
            flate2::write::GzEncoder::new(Vec::new(), level),
            parts,
            flush,
            |encoder| encoder.get_mut(),
            |encoder| encoder.finish().unwrap(),
        ),
        "deflate" => each(
            flate2::write::ZlibEncoder::new(Vec::new(), level),
            parts,
            flush,
            |encoder| encoder.get_mut(),
            |encoder| encoder.finish().unwrap(),
        ),
        "br" => each(
            brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20),
            parts,
            flush,
            |encoder| encoder.get_mut(),
            |encoder| encoder.into_inner(),
        ),
        "zstd" => each(
            zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap(),
            parts,
            flush,
            |encoder| encoder.get_mut(),
            |encoder| encoder.finish().unwrap(),
        ),
        other => panic!("no such coding: {other}"),
    }
}

pub(crate) const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

fn head(coding: &str) -> Vec<u8> {
    chunked_head("200 OK", &format!("Content-Type: text/event-stream\r\nContent-Encoding: {coding}\r\n"))
}

fn unpacked(played: &Played) -> Option<Unpacked> {
    played.record.answer.unpacked
}

#[tokio::test]
async fn events_that_are_flushed_are_read_and_timed() {
    for coding in CODINGS {
        let parts = pack(coding, &three_tokens(), true);
        let played = Play::chat().head(head(coding)).parts(&parts).await;
        assert_eq!(played.head.header("content-encoding"), Some(coding));
        assert_eq!(played.verdict(), ("completed", None), "{coding}");
        assert_eq!(unpacked(&played), Some(Unpacked::Timed), "{coding}");
        assert_eq!(played.record.answer.tokens.unwrap().count, 3);
        assert_eq!(played.record.answer.scan.events, 7);
        let output = played.record.answer.output.as_ref().unwrap();
        assert_eq!(output.all_gaps.as_ref().unwrap().len(), 2);
        // The role came first; the first token with the second part.
        let first = played.record.timeline.at(Mark::FirstToken).unwrap().0 + played.record.received_mono.0;
        let (written, there) = played.parts[1];
        assert!((written..=there).contains(&first), "{coding}");
    }
}

#[tokio::test]
async fn what_is_not_flushed_is_read_and_not_timed() {
    let mut events = three_tokens();
    let many: Vec<String> = (0..4000).map(|n| crate::harness::sse::content(&format!("word {n}"))).collect();
    events.splice(2..2, many);
    for coding in CODINGS {
        let whole = pack(coding, &events, false).concat();
        let parts: Vec<Vec<u8>> = whole.chunks(1400).map(<[u8]>::to_vec).collect();
        let played = Play::chat().head(head(coding)).parts(&parts).await;
        assert_eq!(played.verdict(), ("completed", None), "{coding}");
        assert_eq!(unpacked(&played), Some(Unpacked::Untimed), "{coding}");
        let answer = &played.record.answer;
        assert_eq!(answer.scan.events, 4007, "{coding}");
        assert_eq!(answer.output.as_ref().unwrap().chunks, 4003);
        assert_eq!(answer.output.as_ref().unwrap().all_gaps, None);
        for mark in [Mark::FirstEvent, Mark::FirstToken, Mark::LastToken, Mark::Terminal] {
            played.lacks(mark);
        }
        assert_eq!((played.record.tpot(), played.record.timeline.ttft()), (None, None));
        assert!(played.record.timeline.at(Mark::FirstByte).is_some(), "bytes have their time");
    }
}

#[tokio::test]
async fn what_is_corrupt_passes_and_ends_the_reading_alone() {
    for coding in CODINGS {
        let mut parts = pack(coding, &three_tokens(), true);
        let last = parts.len() - 1;
        parts.truncate(last);
        parts.push(vec![0xff; 4000]);
        let played = Play::chat().head(head(coding)).parts(&parts).await;
        // All that matters had been read before, whatever comes behind it.
        assert_eq!(played.record.outcome.as_str(), "completed", "{coding}");
        assert_eq!(played.record.answer.tokens.map(|tokens| tokens.count), Some(3), "{coding}");
        let parts = [b"\x1f\x8b\x08\x00junk that is none".to_vec(), vec![7; 5000]];
        let played = Play::chat().head(head(coding)).parts(&parts).await;
        assert_eq!(played.verdict(), ("completed", None), "{coding}: it could not be read, and came whole");
        assert_eq!(unpacked(&played), Some(Unpacked::Corrupt), "{coding}");
    }
}

#[tokio::test]
async fn one_that_breaks_off_is_truncated() {
    for coding in CODINGS {
        let parts = pack(coding, &three_tokens()[..3], true);
        let parts = &parts[..2];
        let played = Play::chat().head(head(coding)).ending(Ending::Fin).parts(parts).await;
        assert_eq!(played.verdict(), ("truncated", Some("upstream_reset")), "{coding}");
        assert_eq!(played.record.answer.tokens.map(|tokens| tokens.count), Some(1), "{coding}");
    }
}

#[tokio::test]
async fn a_bomb_passes_and_is_given_up() {
    let bomb = vec!["0".repeat(1 << 20); 64];
    for coding in CODINGS {
        let parts = pack(coding, &bomb, false);
        let played = Play::chat().head(head(coding)).parts(&parts).await;
        assert_eq!(played.record.outcome.as_str(), "completed", "{coding}");
        assert_eq!(unpacked(&played), Some(Unpacked::OverBound), "{coding}");
    }
}

#[tokio::test]
async fn documents_and_errors_are_read_too() {
    let (mut rig, upstream) = Rig::start().await;
    let document = r#"{"model":"m","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}"#;
    let error = r#"{"error":{"message":"no","type":"x","code":"context_length_exceeded"}}"#;
    for coding in CODINGS {
        for (status, body) in [("200 OK", document), ("400 Bad Request", error)] {
            let packed = pack(coding, &[body.to_owned()], false).concat();
            let mut client = rig.client().await;
            client.send(request("POST /v1/chat/completions", "", "{}")).await;
            let (mut engine, _) = upstream.asked().await;
            let headers = format!(
                "Content-Type: application/json\r\nContent-Encoding: {coding}\r\nConnection: close\r\n"
            );
            engine.send(response(status, &headers, &packed)).await;
            assert_eq!(client.response().await.body, packed);
            let record = rig.record().await;
            if status.starts_with("200") {
                assert_eq!(record.answer.usage.unwrap().output, Some(3), "{coding}");
            } else {
                assert_eq!(record.error_type.unwrap().as_str(), "context_length", "{coding}");
            }
        }
    }
}

#[tokio::test]
async fn a_coding_that_is_not_known_passes_unread() {
    let played = Play::chat().head(head("compress")).parts(&three_tokens()).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!(unpacked(&played), Some(Unpacked::Unknown));
    played.lacks(Mark::FirstToken);
    let played = Play::chat().head(head("identity")).parts(&three_tokens()).await;
    assert_eq!((played.verdict(), unpacked(&played)), (("completed", None), None));
    assert_eq!(played.record.answer.tokens.unwrap().count, 3);
}
