//! What is output by the rule of vLLM's bench, and what by Weir's own.

use super::*;

/// How many chunks a stream has by each rule, and what was seen by vLLM's.
fn by_both(dialect: Dialect, body: &str) -> (u64, u64, Vec<Seen>) {
    let read = |rule, size: usize| {
        let reader = Reader::new(dialect, &RequestPeek::default(), &head(200, EVENTS));
        let (mut reader, mut seen) = (reader.counting(rule), Vec::new());
        body.as_bytes().chunks(size).for_each(|part| reader.feed(part, &mut |one| seen.push(one)));
        reader.finish(&mut |one| seen.push(one));
        (reader.facts().counts.chunks, seen)
    };
    let (own, _) = read(TokenRule::Weir, body.len());
    let (vllm, seen) = read(TokenRule::Vllm, body.len());
    for size in [1, 3, 50] {
        assert_eq!(read(TokenRule::Vllm, size), (vllm, seen.clone()), "by {size}");
    }
    (own, vllm, seen)
}

/// Each event of a chat by itself, with what it is by vLLM's rule.
fn is_output(delta: &str) -> Option<bool> {
    let (_, _, seen) = by_both(Dialect::Chat, &chunk(delta, "null"));
    match seen[..] {
        [Seen::Output { answer, .. }] => Some(answer),
        [Seen::Event] => None,
        _ => panic!("{delta}: {seen:?}"),
    }
}

#[test]
fn a_chat_as_vllm_writes_it() {
    // The role, two words, a token without text, and the end with an empty content.
    let body = role()
        + &token("Hel")
        + &token("lo")
        + &token("")
        + &chunk(r#"{"content":""}"#, "\"stop\"")
        + &usage(9, 4)
        + DONE;
    let (own, vllm, seen) = by_both(Dialect::Chat, &body);
    assert_eq!((own, vllm), (2, 4));
    let (event, word) = (Seen::Event, output(0, true));
    assert_eq!(seen, [event, word, word, word, word, event, Seen::Terminal]);
    // The end without a content is none.
    let (own, vllm, _) = by_both(Dialect::Chat, &(role() + &token("a") + &stop() + DONE));
    assert_eq!((own, vllm), (1, 1));
}

#[test]
fn a_chat_by_its_deltas() {
    for (delta, expected) in [
        (r#"{"content":"a"}"#, Some(true)),
        (r#"{"role":"assistant","content":"a"}"#, Some(true)),
        (r#"{"content":""}"#, Some(true)),
        (r#"{"content":"","role":"assistant"}"#, None),
        (r#"{"role":null,"content":""}"#, None),
        (r#"{"content":null}"#, None),
        (r#"{"content":[]}"#, None),
        (r#"{"content":[{"type":"text","text":"a"}]}"#, Some(true)),
        (r#"{"reasoning":"a"}"#, Some(false)),
        (r#"{"reasoning":"a","content":""}"#, Some(true)),
        (r#"{"reasoning":""}"#, None),
        (r#"{"reasoning_content":"a"}"#, None),
        (r#"{"reasoning_content":"a","content":null}"#, None),
        (r#"{"refusal":"a"}"#, None),
        (r#"{"tool_calls":[{"index":0,"function":{"arguments":""}}]}"#, Some(true)),
        (r#"{"tool_calls":[]}"#, None),
        (r#"{"function_call":{"name":"f"}}"#, Some(true)),
        ("{}", None),
        ("null", None),
    ] {
        assert_eq!(is_output(delta), expected, "{delta}");
    }
}

#[test]
fn only_the_first_choice_of_an_event_counts() {
    let choice = |index: u32, delta: &str| format!(r#"{{"index":{index},"delta":{delta}}}"#);
    let two =
        |one: &str, other: &str| event(&format!(r#""choices":[{},{}]"#, choice(1, one), choice(0, other)));
    let (text, nothing) = (r#"{"content":"a"}"#, "{}");
    assert_eq!(by_both(Dialect::Chat, &two(text, nothing)).1, 1);
    let (own, vllm, _) = by_both(Dialect::Chat, &two(nothing, text));
    assert_eq!((own, vllm), (1, 0));
    assert_eq!(by_both(Dialect::Chat, &event(r#""choices":[]"#)).1, 0);
}

#[test]
fn the_short_cut_is_of_weirs_rule_alone() {
    // An event that was learnt with text would not count without.
    let body = token("a") + &token("b") + &token("") + &token("c") + &token("");
    let (own, vllm, _) = by_both(Dialect::Chat, &body);
    assert_eq!((own, vllm), (3, 5));
}

#[test]
fn completions_count_with_any_choice() {
    let part =
        |text: &str| event(&format!(r#""choices":[{{"index":0,"text":"{text}","finish_reason":null}}]"#));
    let end = event(r#""choices":[{"index":0,"text":"","finish_reason":"length"}]"#);
    let body = part("a") + &part("") + &part("b") + &end + &usage(3, 4) + DONE;
    let (own, vllm, _) = by_both(Dialect::Completions, &body);
    assert_eq!((own, vllm), (2, 4));
}

#[test]
fn responses_count_by_their_type() {
    let body = typed(&[
        ("response.created", r#""response":{"status":"in_progress"}"#),
        ("response.reasoning_text.delta", r#""delta":"a""#),
        ("response.reasoning_summary_text.delta", r#""delta":"a""#),
        ("response.output_text.delta", r#""delta":"a""#),
        ("response.output_text.delta", r#""delta":"""#),
        ("response.refusal.delta", r#""delta":"a""#),
        ("response.function_call_arguments.delta", r#""delta":"{}""#),
        ("response.completed", r#""response":{"status":"completed"}"#),
    ]);
    let (own, vllm, seen) = by_both(Dialect::Responses, &body);
    assert_eq!((own, vllm), (5, 3));
    assert_eq!(seen[1], output(0, false));
}

#[test]
fn other_streams_are_left_alone() {
    let messages = typed(&[
        ("content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"a"}"#),
        ("content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":""}"#),
    ]);
    let (own, vllm, _) = by_both(Dialect::Messages, &messages);
    assert_eq!((own, vllm), (1, 1));
    // vLLM's transcriptions come as chunks of a chat.
    let (own, vllm, _) = by_both(Dialect::Transcription, &(token("a") + &token("")));
    assert_eq!((own, vllm), (1, 1));
}

#[test]
fn a_stream_without_a_token_has_none_by_the_rule_alone() {
    let body = role() + &chunk(r#"{"reasoning_content":"hm"}"#, "null") + &stop() + DONE;
    let (own, vllm, seen) = by_both(Dialect::Chat, &body);
    assert_eq!((own, vllm), (1, 0));
    assert_eq!(seen.last(), Some(&Seen::Terminal));
}
