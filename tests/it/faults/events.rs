//! Server-sent events: how they are framed, and how they are cut.

use weir_core::timeline::Mark;

use crate::harness::sse::{DONE, content, data, delta, finish, role, three_tokens, usage};
use crate::harness::{LAST_CHUNK, Play, Rig, SPLITS, chunk, split};

#[tokio::test]
async fn a_character_cut_in_two_stays_one() {
    for (text, cuts) in [("\u{5317}", 1..3), ("\u{1f600}", 1..4)] {
        for cut in cuts {
            let stream = [role(), content(text), finish("stop"), DONE.to_owned()].concat();
            let at = stream.find(text).unwrap() + cut;
            let (one, other) = stream.as_bytes().split_at(at);
            let played = Play::chat().parts(&[one, other]).await;
            assert_eq!(played.verdict(), ("completed", None));
            played.came_with(&[1]);
            assert_eq!(played.record.answer.scan.broken, 0);
        }
    }
}

/// What is recorded does not depend on how the stream was written.
#[tokio::test]
async fn the_write_pattern_makes_no_difference() {
    let text = "\u{5317}\u{1f600}\u{2028}";
    let stream = [role(), content(text), content("b"), finish("stop"), usage(7, 2), DONE.to_owned()].concat();
    for size in SPLITS {
        let played = Play::chat().parts(&split(stream.as_bytes(), size)).await;
        assert_eq!(played.verdict(), ("completed", None));
        assert_eq!(played.usage(), Some((Some(7), Some(2))));
        let answer = &played.record.answer;
        assert_eq!((answer.scan.events, answer.scan.broken, answer.scan.comments), (6, 0, 0));
        assert_eq!(played.output().chunks, 2);
    }
}

#[tokio::test]
async fn every_line_end_will_do() {
    for end in ["\n", "\r\n", "\r"] {
        let events: Vec<_> = three_tokens().iter().map(|event| event.replace('\n', end)).collect();
        let played = Play::chat().parts(&events).await;
        assert_eq!(played.verdict(), ("completed", None), "{end:?}");
        assert_eq!(played.usage(), Some((Some(7), Some(3))));
        assert_eq!(played.record.answer.scan.events, 7);
        played.came_with(&[1, 2, 3]);
        played.mark_came_with(Mark::Terminal, 6);

        let stream = events.concat();
        for size in SPLITS {
            let played = Play::chat().parts(&split(stream.as_bytes(), size)).await;
            assert_eq!((played.output().chunks, played.record.answer.scan.events), (3, 7), "{end:?}");
        }
    }
}

/// The two bytes of one line end, written apart.
#[tokio::test]
async fn a_line_end_cut_in_two_is_one() {
    let stream = three_tokens().concat().replace('\n', "\r\n");
    let cut = stream.find("}\r").unwrap() + 2;
    let (one, other) = stream.as_bytes().split_at(cut);
    let played = Play::chat().parts(&[one, other]).await;
    assert_eq!((played.output().chunks, played.record.answer.scan.events), (3, 7));
    played.came_with(&[1, 1, 1]);
}

#[tokio::test]
async fn the_blank_after_the_colon_may_be_missing_or_doubled() {
    for field in ["data:", "data: ", "data:  "] {
        for done in ["[DONE]", "[DONE]  ", " [DONE]\t"] {
            let mut events: Vec<_> =
                three_tokens().iter().map(|event| event.replacen("data: ", field, 1)).collect();
            events[6] = format!("data:{done}\n\n");
            let played = Play::chat().parts(&events).await;
            assert_eq!(played.verdict(), ("completed", None), "{field:?} {done:?}");
            played.came_with(&[1, 2, 3]);
            played.mark_came_with(Mark::Terminal, 6);
        }
    }
}

