//! A request that gives a length and chunks as well.

use super::{HIDDEN, refused};

#[tokio::test]
async fn a_length_before_a_coding_is_refused() {
    for path in ["/v1/chat/completions", "/v1/files"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        refused(head + "0\r\n\r\n" + HIDDEN, 400).await;
    }
}

#[tokio::test]
async fn a_coding_before_a_length_is_refused() {
    for path in ["/v1/chat/completions", "/v1/files"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
        );
        refused(head + "0\r\n\r\n" + HIDDEN, 400).await;
    }
}

#[tokio::test]
async fn so_is_one_on_a_connection_that_served_before() {
    use crate::harness::{Rig, request, response};

    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(request("GET /first", "", "")).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(response("200 OK", "", "x")).await;
    assert_eq!(client.response().await.status(), 200);
    let both =
        "POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(both.to_owned() + "0\r\n\r\n" + HIDDEN).await;
    assert_eq!(client.response().await.status(), 400);
    client.closed().await;
    assert!(engine.is_quiet().await);
    assert!(upstream.is_untouched().await);
}
