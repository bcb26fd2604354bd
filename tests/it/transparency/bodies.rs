use crate::harness::message::chat;
use crate::harness::{LAST_CHUNK, Rig, SPLITS, chunk, pattern, request, response, split};

/// Nothing of this survives a parser.
const ODD_JSON: &str = r#"{"model":"m","model":"n","stream_options":{"step_usage_chunks":2},
    "unknown":12345678901234567890,"f":1.0,"e":"\u00e9", "big":1e400 ,"messages":[]}   "#;

#[tokio::test]
async fn request_bodies_pass_byte_for_byte_however_they_are_written() {
    let (mut rig, upstream) = Rig::start().await;
    let pretty = "{\r\n  \"model\": \"m\",\r\n  \"stream\": false\r\n}\r\n".to_owned();
    for body in [ODD_JSON.to_owned(), pretty, "not json".to_owned(), "\u{5317}\u{1f600}".to_owned()] {
        for size in SPLITS {
            let mut client = rig.client().await;
            let request = chat(&body);
            for part in split(&request, size) {
                client.send(part).await;
                tokio::task::yield_now().await;
            }
            let (mut engine, asked) = upstream.asked().await;
            assert_eq!(asked.body, body.as_bytes());
            assert_eq!(asked.head.length(), Some(body.len() as u64));
            assert!(!asked.head.is_chunked());
            engine.send(response("200 OK", "Connection: close\r\n", "{}")).await;
            client.response().await;
            assert_eq!(rig.record().await.request.bytes, body.len() as u64);
        }
    }
}

#[tokio::test]
async fn chunked_request_bodies_stay_chunked_and_whole() {
    let (mut rig, upstream) = Rig::start().await;
    let body = pattern(0, 3000);
    for path in ["/v1/chat/completions", "/v1/files"] {
        for size in SPLITS {
            let mut client = rig.client().await;
            client
                .send(format!("POST {path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"))
                .await;
            for part in split(&body, size) {
                client.send(chunk(part)).await;
            }
            client.send(LAST_CHUNK).await;
            let (mut engine, asked) = upstream.asked().await;
            assert_eq!(asked.body, body);
            assert_eq!((asked.head.is_chunked(), asked.head.length()), (true, None));
            engine.send(response("200 OK", "Connection: close\r\n", "{}")).await;
            client.response().await;
            assert_eq!(rig.record().await.request.bytes, 3000);
        }
    }
}

#[tokio::test]
async fn response_bodies_pass_byte_for_byte_however_they_are_written() {
    let (mut rig, upstream) = Rig::start().await;
    let body = pattern(0, 5000);
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for part in split(&body, 333) {
        chunked.extend_from_slice(&chunk(part));
    }
    chunked.extend_from_slice(LAST_CHUNK);
    for written in [response("200 OK", "", &body), chunked] {
        for size in SPLITS {
            let mut client = rig.client().await;
            client.send(request("GET /", "Connection: close\r\n", "")).await;
            let mut engine = upstream.accept().await;
            engine.request().await;
            for part in split(&written, size) {
                engine.send(part).await;
                tokio::task::yield_now().await;
            }
            let answer = client.response().await;
            assert_eq!(answer.body, body);
            assert_eq!(answer.head.length().is_some(), written.starts_with(b"HTTP/1.1 200 OK\r\nContent"));
            assert_eq!(rig.record().await.answer.bytes, 5000);
            // Closed by this side, so that the next one is asked on a connection of its own.
            drop(engine);
            crate::harness::until(|| rig.inflight.is_empty()).await;
        }
    }
}

#[tokio::test]
async fn bodies_that_claim_to_be_packed_pass_and_say_nothing() {
    let (mut rig, upstream) = Rig::start().await;
    let packed = pattern(7, 900);
    for coding in ["gzip", "br", "zstd", "deflate"] {
        for (status, media) in [
            ("200 OK", "application/json"),
            ("200 OK", "text/event-stream"),
            ("429 Too Many Requests", "application/json"),
        ] {
            for accepts in ["", "Accept-Encoding: gzip\r\n"] {
                let mut client = rig.client().await;
                client.send(request("POST /v1/chat/completions", accepts, r#"{"stream":true}"#)).await;
                let (mut engine, _) = upstream.asked().await;
                let headers =
                    format!("Content-Type: {media}\r\nContent-Encoding: {coding}\r\nConnection: close\r\n");
                engine.send(response(status, &headers, &packed)).await;
                let answer = client.response().await;
                assert_eq!(answer.body, packed);
                assert_eq!(answer.head.header("content-encoding"), Some(coding));
                assert_eq!(answer.head.length(), Some(900));
                let record = rig.record().await;
                let outcome = if status.starts_with("200") { "completed" } else { "upstream_error" };
                assert_eq!(record.outcome.as_str(), outcome);
                assert_eq!((record.answer.tokens, record.timeline.ttft()), (None, None));
                assert_eq!(record.answer.bytes, 900);
            }
        }
    }
}