#[tokio::test]
async fn comments_pass_at_once_and_are_no_tokens() {
    let mut events = vec![": OPENROUTER PROCESSING\n\n".to_owned(); 20];
    events.extend([role(), content("a"), finish("stop"), DONE.to_owned()]);
    let played = Play::chat().parts(&events).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!((played.record.answer.scan.comments, played.record.answer.scan.events), (20, 4));
    played.mark_came_with(Mark::FirstByte, 0);
    played.mark_came_with(Mark::FirstEvent, 20);
    played.came_with(&[21]);
}

#[tokio::test]
async fn a_comment_inside_an_event_is_not_part_of_it() {
    let event = "data: {\"choices\":[{\"index\":0,\n:x\n:\ndata: \"delta\":{\"content\":\"x\"}}]}\n\n";
    let played = Play::chat().parts(&[event, &finish("stop"), DONE]).await;
    assert_eq!((played.record.answer.scan.comments, played.record.answer.scan.broken), (2, 0));
    played.came_with(&[0]);
}

/// With and without what should end the last event.
#[tokio::test]
async fn the_last_event_counts_without_its_blank_line() {
    let last = concat!(
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"#,
        r#""usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}}"#
    );
    for (end, unterminated) in [("\n\n", false), ("\n", true), ("", true), ("\r", true)] {
        let played = Play::chat().parts(&[role(), content("a"), format!("{last}{end}")]).await;
        assert!(played.whole);
        assert_eq!(played.verdict(), ("completed", Some("missing_done")), "{end:?}");
        assert_eq!((played.usage(), played.finish_reasons()), (Some((Some(7), Some(1))), vec!["stop"]));
        assert_eq!(played.record.answer.scan.unterminated, unterminated, "{end:?}");
    }
}

/// A token may be what was left unterminated. It came when its bytes did.
#[tokio::test]
async fn a_last_token_without_its_blank_line_came_with_its_bytes() {
    let played = Play::chat().parts(&[role(), content("a"), content("b").trim_end().to_owned()]).await;
    assert_eq!(played.verdict(), ("truncated", Some("stream_truncated")));
    played.came_with(&[1, 2]);
}

/// It passes while it comes, and those after it are read again.
#[tokio::test]
async fn an_event_of_4_mib_passes_as_it_comes() {
    let large = content(&"QUJD".repeat(1 << 20));
    let mut parts = vec![role().into_bytes(), content("a").into_bytes()];
    parts.extend(split(large.as_bytes(), 256 * 1024));
    let behind = parts.len();
    parts.extend([content("b"), finish("stop"), usage(7, 3), DONE.to_owned()].map(String::into_bytes));
    let played = Play::chat().parts(&parts).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!((played.record.answer.scan.oversized, played.record.answer.scan.broken), (1, 0));
    assert_eq!(played.tokens(), Some((3, "reported")));
    played.came_with(&[1, behind]);
}

