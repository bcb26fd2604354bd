//! When tokens came: every time is compared with when its bytes were written and read.

use weir_core::timeline::Mark;

use crate::harness::sse::{DONE, content, data, delta, finish, role, usage};
use crate::harness::{LAST_CHUNK, Play, Rig, chunk, now, request};

#[tokio::test]
async fn the_role_is_not_the_first_token() {
    for prelude in
        [vec![role()], vec![": a\n\n".to_owned(), ":\n\n".to_owned(), ": c\n\n".to_owned(), role()]]
    {
        let at = prelude.len();
        let mut events = prelude;
        events.extend([content("a"), content("b"), finish("stop"), DONE.to_owned()]);
        let played = Play::chat().parts(&events).await;
        played.mark_came_with(Mark::FirstByte, 0);
        played.mark_came_with(Mark::FirstEvent, at - 1);
        played.mark_came_with(Mark::FirstAnswer, at);
        played.came_with(&[at, at + 1]);
        let timeline = &played.record.timeline;
        assert_eq!(timeline.ttft(), timeline.at(Mark::FirstToken));
        assert!(timeline.upstream_ttft() < timeline.ttft(), "measured from the hand-over");
    }
}

#[tokio::test]
async fn reasoning_is_output_and_no_answer() {
    for thought in [
        r#"{"reasoning_content":"hm"}"#,
        r#"{"reasoning":"hm"}"#,
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"hm"}]}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
    ] {
        let mut events = vec![role()];
        events.extend((0..50).map(|_| delta(0, thought, "null")));
        let mut answered = events.clone();
        answered.extend([content("yes"), finish("stop"), DONE.to_owned()]);
        let played = Play::chat().parts(&answered).await;
        let chunks: Vec<_> = (1..52).collect();
        played.came_with(&chunks);
        played.mark_came_with(Mark::FirstAnswer, 51);

        events.extend([finish("length"), DONE.to_owned()]);
        let played = Play::chat().parts(&events).await;
        played.came_with(&chunks[..50]);
        played.lacks(Mark::FirstAnswer);
        assert_eq!((played.verdict(), played.finish_reasons()), (("completed", None), vec!["length"]));
    }
}

#[tokio::test]
async fn tool_calls_are_output() {
    let call =
        r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}"#;
    let piece = r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]}"#;
    let old = r#"{"function_call":{"name":"f","arguments":"{"}}"#;
    for (first, next) in [(call, piece), (old, old)] {
        let events = [
            delta(0, r#"{"role":"assistant","content":null}"#, "null"),
            delta(0, first, "null"),
            delta(0, next, "null"),
            delta(0, next, "null"),
            finish("tool_calls"),
            DONE.to_owned(),
        ];
        let played = Play::chat().parts(&events).await;
        assert_eq!((played.verdict(), played.finish_reasons()), (("completed", None), vec!["tool_calls"]));
        played.came_with(&[1, 2, 3]);
        played.mark_came_with(Mark::FirstAnswer, 1);
    }
}

#[tokio::test]
async fn ten_tokens_have_nine_gaps() {
    let mut events: Vec<_> = (0..10).map(|_| content("a")).collect();
    events.extend([finish("stop"), DONE.to_owned()]);
    let played = Play::chat().parts(&events).await;
    played.came_with(&(0..10).collect::<Vec<_>>());
    let gaps = &played.output().gaps;
    assert_eq!((gaps.itl.count, gaps.inter_chunk.count), (9, 9));
    assert_eq!(gaps.itl.sum_ns, gaps.inter_chunk.sum_ns);
}

#[tokio::test]
async fn a_chunk_is_not_a_token() {
    let mut events: Vec<_> = (0..10).map(|_| content("four tokens at once")).collect();
    events.extend([finish("stop"), usage(7, 40), DONE.to_owned()]);
    let played = Play::chat().parts(&events).await;
    assert_eq!((played.tokens(), played.output().chunks), (Some((40, "reported")), 10));
    assert_eq!(played.output().itl_basis.as_str(), "chunks", "no chunk told how many it carried");
    let span = played.record.timeline.between(Mark::FirstToken, Mark::LastToken).unwrap();
    let tpot = played.record.tpot().unwrap();
    assert!((tpot - span.as_secs_f64() / 39.0).abs() < 1e-12, "time per token goes by tokens");
}

