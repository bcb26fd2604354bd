//! What both sides say, kept beside the relay where that is asked for.

use serde_json::json;
use weir_core::content::{CaptureLimit, Content, Part};
use weir_core::exchange::Exchange;

use crate::harness::message::{chunked_head, stream_head};
use crate::harness::play::verdict;
use crate::harness::rig::Setup;
use crate::harness::sse::{DONE, content, finish, role, three_tokens};
use crate::harness::{Play, Rig, chunk, request, response};
use crate::packed::{CODINGS, pack};

const ASKED: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Say a b c"}]}"#;

fn keeping(limit: usize) -> impl FnOnce(&mut Setup) {
    move |setup| setup.config.context.capture = Some(CaptureLimit(limit))
}

fn kept(record: &Exchange) -> &Content {
    record.content.as_deref().expect("content")
}

/// The parts of the only choice.
fn said(record: &Exchange) -> &[Part] {
    let [choice] = &kept(record).output.choices[..] else { panic!("{:?}", kept(record).output) };
    &choice.parts
}

fn text(text: &str) -> [Part; 1] {
    [Part::Text(text.into())]
}

#[tokio::test]
async fn a_stream_is_kept_where_asked_for_and_nowhere_else() {
    let play = || Play::post("/v1/chat/completions", ASKED);
    let played = play().with(&three_tokens(), keeping(16 * 1024)).await;
    assert_eq!(played.asked.body, ASKED.as_bytes());
    let content = kept(&played.record);
    let input = content.input.as_ref().unwrap();
    assert_eq!(input.fields()["messages"], json!([{"role": "user", "content": "Say a b c"}]));
    assert_eq!((input.fields().len(), input.cut, content.output.cut), (1, false, false));
    assert_eq!(said(&played.record), text("abc"));
    assert_eq!(content.output.choices[0].finish_reason.as_deref(), Some("stop"));
    // The rest of the record is what it is without.
    let without = play().parts(&three_tokens()).await;
    assert_eq!(without.record.content, None);
    assert_eq!(without.verdict(), played.verdict());
    let (one, other) = (&without.record.answer, &played.record.answer);
    assert_eq!((one.scan, one.tokens, one.usage), (other.scan, other.tokens, other.usage));
    assert_eq!(one.output.as_ref().unwrap().chunks, other.output.as_ref().unwrap().chunks);
}

#[tokio::test]
async fn both_sides_are_cut_at_the_limit() {
    let asked = ASKED.replace("Say a b c", &"\u{e9}".repeat(4000));
    let many: Vec<String> = (0..50).map(|_| content("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}")).collect();
    let parts: Vec<String> = [vec![role()], many, vec![finish("stop"), DONE.to_owned()]].concat();
    let played = Play::post("/v1/chat/completions", &asked).with(&parts, keeping(256)).await;
    assert_eq!(played.asked.body, asked.as_bytes());
    let content = kept(&played.record);
    let input = content.input.as_ref().unwrap();
    assert!(input.cut && content.output.cut);
    let [Part::Text(said)] = said(&played.record) else { panic!() };
    assert!((200..=256).contains(&said.len()) && said.chars().all(|letter| letter == '\u{e9}'), "{said}");
    let fields = input.fields();
    let asked = fields["messages"][0]["content"].as_str().unwrap();
    assert!((128..=256).contains(&asked.len()) && asked.chars().all(|letter| letter == '\u{e9}'), "{asked}");
}

/// A body of which more is sent than is looked at before admission.
#[tokio::test]
async fn a_large_request_is_kept_as_far_as_it_was_seen() {
    let more = "x".repeat(300 * 1024);
    let asked = ASKED
        .replace("\"Say a b c\"}", &format!("\"Say a b c\"}},{{\"role\":\"user\",\"content\":\"{more}\"}}"));
    let played = Play::post("/v1/chat/completions", &asked).with(&three_tokens(), keeping(1 << 20)).await;
    assert_eq!(played.asked.body, asked.as_bytes());
    let input = kept(&played.record).input.as_ref().unwrap();
    assert!(input.cut);
    assert_eq!(input.fields()["messages"][0]["content"], "Say a b c");
}

#[tokio::test]
async fn what_came_before_the_client_left_is_kept() {
    let (mut rig, upstream) = Rig::with(keeping(16 * 1024)).await;
    let mut client = rig.client().await;
    client.ask(ASKED).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(stream_head()).await;
    client.response_head().await;
    let mut sent = 0;
    for part in [role(), content("Hel"), content("lo")] {
        sent += part.len();
        engine.send(chunk(part)).await;
        client.body_of(sent).await;
    }
    drop(client);
    engine.closed_soon().await;
    let record = rig.record().await;
    assert_eq!(verdict(&record).0, "client_gone_mid_stream");
    assert_eq!(said(&record), text("Hello"));
    assert_eq!(kept(&record).output.choices[0].finish_reason, None);
    assert!(kept(&record).input.is_some());
}

#[tokio::test]
async fn documents_are_kept_too() {
    let (mut rig, upstream) = Rig::with(keeping(16 * 1024)).await;
    let document =
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
    let vectors = r#"{"object":"list","data":[{"embedding":[0.1,0.2],"index":0}],"model":"m"}"#;
    for (path, asked, answered, expected) in [
        ("/v1/chat/completions", ASKED, document, Some("Hi")),
        ("/v1/embeddings", r#"{"model":"m","input":"a"}"#, vectors, None),
    ] {
        let mut client = rig.client().await;
        client.send(request(&format!("POST {path}"), "", asked)).await;
        let (mut engine, _) = upstream.asked().await;
        engine
            .send(response("200 OK", "Content-Type: application/json\r\nConnection: close\r\n", answered))
            .await;
        assert_eq!(client.response().await.body, answered.as_bytes());
        let record = rig.record().await;
        assert!(kept(&record).input.is_some(), "{path}");
        match expected {
            Some(expected) => assert_eq!(said(&record), text(expected)),
            None => assert!(kept(&record).output.choices.is_empty()),
        }
    }
}

#[tokio::test]
async fn packed_answers_are_kept_unpacked() {
    for coding in CODINGS {
        let head = chunked_head(
            "200 OK",
            &format!("Content-Type: text/event-stream\r\nContent-Encoding: {coding}\r\n"),
        );
        let parts = pack(coding, &three_tokens(), true);
        let play = Play::post("/v1/chat/completions", ASKED).head(head);
        let played = play.with(&parts, keeping(16 * 1024)).await;
        assert_eq!(said(&played.record), text("abc"), "{coding}");
        assert!(!kept(&played.record).output.cut);
    }
    let head = chunked_head("200 OK", "Content-Type: text/event-stream\r\nContent-Encoding: compress\r\n");
    let played =
        Play::post("/v1/chat/completions", ASKED).head(head).with(&three_tokens(), keeping(1024)).await;
    assert!(kept(&played.record).output.choices.is_empty());
    assert!(kept(&played.record).output.cut, "there was something that could not be read");
}

#[tokio::test]
async fn nothing_is_kept_of_what_is_no_call_of_a_model() {
    let play = Play::post("/v1/files", ASKED);
    let played = play.with(&three_tokens(), keeping(16 * 1024)).await;
    assert_eq!(played.record.content, None);
}