#[tokio::test]
async fn an_event_of_64_mib_passes_too() {
    const PARTS: usize = 64;
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.forget();
    client.ask(r#"{"stream":true}"#).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(crate::harness::message::stream_head()).await;
    client.response_head().await;
    let part = vec![b'x'; 1 << 20];
    let framed = chunk(&part);
    engine.send(chunk("data: ")).await;
    for _ in 0..PARTS {
        let read = async {
            client.body_of(part.len()).await;
            client.body().drain(..part.len());
        };
        tokio::join!(engine.send(&framed), read);
    }
    let rest = ["\n\n".to_owned(), content("a"), finish("stop"), DONE.to_owned()].concat();
    engine.send(chunk(&rest)).await;
    engine.send(LAST_CHUNK).await;
    assert!(client.body_to_end().await);
    let record = rig.record().await;
    assert_eq!(record.answer.bytes, (6 + PARTS * part.len() + rest.len()) as u64);
    assert_eq!((record.outcome.as_str(), record.answer.scan.oversized), ("completed", 1));
    assert_eq!(record.answer.output.map(|output| output.chunks), Some(1));
}

#[tokio::test]
async fn the_lines_of_an_event_belong_together() {
    let event = "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"x\"}}]}\n\n";
    let played = Play::chat().parts(&[role().as_str(), event, event, &finish("stop"), DONE]).await;
    assert_eq!(played.verdict(), ("completed", None));
    played.came_with(&[1, 2]);
}

#[tokio::test]
async fn many_events_in_one_write_came_at_once() {
    let mut stream = role();
    (0..500).for_each(|_| stream.push_str(&content("a")));
    stream.push_str(&(finish("stop") + DONE));
    let played = Play::chat().parts(&[stream]).await;
    let output = played.output();
    assert_eq!((output.chunks, output.gaps.itl.count), (500, 499));
    assert_eq!(played.tokens(), Some((500, "counted_chunks")));
    played.mark_came_with(Mark::FirstToken, 0);
    played.mark_came_with(Mark::LastToken, 0);
}

#[tokio::test]
async fn streams_of_unknown_apis_pass_unread() {
    let events = [
        data(r#"{"kind":"begin"}"#),
        "event: piece\ndata: {\"text\":\"a\"}\n\n".to_owned(),
        data(r#"{"kind":"end","usage":{"input_tokens":4,"output_tokens":1}}"#),
    ];
    let played = Play::post("/v1/novelties", r#"{"stream":true}"#).parts(&events).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!((played.tokens(), played.usage()), (None, None));
    played.lacks(Mark::FirstToken);
}

/// The order of an event's fields does not matter.
#[tokio::test]
async fn an_error_may_be_named_after_its_data() {
    let played = Play::chat().parts(&["data: {\"message\":\"busy\"}\nevent: error\n\n"]).await;
    assert_eq!(played.verdict(), ("stream_error", Some("stream_error")));
}

#[tokio::test]
async fn events_without_choices_are_no_tokens() {
    let events = [
        data(r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}],"model":"","id":""}"#),
        role(),
        delta(0, "null", "null"),
        delta(0, r#"{"content":null}"#, "null"),
        content("a"),
        finish("stop"),
        data(r#"{"choices":null,"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}}"#),
        data(r#"{"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}}"#),
        data("{}"),
        DONE.to_owned(),
    ];
    let played = Play::chat().parts(&events).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!(played.usage(), Some((Some(7), Some(1))));
    assert_eq!((played.record.answer.model.as_deref(), played.record.answer.scan.broken), (Some("m"), 0));
    played.came_with(&[4]);
    played.mark_came_with(Mark::FirstEvent, 0);
}

#[tokio::test]
async fn an_empty_finish_reason_finishes_nothing() {
    for none in [r#""""#, r#""null""#] {
        let mut events: Vec<_> = (0..5).map(|_| delta(0, r#"{"content":"a"}"#, none)).collect();
        let played = Play::chat().parts(&events).await;
        assert_eq!(played.verdict(), ("truncated", Some("stream_truncated")), "{none}");

        events.push(delta(0, "{}", r#""tool_calls""#));
        events.push(DONE.to_owned());
        let played = Play::chat().parts(&events).await;
        assert_eq!(played.verdict(), ("completed", None));
        assert_eq!(played.finish_reasons(), ["tool_calls"]);
        played.came_with(&[0, 1, 2, 3, 4]);
    }
}

#[tokio::test]
async fn broken_events_are_counted_and_harm_nothing() {
    let mut events = vec![role()];
    events.extend((0..9).map(|_| content("a")));
    events.push(data(r#"{"id":"x","choices":[{"ind"#));
    events.extend((0..51).map(|_| content("b")));
    events.extend([data("null"), data("[1]"), "data: \n\n".to_owned()]);
    events.extend([finish("stop"), usage(7, 60), DONE.to_owned()]);
    let played = Play::chat().parts(&events).await;
    assert_eq!(played.verdict(), ("completed", None));
    assert_eq!((played.tokens(), played.output().chunks), (Some((60, "reported")), 60));
    assert_eq!(played.record.answer.scan.broken, 4);
    let chunks: Vec<_> = (1..10).chain(11..62).collect();
    played.came_with(&chunks);
}