/// Totals that run from chunk to chunk tell what each carried.
#[tokio::test]
async fn running_totals_tell_the_tokens_of_each_chunk() {
    let running = |total: u64| {
        data(&format!(
            concat!(
                r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":null}}],"#,
                r#""usage":{{"prompt_tokens":7,"completion_tokens":{},"total_tokens":{}}}}}"#
            ),
            total,
            7 + total
        ))
    };
    let mut events = vec![role()];
    events.extend((1..=10).map(|chunk| running(chunk * 4)));
    events.extend([finish("stop"), usage(7, 40), DONE.to_owned()]);
    let played = Play::chat().parts(&events).await;
    let output = played.output();
    assert_eq!((output.chunks, output.tokens, output.itl_basis.as_str()), (10, 40, "tokens"));
    assert_eq!(played.tokens(), Some((40, "reported")));
    assert_eq!((output.gaps.inter_chunk.count, output.gaps.itl.count), (9, 36));
    played.came_with(&(1..=10).collect::<Vec<_>>());
}

#[tokio::test]
async fn one_token_or_none_has_no_time_per_token() {
    for (tokens, reported) in [(1, Some(1)), (0, Some(0)), (1, None)] {
        let mut events = vec![role()];
        events.extend((0..tokens).map(|_| content("a")));
        events.push(finish("stop"));
        events.extend(reported.map(|count| usage(7, count)));
        events.push(DONE.to_owned());
        let played = Play::chat().parts(&events).await;
        assert_eq!((played.record.tpot(), played.record.tps()), (None, None));
        if tokens == 0 {
            assert_eq!(played.verdict(), ("completed", Some("empty_stream")));
            played.lacks(Mark::FirstToken);
            played.lacks(Mark::LastToken);
            assert_eq!(played.record.answer.output, None);
            assert_eq!(played.tokens(), Some((0, "reported")));
        } else {
            assert_eq!(played.verdict(), ("completed", None));
            played.came_with(&[1]);
            assert_eq!(played.output().gaps.itl.count, 0);
        }
    }
}

/// Marks in their order, figures by the formulas.
#[tokio::test]
async fn marks_come_in_their_order() {
    let played = Play::chat().parts(&crate::harness::sse::three_tokens()).await;
    let timeline = &played.record.timeline;
    let marks: Vec<_> = timeline.iter().collect();
    assert_eq!(marks.len(), Mark::ALL.len(), "every mark came: {marks:?}");
    assert!(marks.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{marks:?}");
    let span = timeline.between(Mark::FirstToken, Mark::LastToken).unwrap().as_secs_f64();
    assert!((played.record.tpot().unwrap() - span / 2.0).abs() < 1e-12);
    assert!((played.record.tps().unwrap() - 2.0 / span).abs() < 1e-6);
    assert_eq!(timeline.e2e(), timeline.at(Mark::LastToken));
    assert_eq!(Some(played.record.duration()), timeline.at(Mark::Ended));
}

/// No event waits for the acknowledgement of the one before, which takes 40 ms.
#[tokio::test]
async fn small_events_do_not_wait_for_acknowledgements() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(request("POST /v1/chat/completions", "", "{}")).await;
    let (mut engine, _) = upstream.asked().await;
    engine.send(crate::harness::message::stream_head()).await;
    client.response_head().await;
    let mut delays = Vec::new();
    for event in 1..=100 {
        let before = now();
        // Two writes of which the second would wait, and a client that never writes.
        engine.send(chunk("data: ")).await;
        engine.send(chunk("12\n\n")).await;
        client.body_of(event * 10).await;
        delays.push(now() - before);
    }
    engine.send(LAST_CHUNK).await;
    delays.sort_unstable();
    assert!(delays[50] < 20_000_000, "half of the events took {} ns and more", delays[50]);
}

/// Arrivals are noted when they come, and nothing waits for more.
#[tokio::test]
async fn an_event_passes_while_the_next_is_not_even_begun() {
    // Half of an event passes too.
    let event = content("a");
    let (one, other) = event.split_at(40);
    let played = Play::chat().parts(&[one, other, &finish("stop"), DONE]).await;
    played.mark_came_with(Mark::FirstByte, 0);
    played.came_with(&[1]);
}
