use super::HIDDEN;
use crate::harness::Rig;
use crate::harness::play::verdict;

const BROKEN: [&str; 9] = [
    "5g\r\nhello\r\n0\r\n\r\n",
    "-5\r\nhello\r\n0\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n",
    "\r\nhello\r\n0\r\n\r\n",
    "ffffffffffffffff1\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello0\r\n\r\n",
    "5\nhello\r\n0\r\n\r\n",
    "5\r\nhello\r\n0\r\nX A: b\r\n\r\n",
];

/// A body that is read before its request is sent on.
#[tokio::test]
async fn broken_chunks_of_a_completion_are_refused() {
    for broken in BROKEN {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.send(format!("{head}{broken}{HIDDEN}")).await;
        let answer = client.response().await;
        assert_eq!(answer.status(), 400, "{broken:?}");
        assert_eq!(answer.head.header("weir-error"), Some("client_request"));
        assert_eq!(answer.json()["error"]["code"], "client_request");
        client.closed().await;
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("refused", Some("client_request")));
        assert_eq!(record.status, Some(400));
        assert!(upstream.is_untouched().await, "{broken:?}");
    }
}

/// A body that passes as it comes. The upstream never takes it for whole.
#[tokio::test]
async fn broken_chunks_of_any_other_body_are_cut_off() {
    for broken in BROKEN {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        let head = "POST /v1/files HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.send(format!("{head}{broken}{HIDDEN}")).await;
        let answer = client.response().await;
        assert_eq!(answer.status(), 400, "{broken:?}");
        client.closed().await;
        assert_eq!(verdict(&rig.record().await), ("refused", Some("client_request")));
        let mut engine = upstream.accept().await;
        engine.closed().await;
        let got = String::from_utf8_lossy(&engine.raw);
        assert!(!got.contains("hidden") && !got.ends_with("0\r\n\r\n"), "{got}");
    }
}

/// A client that leaves in the middle of its body has sent no request.
#[tokio::test]
async fn a_body_that_breaks_off_is_not_taken_for_whole() {
    for (path, framing) in [
        ("/v1/chat/completions", "Content-Length: 100"),
        ("/v1/files", "Content-Length: 100"),
        ("/v1/chat/completions", "Transfer-Encoding: chunked"),
        ("/v1/files", "Transfer-Encoding: chunked"),
    ] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        client.send(format!("POST {path} HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n5\r\nhello\r\n")).await;
        if path == "/v1/files" {
            let mut engine = upstream.accept().await;
            engine.request_head().await;
            drop(client);
            engine.closed().await;
            assert!(!engine.raw.ends_with(b"0\r\n\r\n"));
        } else {
            drop(client);
        }
        let record = rig.record().await;
        assert_ne!(record.outcome.as_str(), "completed");
        assert_eq!(record.answer.bytes, 0);
        crate::harness::until(|| rig.inflight.is_empty()).await;
    }
}
