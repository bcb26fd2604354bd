//! Recorded answers of real servers, if `WEIR_CORPUS` names a folder of them. No recording is part of
//! this repository.

use std::fs;
use std::path::PathBuf;

use weir_core::usage::Provenance;

use crate::harness::message::chunked_head;
use crate::harness::{LAST_CHUNK, Rig, chunk, request, split};

/// One recording, with what its manifest says of it.
struct Entry {
    path: PathBuf,
    api: String,
    events: u64,
    has_usage: bool,
    finish_reason: Option<String>,
    status: u16,
    content_type: Option<String>,
}

fn entries() -> Vec<Entry> {
    let Some(folder) = std::env::var_os("WEIR_CORPUS").map(PathBuf::from) else {
        eprintln!("WEIR_CORPUS is not set: no recordings to relay");
        return Vec::new();
    };
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut lines = manifest.lines();
    let names: Vec<_> = lines.next().unwrap().split('\t').collect();
    let entry = |line: &str| {
        let cells: Vec<_> = line.split('\t').collect();
        let cell = |name| cells[names.iter().position(|known| *known == name).unwrap()];
        let given = |name| Some(cell(name)).filter(|text| *text != "-").map(str::to_owned);
        Entry {
            path: folder.join(cell("file")),
            api: cell("api").to_owned(),
            events: cell("data_events").parse().unwrap(),
            has_usage: cell("has_usage").starts_with("yes"),
            finish_reason: given("finish_reason"),
            status: cell("http_status").parse().unwrap_or(200),
            content_type: given("content_type"),
        }
    };
    lines.map(entry).collect()
}

impl Entry {
    fn is_stream(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "sse")
    }

    fn request(&self) -> Vec<u8> {
        let path = match self.api.as_str() {
            "chat" => "/v1/chat/completions",
            "completions" => "/v1/completions",
            "embeddings" => "/v1/embeddings",
            other => &format!("/v1/{other}"),
        };
        request(&format!("POST {path}"), "", "{}")
    }

    /// The answer, each part a chunk of its own: so each is read by itself.
    fn answer(&self, bytes: &[u8], size: usize) -> Vec<u8> {
        let stream = self.is_stream().then(|| "text/event-stream".to_owned());
        let media = self.content_type.clone().or(stream);
        let media = media.map(|media| format!("Content-Type: {media}\r\n")).unwrap_or_default();
        let mut answer = chunked_head(&format!("{} X", self.status), &media);
        split(bytes, size).iter().for_each(|part| answer.extend_from_slice(&chunk(part)));
        answer.extend_from_slice(LAST_CHUNK);
        answer
    }
}

#[tokio::test]
async fn recordings_pass_and_are_read() {
    for entry in entries() {
        let name = entry.path.display();
        let bytes = fs::read(&entry.path).unwrap();
        for size in [usize::MAX, 1, 97] {
            let (mut rig, upstream) = Rig::start().await;
            let mut client = rig.client().await;
            client.send(entry.request()).await;
            let (mut engine, _) = upstream.asked().await;
            let (answer, ()) = tokio::join!(client.response(), engine.send(entry.answer(&bytes, size)));
            assert!(answer.body == bytes, "{name} by {size} was changed");
            let record = rig.record().await;
            assert_eq!(
                (record.status, record.answer.bytes),
                (Some(entry.status), bytes.len() as u64),
                "{name}"
            );
            if entry.status >= 400 {
                assert_eq!(record.outcome.as_str(), "upstream_error", "{name}");
                continue;
            }
            if !matches!(entry.api.as_str(), "chat" | "completions") {
                assert!(record.timeline.ttft().is_none(), "{name}");
                continue;
            }
            let answer = record.answer;
            let reported = answer.tokens.is_some_and(|tokens| tokens.provenance == Provenance::Reported)
                || answer.usage.is_some_and(|usage| usage.output.is_none());
            assert_eq!(reported, entry.has_usage, "{name} by {size}: {:?}", answer.tokens);
            assert_eq!(answer.stream, entry.is_stream(), "{name}");
            if entry.is_stream() {
                assert_eq!(answer.scan.events, entry.events, "{name} by {size}");
            }
            let reasons = &answer.finish_reasons;
            match &entry.finish_reason {
                Some(reason) => {
                    assert!(reasons.iter().any(|known| **known == **reason), "{name}: {reasons:?}")
                }
                None => assert!(reasons.is_empty(), "{name}: {reasons:?}"),
            }
        }
    }
}
