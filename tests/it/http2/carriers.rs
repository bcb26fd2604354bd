//! One stream in every split, whichever version of HTTP is spoken on either side.

use crate::harness::SPLITS;
use crate::harness::play::verdict;
use crate::harness::relay::{Carriers, Script};
use crate::harness::sse::three_tokens;

#[tokio::test]
async fn whatever_carries_a_stream_its_bytes_and_its_record_are_the_same() {
    let stream = three_tokens().concat().into_bytes();
    let ask = r#"{"model":"m","stream":true}"#;
    let script = Script::post("/v1/chat/completions", ask, Some("text/event-stream"), stream);
    for size in SPLITS {
        for carriers in Carriers::ALL {
            let (status, body, record) = script.relay(carriers, size).await;
            assert!(body == script.answer, "changed: {carriers:?} by {size}");
            assert_eq!((status, verdict(&record)), (200, ("completed", None)), "{carriers:?} by {size}");
            let answer = record.answer;
            assert_eq!((answer.bytes, answer.scan.events), (script.answer.len() as u64, 7));
            assert_eq!(answer.tokens.unwrap().count, 3, "{carriers:?} by {size}");
            assert_eq!(answer.finish_reasons.len(), 1);
            assert_eq!(record.request.model.as_deref(), Some("m"));
        }
    }
}
