//! Answers as `curl -i` printed them, each beside the body of its request (`NAME.txt`, `NAME.req.json`), in one folder
//! an engine. What they should say of each other is known: the same whatever carried them.

use std::fs;
use std::path::Path;

use weir_core::exchange::Exchange;

use super::folder;
use crate::harness::relay::{Carriers, Script};

/// A recorded exchange.
struct Capture {
    name: String,
    script: Script,
}

fn captures() -> Vec<Capture> {
    let Some(folder) = folder("WEIR_CAPTURES") else { return Vec::new() };
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flat_map(|engine| fs::read_dir(engine.unwrap().path()).into_iter().flatten())
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files.iter().filter_map(|file| read(file)).collect()
}

/// `None` for what is no answer, or one that still has the framing that it came in.
fn read(file: &Path) -> Option<Capture> {
    let bytes = fs::read(file).unwrap();
    let name = file.file_stem()?.to_str()?.to_owned();
    let mut rest = &bytes[..];
    loop {
        let end = rest.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 4..];
        let status: u16 = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        if status == 100 {
            continue;
        }
        if name.contains("rawwire") {
            return None;
        }
        let ask = fs::read_to_string(file.with_file_name(format!("{name}.req.json"))).unwrap_or_default();
        let mut script = Script::post(path(&name), &ask, None, rest.to_vec());
        script.status = status;
        script.headers = head.lines().skip(1).filter_map(end_to_end).collect();
        if ask.is_empty() && !name.starts_with("err_empty") {
            script.method = "GET".to_owned();
        }
        return Some(Capture { name: file.display().to_string(), script });
    }
}

fn path(name: &str) -> &'static str {
    match name.split('_').next().unwrap_or_default() {
        "compl" => "/v1/completions",
        "responses" => "/v1/responses",
        "messages" => "/v1/messages",
        "embeddings" => "/v1/embeddings",
        "models" => "/v1/models",
        "chat" | "err" | "disconnect" => "/v1/chat/completions",
        _ => "/other",
    }
}

fn end_to_end(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let name = name.to_ascii_lowercase();
    let hop = ["transfer-encoding", "content-length", "connection", "keep-alive"].contains(&name.as_str());
    (!hop).then(|| (name, value.trim().to_owned()))
}

/// What a record says that does not depend on how the bytes came.
fn told(record: &Exchange) -> String {
    let answer = &record.answer;
    format!(
        "{:?} {} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?}",
        record.status,
        record.outcome,
        record.error_type,
        record.request.dialect,
        answer.bytes,
        answer.model,
        answer.finish_reasons,
        answer.usage,
        answer.tokens,
        answer.scan,
    )
}

#[tokio::test]
async fn captures_pass_and_are_read_alike_whatever_carries_them() {
    for Capture { name, script } in captures() {
        let mut first = None;
        for carriers in Carriers::ALL {
            for size in [usize::MAX, 1, 7, 97] {
                let (status, body, record) = script.relay(carriers, size).await;
                assert_eq!(status, script.status, "{name}");
                assert!(body == script.answer, "{name} was changed: {carriers:?} by {size}");
                let told = told(&record);
                let expected = first.get_or_insert_with(|| told.clone());
                assert_eq!(told, *expected, "{name}: {carriers:?} by {size}");
            }
        }
    }
}
