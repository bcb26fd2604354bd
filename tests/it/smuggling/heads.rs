use super::{HIDDEN, refused};
use crate::harness::{Rig, response};

#[tokio::test]
async fn lengths_that_are_none_are_refused() {
    for length in ["+5", "-5", "5,6", "0x5", "5 5", "five", "", "18446744073709551616", "5\t,5"] {
        for path in ["/v1/chat/completions", "/v1/files"] {
            let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\nhello");
            refused(head + HIDDEN, 400).await;
        }
    }
}

#[tokio::test]
async fn two_lengths_that_differ_are_refused() {
    for (one, other) in [("5", "6"), ("6", "5"), ("5", "05x")] {
        let head = format!(
            "POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: {one}\r\nX: y\r\nContent-Length: {other}\r\n\r\n"
        );
        refused(head + "hello" + HIDDEN, 400).await;
    }
}

#[tokio::test]
async fn two_equal_lengths_are_one() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client
        .send("POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello")
        .await;
    let (mut engine, asked) = upstream.asked().await;
    assert_eq!((asked.head.all("content-length"), asked.body.as_slice()), (vec!["5"], &b"hello"[..]));
    engine.send(response("200 OK", "", "x")).await;
    assert_eq!(client.response().await.status(), 200);
}

#[tokio::test]
async fn codings_that_do_not_end_in_chunks_are_refused() {
    for coding in ["chunked, identity", "identity", "gzip", "xchunked", "chunked;q=1", "", "\"chunked\""] {
        let head = format!("POST /v1/files HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: {coding}\r\n\r\n");
        refused(head + "0\r\n\r\n" + HIDDEN, 400).await;
    }
    let two = "POST /v1/files HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n";
    refused(two.to_owned() + "0\r\n\r\n" + HIDDEN, 400).await;
    let old = "POST /v1/files HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    refused(old.to_owned() + HIDDEN, 400).await;
}

/// A coding that is not relayed must not get lost on the way.
#[tokio::test]
async fn codings_beneath_the_chunks_are_refused() {
    for coding in ["gzip, chunked", "chunked, chunked", "gzip\r\nTransfer-Encoding: chunked"] {
        let head = format!("POST /v1/files HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: {coding}\r\n\r\n");
        refused(head + "5\r\nhello\r\n0\r\n\r\n" + HIDDEN, 400).await;
    }
}

/// Whose request it is must be said once.
#[tokio::test]
async fn a_request_names_one_host() {
    for hosts in ["", "Host: a\r\nHost: b\r\n"] {
        refused(format!("GET / HTTP/1.1\r\n{hosts}\r\n"), 400).await;
    }
}

#[tokio::test]
async fn header_lines_that_others_read_otherwise_are_refused() {
    for line in [
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:\r\n chunked",
        "X-A: b\r\n c",
        "X-A: b\r\n\tc",
        " X-A: b",
        "X-A: b\0c",
        "X-\0A: b",
        "X-A: b\rc: d",
        "X-A",
        ": b",
        "X A: b",
        "X-A: \u{7f}",
    ] {
        let head = format!("POST /v1/files HTTP/1.1\r\nHost: h\r\n{line}\r\nContent-Length: 5\r\n\r\nhello");
        refused(head + HIDDEN, 400).await;
    }
}

#[tokio::test]
async fn request_lines_that_are_none_are_refused() {
    for line in [
        "GET\0 / HTTP/1.1",
        "GET / HTTP/1.2",
        "GET / HTTP/1",
        "GET  / HTTP/1.1",
        "GET /\0 HTTP/1.1",
        "nonsense",
    ] {
        refused(format!("{line}\r\nHost: h\r\n\r\n{HIDDEN}"), 400).await;
    }
}

#[tokio::test]
async fn heads_beyond_their_bounds_are_refused() {
    let many = "X-A: b\r\n".repeat(300);
    refused(format!("GET / HTTP/1.1\r\nHost: h\r\n{many}\r\n"), 431).await;
    let long = "b".repeat(1 << 20);
    refused(format!("GET / HTTP/1.1\r\nHost: h\r\nX-A: {long}\r\n\r\n"), 431).await;
    let long = "b".repeat(100_000);
    refused(format!("GET /{long} HTTP/1.1\r\nHost: h\r\n\r\n"), 414).await;
}

#[tokio::test]
async fn a_head_within_its_bounds_passes() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let headers = (0..200).map(|n| format!("X-{n}: {}\r\n", "v".repeat(200))).collect::<String>();
    client.send(format!("GET / HTTP/1.1\r\nHost: h\r\n{headers}\r\n")).await;
    let (mut engine, asked) = upstream.asked().await;
    assert_eq!(asked.head.headers.len(), 201);
    engine.send(response("200 OK", "", "x")).await;
    assert_eq!(client.response().await.status(), 200);
}

#[tokio::test]
async fn a_tunnel_is_not_given() {
    let answer = refused("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 501).await;
    assert_eq!(answer.head.header("weir-error"), Some("client_request"));
}

#[tokio::test]
async fn what_is_not_relayed_is_counted() {
    let (mut rig, _upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send("nonsense\r\n\r\n").await;
    client.closed().await;
    let malformed = &rig.tally.malformed_requests;
    crate::harness::until(|| malformed.load(std::sync::atomic::Ordering::Relaxed) == 1).await;
    assert!(rig.has_no_record(), "there was no request to record");
}
