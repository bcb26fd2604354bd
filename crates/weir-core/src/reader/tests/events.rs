use super::*;

#[test]
fn a_plain_stream() {
    let body =
        role() + &token("a").repeat(3) + &token("\\n\\\"") + &token("") + &stop() + &usage(9, 5) + DONE;
    let (reader, seen) = chat(&body);
    let o = output(0, true);
    let (e, t) = (Seen::Event, Seen::Terminal);
    assert_eq!(seen, [e, o, o, o, o, e, e, e, t]);
    let facts = reader.facts();
    assert!(reader.is_stream() && facts.terminal && facts.all_finished && !facts.unterminated);
    assert!(facts.error.is_none() && facts.finished_for("stop") && !facts.finished_for("length"));
    assert_eq!(facts.model.as_deref(), Some("m"));
    assert_eq!((facts.counts.events, facts.counts.chunks), (9, 4));
    let (usage, from) = facts.usage().unwrap();
    assert_eq!((usage.input, usage.output, from), (Some(9), Some(5), Provenance::Reported));
}

#[test]
fn every_channel_is_output_and_only_reasoning_is_no_answer() {
    for (delta, answer) in [
        (r#"{"content":"a"}"#, true),
        (r#"{"content":[{"type":"text","text":"a"}]}"#, true),
        (r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}"#, false),
        (r#"{"reasoning_content":"a","content":null}"#, false),
        (r#"{"content":"","reasoning":"a"}"#, false),
        (r#"{"reasoning_details":[{"type":"reasoning.text"}]}"#, false),
        (r#"{"reasoning":"a","content":"b"}"#, true),
        (r#"{"refusal":"a"}"#, true),
        (r#"{"tool_calls":[{"index":0,"function":{"arguments":""}}]}"#, true),
        (r#"{"function_call":{"name":"f"}}"#, true),
        (r#"{"audio":{"data":"x"}}"#, true),
        (r#"{"role":"assistant","content":"a"}"#, true),
    ] {
        // Twice, so that the second may take the short cut.
        let (_, seen) = chat(&(chunk(delta, "null") + &chunk(delta, "null")));
        assert_eq!(seen, [output(0, answer); 2], "{delta}");
    }
    let nothing =
        ["{}", "null", r#"{"content":null}"#, r#"{"tool_calls":[],"content":""}"#, r#"{"tool_calls":null}"#];
    for delta in nothing {
        assert_eq!(chat(&chunk(delta, "null")).1, [Seen::Event], "{delta}");
    }
}

#[test]
fn events_may_have_names() {
    let named = |event: &str| format!("event: chunk\n{event}");
    let body = named(&token("a")) + &named(&token("b")) + &token("c") + &named(DONE);
    let o = output(0, true);
    assert_eq!(chat(&body).1, [o, o, o, Seen::Terminal]);
    let error = token("d").replace("data:", "event: error\ndata:");
    assert_eq!(chat(&(token("a") + &error)).1, [o, Seen::Error]);
}

#[test]
fn channels_may_alternate() {
    let thought = chunk(r#"{"reasoning":"a"}"#, "null");
    let body = token("a") + &thought + &thought + &token("b") + &token("c") + &thought;
    let (a, r) = (output(0, true), output(0, false));
    assert_eq!(chat(&body).1, [a, r, r, a, a, r]);
}

#[test]
fn missing_and_empty_choices_are_no_tokens() {
    let body = event(r#""choices":[],"prompt_filter_results":[{}]"#)
        + &event(r#""choices":null,"usage":{"prompt_tokens":1,"completion_tokens":2}"#)
        + "data: {\"usage\":{\"prompt_tokens_details\":{\"cached_tokens\":1}}}\n\n"
        + "data: {}\n\n"
        + &event(r#""prompt_progress":{"total":9,"processed":3}"#)
        + &event(r#""choices":[{}],"usage":null"#);
    let (reader, seen) = chat(&body);
    assert_eq!(seen, [Seen::Event; 6]);
    assert_eq!(reader.facts().tokens.reported.unwrap().output, Some(2));
    assert!(!reader.facts().all_finished);
}

#[test]
fn the_first_model_that_is_not_empty_counts() {
    let body = token("a").replace("\"m\"", "\"\"") + &token("a").replace("\"m\"", "null") + &token("a");
    let (reader, _) = chat(&(body + &token("b").replace("\"m\"", "\"other\"")));
    assert_eq!(reader.facts().model.as_deref(), Some("m"));
}

#[test]
fn padding_and_content_may_both_vary() {
    let padded = |text: &str, padding: &str| {
        token(text).replace("]}\n", &format!("],\"usage\":null,\"obfuscation\":\"{padding}\"}}\n"))
    };
    let body = padded("a", "xyz") + &padded("b\\\"", "") + &padded("", "q\\\"") + &padded("c", "x");
    let o = output(0, true);
    assert_eq!(chat(&body).1, [o, o, Seen::Event, o]);
}

#[test]
fn a_broken_event_breaks_nothing_else() {
    let body = token("a")
        + "data: {\"id\":\"x\",\"choices\":[{\"ind\n\n"
        + "data:\n\ndata: null\n\ndata: [1]\n\ndata: {} {}\n\n"
        + &token("b")
        + &stop()
        + DONE;
    let (reader, seen) = chat(&body);
    assert_eq!(seen.iter().filter(|one| **one == Seen::Broken).count(), 5);
    let facts = reader.facts();
    assert_eq!((facts.counts.parse_errors, facts.counts.chunks), (5, 2));
    assert!(facts.terminal && facts.all_finished && facts.error.is_none());
}

#[test]
fn an_event_too_long_is_counted_and_reading_goes_on() {
    let long = token(&"x".repeat(2 * crate::sse::DEFAULT_LIMIT));
    let body = token("a") + &long + &token("b") + &stop();
    let mut reader = Reader::new(Dialect::Chat, &RequestPeek::default(), &head(200, EVENTS));
    let mut seen = Vec::new();
    body.as_bytes().chunks(1000).for_each(|part| reader.feed(part, &mut |one| seen.push(one)));
    reader.finish(&mut |_| {});
    assert_eq!(seen, [output(0, true), output(0, true), Seen::Event]);
    assert_eq!(reader.facts().counts.oversized, 1);
}
