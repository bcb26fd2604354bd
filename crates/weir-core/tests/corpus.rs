//! Reads a folder of recorded answers, if `WEIR_CORPUS` names one, and compares with what its
//! manifest says of them. No recording is part of this repository.

#![allow(clippy::expect_used, reason = "a manifest that cannot be read is a failed test")]
#![allow(clippy::print_stderr, reason = "a test that reads nothing says so")]

mod oracle;

use std::fs;
use std::path::{Path, PathBuf};

use oracle::Kind;
use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::reader::{Reader, ResponseHead, Seen};
use weir_core::usage::Provenance;

const SPLITS: [usize; 4] = [1, 7, 97, usize::MAX];

struct Entry {
    path: PathBuf,
    api: String,
    data_events: u64,
    has_usage: bool,
    finish_reason: String,
    status: u16,
    content_type: String,
}

fn corpus() -> Option<Vec<Entry>> {
    let Some(folder) = std::env::var_os("WEIR_CORPUS").map(PathBuf::from) else {
        eprintln!("WEIR_CORPUS is not set: no recordings to read");
        return None;
    };
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).expect("a manifest");
    let mut lines = manifest.lines();
    let head: Vec<_> = lines.next().expect("a head line").split('\t').collect();
    let column = |name| head.iter().position(|column| *column == name).expect(name);
    let entry = |line: &str| {
        let cells: Vec<_> = line.split('\t').collect();
        let cell = |name| cells[column(name)].to_owned();
        let content_type = cell("content_type");
        Entry {
            path: folder.join(cell("file")),
            api: cell("api"),
            data_events: cell("data_events").parse().expect("a number"),
            has_usage: cell("has_usage").starts_with("yes"),
            finish_reason: cell("finish_reason"),
            status: cell("http_status").parse().unwrap_or(200),
            content_type: if content_type == "-" { String::new() } else { content_type },
        }
    };
    Some(lines.map(entry).collect())
}

impl Entry {
    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    fn dialect(&self) -> Dialect {
        match self.api.as_str() {
            "chat" => Dialect::Chat,
            "completions" => Dialect::Completions,
            "responses" => Dialect::Responses,
            "messages" => Dialect::Messages,
            "api/chat" => Dialect::OllamaChat,
            _ => Dialect::Other,
        }
    }

    fn read(&self, bytes: &[u8], split: usize) -> (Reader, Vec<Seen>) {
        let stream = if self.is("sse") {
            "text/event-stream"
        } else if self.is("ndjson") {
            "application/x-ndjson"
        } else {
            ""
        };
        let content_type = if self.content_type.is_empty() { stream } else { &self.content_type };
        let head = ResponseHead {
            status: self.status,
            content_type: Some(content_type.as_bytes()),
            content_encoding: None,
        };
        let mut reader = Reader::new(self.dialect(), &RequestPeek::default(), &head);
        let mut seen = Vec::new();
        for part in bytes.chunks(split.min(bytes.len().max(1))) {
            reader.feed(part, &mut |one| seen.push(one));
        }
        reader.finish(&mut |one| seen.push(one));
        (reader, seen)
    }
}

#[test]
fn agrees_with_the_manifest_however_it_is_cut() {
    for entry in corpus().unwrap_or_default() {
        let name = entry.path.display();
        let bytes = fs::read(&entry.path).expect("a file");
        let (_, whole) = entry.read(&bytes, usize::MAX);
        for split in SPLITS {
            let (reader, seen) = entry.read(&bytes, split);
            assert_eq!(seen, whole, "{name} by {split}");
            let facts = reader.facts();
            if entry.status >= 400 {
                assert!(facts.error.is_some(), "{name}: an error status has a class");
                continue;
            }
            if entry.dialect() == Dialect::Other {
                continue;
            }
            assert_eq!(facts.counts.events, entry.data_events, "{name} by {split}");
            // The manifest knows of usage objects only, and Ollama has none.
            let has_usage = entry.has_usage || entry.dialect() == Dialect::OllamaChat;
            assert_eq!(facts.tokens.reported.is_some(), has_usage, "{name} by {split}");
            if entry.has_usage {
                assert_eq!(facts.usage().map(|(_, from)| from), Some(Provenance::Reported), "{name}");
            }
            let expected = match entry.finish_reason.as_str() {
                // The status; what is kept is the reason for it.
                "incomplete" => "max_output_tokens",
                reason => reason,
            };
            if expected == "-" {
                assert_eq!(facts.choices.finish_reasons().count(), 0, "{name}");
                assert!(!facts.all_finished, "{name}");
            } else {
                assert!(facts.finished_for(expected), "{name}: {:?}", facts.choices);
                assert!(facts.all_finished, "{name}: {:?}", facts.choices);
            }
            assert_eq!(facts.counts.parse_errors, 0, "{name}");
        }
    }
}

#[test]
fn agrees_with_a_full_parse_of_every_event() {
    for entry in corpus().unwrap_or_default() {
        if !entry.is("sse") || !matches!(entry.dialect(), Dialect::Chat | Dialect::Completions) {
            continue;
        }
        let text = fs::read_to_string(&entry.path).expect("text");
        let events = oracle::events(&text);
        let expected: Vec<_> = events.iter().flat_map(|(name, data)| oracle::judge(name, data)).collect();
        let (_, seen) = entry.read(text.as_bytes(), usize::MAX);
        let seen: Vec<_> = seen.into_iter().map(Kind::from).collect();
        assert_eq!(seen, expected, "{}", entry.path.display());
    }
}
