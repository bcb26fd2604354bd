//! Recordings with a manifest that says what each holds.

use std::fs;
use std::path::PathBuf;

use weir_core::dialect::Dialect;
use weir_core::timeline::Mark;
use weir_core::usage::Provenance;

use super::folder;
use crate::harness::relay::{Carriers, Script};

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
    let Some(folder) = folder("WEIR_CORPUS") else { return Vec::new() };
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
        self.path.extension().is_some_and(|extension| extension == "sse" || extension == "ndjson")
    }

    fn script(&self) -> Script {
        let path = match self.api.as_str() {
            "chat" => "/v1/chat/completions",
            "completions" => "/v1/completions",
            "embeddings" => "/v1/embeddings",
            "api/chat" | "api/generate" => &format!("/{}", self.api),
            "generate" => "/v1beta/models/m:streamGenerateContent",
            "native" => "/ml/v1/text/generation_stream",
            other => &format!("/v1/{other}"),
        };
        let lines = self.path.extension().is_some_and(|extension| extension == "ndjson");
        let stream =
            self.is_stream().then_some(if lines { "application/x-ndjson" } else { "text/event-stream" });
        let media = self.content_type.as_deref().or(stream);
        let mut script = Script::post(path, "{}", media, fs::read(&self.path).unwrap());
        script.status = self.status;
        script
    }
}

#[tokio::test]
async fn recordings_pass_and_are_read() {
    for entry in entries() {
        let name = entry.path.display();
        let script = entry.script();
        for carriers in Carriers::ALL {
            for size in [usize::MAX, 1, 97] {
                let (status, body, record) = script.relay(carriers, size).await;
                assert!(body == script.answer, "{name} was changed: {carriers:?} by {size}");
                assert_eq!(
                    (status, record.status, record.answer.bytes),
                    (entry.status, Some(entry.status), script.answer.len() as u64),
                    "{name}"
                );
                if entry.status >= 400 {
                    assert_eq!(record.outcome.as_str(), "upstream_error", "{name}");
                    continue;
                }
                let (answer, dialect) = (record.answer, record.request.dialect);
                if dialect == Dialect::Other {
                    assert!(record.timeline.at(Mark::FirstToken).is_none(), "{name}");
                    continue;
                }
                let reported = answer.tokens.is_some_and(|tokens| tokens.provenance == Provenance::Reported)
                    || answer.usage.is_some_and(|usage| usage.output.is_none());
                // The manifest looks for usage objects, and Ollama's counts are none.
                let counted = entry.has_usage || dialect == Dialect::OllamaChat;
                assert_eq!(reported, counted, "{name} by {size}: {:?}", answer.tokens);
                assert_eq!(answer.stream, entry.is_stream(), "{name}");
                if entry.is_stream() {
                    assert_eq!(answer.scan.events, entry.events, "{name} by {size}");
                }
                let reasons = &answer.finish_reasons;
                match &entry.finish_reason {
                    // It names the status, where the record has a reason for it.
                    Some(status) if dialect == Dialect::Responses && status != "completed" => {
                        assert_ne!(record.outcome.as_str(), "truncated", "{name}");
                    }
                    Some(reason) => {
                        assert!(reasons.iter().any(|known| **known == **reason), "{name}: {reasons:?}");
                    }
                    None => assert!(reasons.is_empty(), "{name}: {reasons:?}"),
                }
            }
        }
    }
}
