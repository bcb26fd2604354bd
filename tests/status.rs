//! `weir status` against an admin port of a few lines.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};

const SNAPSHOT: &str = r#"{"version":1,"at":1500000100000000000,"started":1500000000000000000,"figures": [], "history": null, "slos": [], "error_classes": {"windows": []},
        "alerts": [], "cost": {"usd_per_hour": null, "windows": [], "this_hour": {"cost_usd": null, "estimated_usd": null, "saved_by_cache_usd": null, "usd_per_1k_tokens": null, "usd_per_1m_tokens": null, "usd_per_1m_output_tokens": null, "priced_requests": 0, "output_only_requests": 0, "input_tokens": 0, "output_tokens": 0, "unpriced_requests": 0, "unpriced_tokens": 0}, "last_24_hours": {"cost_usd": null, "estimated_usd": null, "saved_by_cache_usd": null, "usd_per_1k_tokens": null, "usd_per_1m_tokens": null, "usd_per_1m_output_tokens": null, "priced_requests": 0, "output_only_requests": 0, "input_tokens": 0, "output_tokens": 0, "unpriced_requests": 0, "unpriced_tokens": 0}, "last_7_days": {"cost_usd": null, "estimated_usd": null, "saved_by_cache_usd": null, "usd_per_1k_tokens": null, "usd_per_1m_tokens": null, "usd_per_1m_output_tokens": null, "priced_requests": 0, "output_only_requests": 0, "input_tokens": 0, "output_tokens": 0, "unpriced_requests": 0, "unpriced_tokens": 0},
        "models": [], "gpu": [], "turned_away": 0, "broken_rows": 0},
        "memory": {"used_bytes": 1, "limit_bytes": 2, "overflowed": 0, "turned_away": 0, "dropped": 0},
        "lanes":[],"in_flight":{
    "queued":0,"waiting":0,"prefill":0,"decode":5,"stalled":0,"no_progress_s":null,"alarm":false,"silent":[]},
    "buffering":[],"landmarks":[]}"#;

/// Answers one request with this; gives the request.
fn port(status: &'static str, body: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        write!(socket, "HTTP/1.0 {status}\r\ncontent-type: application/json\r\n\r\n{body}").unwrap();
        String::from_utf8(request).unwrap()
    });
    (address, answering)
}

fn status(address: SocketAddr, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("status").arg("--admin").arg(address.to_string()).args(flags).env("THE_TOKEN", "s3cret");
    command.output().unwrap()
}

#[test]
fn it_shows_what_is_known_without_colour_where_there_is_no_terminal() {
    let (address, request) = port("200 OK", SNAPSHOT);
    let output = status(address, &[]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("5 in decode") && !shown.contains('\u{1b}'), "{shown}");
    let request = request.join().unwrap();
    assert!(request.starts_with("GET /api/snapshot ") && !request.contains("authorization"), "{request}");
}

#[test]
fn it_shows_the_token_and_gives_json_as_it_came() {
    let (address, request) = port("200 OK", SNAPSHOT);
    let output = status(address, &["--json", "--token-env", "THE_TOKEN"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{SNAPSHOT}\n"));
    assert!(output.status.success());
    assert!(request.join().unwrap().contains("\r\nauthorization: Bearer s3cret\r\n"));
}

#[test]
fn what_cannot_be_had_is_said_and_is_a_failure() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (refusing, _request) = port("401 Unauthorized", r#"{"error":{"message":"show\u001b it"}}"#);
    for (output, said) in [
        (status(unused, &[]), "cannot ask: "),
        (status(refusing, &[]), "status 401: show it\n"),
        (status(unused, &["--token-env", "NO_SUCH_TOKEN"]), "NO_SUCH_TOKEN does not hold a token"),
    ] {
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with("weir: ") && error.contains(said), "{error}");
        assert!(output.stdout.is_empty());
    }
}
