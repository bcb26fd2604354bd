//! How answers end: whole, cut off, with an error, without what should end them.

use weir_core::timeline::Mark;

use crate::harness::play::verdict;
use crate::harness::sse::{DONE, content, data, finish, role, usage};
use crate::harness::{Ending, Play, Played, Rig, chunk, request};

const STREAM_ERROR: (&str, Option<&str>) = ("stream_error", Some("stream_error"));

#[tokio::test]
async fn an_error_as_the_first_event_is_no_success() {
    for events in [
        vec!["event: error\ndata: {\"error\":{\"code\":\"1302\",\"message\":\"busy\"}}\n\n", DONE],
        vec![": ping\n\n", "data: {\"error\":{\"type\":\"service_unavailable_error\"}}\n\n"],
        vec!["data: {\"statusCodeValue\":429,\"statusCode\":\"TOO_MANY_REQUESTS\"}\n\n"],
        vec!["data: {\"object\":\"error\",\"message\":\"no\",\"code\":400}\n\n", DONE],
        vec!["data: {\"error\":\"busy\"}\n\n"],
    ] {
        let played = Play::chat().parts(&events).await;
        assert_eq!(played.verdict(), STREAM_ERROR, "{events:?}");
        assert_eq!((played.record.status, played.whole), (Some(200), true));
        assert_eq!((played.tokens(), played.record.answer.output.is_none()), (None, true));
        played.lacks(Mark::FirstToken);
    }
}

#[tokio::test]
async fn an_error_after_tokens_keeps_them() {
    let error = "event: error\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n".to_owned();
    let plain = data(r#"{"error":{"message":"x","type":"InternalServerError","code":500}}"#);
    let both = data(
        r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"x"}}"#,
    );
    for error in [error, plain, both] {
        for tail in [vec![], vec![DONE.to_owned()]] {
            let mut events = vec![role()];
            events.extend((0..20).map(|_| content("a")));
            events.push(error.clone());
            events.extend(tail);
            let played = Play::chat().parts(&events).await;
            assert_eq!(played.verdict(), STREAM_ERROR, "{error}");
            assert_eq!(played.tokens(), Some((20, "counted_chunks")));
            played.came_with(&(1..=20).collect::<Vec<_>>());
        }
    }
}

/// Also where the connection breaks behind the error.
#[tokio::test]
async fn an_error_and_then_a_broken_connection_is_the_error() {
    let events = [role(), content("a"), data(r#"{"error":{"message":"x"}}"#)];
    let played = Play::chat().ending(Ending::Reset).parts(&events).await;
    assert_eq!((played.verdict(), played.whole), (STREAM_ERROR, false));
}

async fn ended(tail: &[String]) -> Played {
    let mut events = vec![role()];
    events.extend((0..5).map(|_| content("a")));
    events.extend_from_slice(tail);
    let played = Play::chat().parts(&events).await;
    assert!(played.whole);
    played.came_with(&[1, 2, 3, 4, 5]);
    played
}

#[tokio::test]
async fn complete_is_what_has_a_finish_reason_or_a_terminal_event() {
    let done = || DONE.to_owned();
    let played = ended(&[]).await;
    assert_eq!(played.verdict(), ("truncated", Some("stream_truncated")));
    played.lacks(Mark::Terminal);
    let played = ended(&[finish("stop"), usage(7, 5)]).await;
    assert_eq!(played.verdict(), ("completed", Some("missing_done")));
    assert_eq!(played.tokens(), Some((5, "reported")));
    let played = ended(&[done()]).await;
    assert_eq!(played.verdict(), ("completed", Some("missing_finish")));
    assert_eq!(played.finish_reasons(), [""; 0]);
    let played = ended(&[finish("stop"), done()]).await;
    assert_eq!(played.verdict(), ("completed", None));
    // Reasons are not a closed set.
    let played = ended(&[finish("eos_token"), done()]).await;
    assert_eq!((played.verdict(), played.finish_reasons()), (("completed", None), vec!["eos_token"]));
}

#[tokio::test]
async fn a_stream_of_nothing_is_cut_off() {
    let played = Play::chat().parts::<&str>(&[]).await;
    assert_eq!(played.verdict(), ("truncated", Some("stream_truncated")));
    played.lacks(Mark::FirstByte);
    let played = Play::chat().parts(&[role(), finish("content_filter"), DONE.to_owned()]).await;
    assert_eq!(played.verdict(), ("completed", None), "a filter may leave nothing");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_not_ended_for_it() {
    for ending in [Ending::Fin, Ending::Reset] {
        let events: Vec<_> = (0..40).map(|_| content("a")).collect();
        let played = Play::chat().ending(ending).parts(&events).await;
        assert!(!played.whole, "{ending:?}: the client must see that it was cut off");
        assert_eq!(played.verdict(), ("truncated", Some("upstream_reset")));
        assert_eq!(played.tokens(), Some((40, "counted_chunks")));
        played.came_with(&(0..40).collect::<Vec<_>>());
    }
}

/// What mattered had come.
#[tokio::test]
async fn a_stream_that_breaks_off_behind_its_end_is_complete() {
    for tail in [vec![finish("stop"), DONE.to_owned()], vec![finish("stop")]] {
        let mut events = vec![content("a")];
        events.extend(tail);
        let played = Play::chat().ending(Ending::Reset).parts(&events).await;
        assert_eq!((played.whole, played.verdict()), (false, ("completed", Some("upstream_reset"))));
    }
}

#[tokio::test]
async fn a_body_shorter_than_its_length_is_cut_off() {
    for path in ["/v1/chat/completions", "/v1/files"] {
        let (mut rig, upstream) = Rig::start().await;
        let mut client = rig.client().await;
        client.send(request(&format!("POST {path}"), "", "{}")).await;
        let (mut engine, _) = upstream.asked().await;
        engine
            .send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
            .await;
        engine.send([b'x'; 700]).await;
        client.response_head().await;
        client.body_of(700).await;
        drop(engine);
        assert!(!client.body_to_end().await);
        assert_eq!(client.body().len(), 700);
        let record = rig.record().await;
        assert_eq!(verdict(&record), ("truncated", Some("upstream_reset")));
        assert_eq!((record.status, record.answer.bytes), (Some(200), 700));
    }
}

#[tokio::test]
async fn chunks_that_are_none_break_the_answer_off() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.ask(r#"{"stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(crate::harness::message::stream_head()).await;
    engine.send(chunk(content("a"))).await;
    client.response_head().await;
    client.body_of(content("a").len()).await;
    engine.send("this is no chunk\r\n").await;
    assert!(!client.body_to_end().await);
    assert_eq!(verdict(&rig.record().await), ("truncated", Some("upstream_reset")));
    engine.closed().await;
}
