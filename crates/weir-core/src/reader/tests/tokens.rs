use super::*;

#[test]
fn the_last_complete_usage_holds() {
    let running: String = (1..=50).map(|n| usage(10, n)).collect();
    let partial = event(r#""choices":[],"usage":{"prompt_tokens_details":{"cached_tokens":0}}"#);
    let (reader, _) = chat(&(running + &usage(10, 50) + &partial + &event(r#""choices":[],"usage":null"#)));
    let usage = reader.facts().tokens.reported.unwrap();
    assert_eq!((usage.input, usage.output, usage.cached_input), (Some(10), Some(50), None));
}

#[test]
fn usage_in_odd_places() {
    let object = r#""usage":{"prompt_tokens":3,"completion_tokens":4}"#;
    for fields in [
        format!(r#""choices":[],"x_groq":{{"id":"r",{object}}}"#),
        format!(r#""choices":[{{"index":0,"delta":{{}},"finish_reason":"stop",{object}}}]"#),
        format!(r#" "choices" : [ ] , {}"#, object.replace(':', " : ")),
    ] {
        let (reader, _) = chat(&event(&fields));
        assert_eq!(reader.facts().tokens.reported.and_then(|u| u.output), Some(4), "{fields}");
    }
}

#[test]
fn prompts_that_report_one_by_one_add_up() {
    let part = |index: u32, reason: &str, usage: &str| {
        event(&format!(
            r#""choices":[{{"index":{index},"text":"a","finish_reason":{reason}}}],"usage":{usage}"#
        ))
    };
    let counts = |input: u32| {
        format!(r#"{{"prompt_tokens":{input},"completion_tokens":10,"total_tokens":{}}}"#, input + 10)
    };
    let body =
        part(0, "\"\"", "null") + &part(1, "\"length\"", &counts(5)) + &part(0, "\"length\"", &counts(6));
    let expected = Usage { input: Some(11), output: Some(20), total: Some(31), ..Usage::default() };
    let (reader, _) = completions(&body);
    assert_eq!(reader.facts().usage(), Some((expected, Provenance::Reported)));
    // A last object that speaks for all of them is better.
    let (reader, _) = completions(&(body + &usage(11, 21)));
    assert_eq!(reader.facts().usage().unwrap().0.output, Some(21));
}

#[test]
fn choices_with_timings_of_their_own_add_up() {
    let own =
        |fields: &str| event(&format!(r#"{fields},"timings":{{"cache_n":2,"prompt_n":1,"predicted_n":5}}"#));
    let end = |index: u32| format!(r#""choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]"#);
    let two = RequestPeek { choices: 2, ..RequestPeek::default() };
    let expected = Usage {
        input: Some(3),
        output: Some(10),
        total: Some(13),
        cached_input: Some(2),
        ..Usage::default()
    };
    let body = own(&end(0)) + &own(&end(1));
    let (reader, _) = read_as(Dialect::Chat, &two, &head(200, EVENTS), &body);
    assert_eq!(reader.facts().usage(), Some((expected, Provenance::EngineTimings)));
    let usage = r#""choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":2}}"#;
    let body = event(&end(0)) + &own(usage) + &event(&end(1)) + &own(usage);
    let (reader, _) = read_as(Dialect::Chat, &two, &head(200, EVENTS), &body);
    assert_eq!(reader.facts().usage(), Some((expected, Provenance::Reported)));
    // Half of the choices say nothing certain of the prompt.
    let three = RequestPeek { choices: 3, ..RequestPeek::default() };
    let (reader, _) = read_as(Dialect::Chat, &three, &head(200, EVENTS), &body);
    assert_eq!(reader.facts().usage().map(|(usage, _)| (usage.input, usage.output)), Some((None, Some(10))));
}

#[test]
fn timings_stand_in_for_usage() {
    let timings =
        event(r#""choices":[],"timings":{"cache_n":2,"prompt_n":7,"predicted_n":3,"predicted_ms":1.5}"#);
    let (reader, _) = chat(&(token("a") + &timings));
    let (usage, from) = reader.facts().usage().unwrap();
    assert_eq!((usage.input, usage.output, usage.cached_input), (Some(9), Some(3), Some(2)));
    assert_eq!(from, Provenance::EngineTimings);
}

#[test]
fn tokens_are_known_only_where_something_counts_them() {
    let ids = |n: usize| {
        token("a").replace("\"logprobs\"", &format!("\"token_ids\":{:?},\"logprobs\"", vec![7; n]))
    };
    let (reader, seen) = chat(&(ids(2) + &ids(3) + &stop()));
    assert_eq!(seen, [output(2, true), output(3, true), Seen::Event]);
    assert_eq!(
        reader.facts().usage().map(|(u, from)| (u.output, from)),
        Some((Some(5), Provenance::TokenIds))
    );

    let logprobs = token("a").replace(
        "\"logprobs\":null",
        r#""logprobs":{"content":[{"token":"a"},{"token":"b"}],"refusal":null}"#,
    );
    let (reader, seen) = chat(&logprobs.repeat(2));
    assert_eq!(seen, [output(2, true); 2]);
    assert_eq!(
        reader.facts().usage().map(|(u, from)| (u.output, from)),
        Some((Some(4), Provenance::Logprobs))
    );

    // One chunk that is not counted, and the sum is none.
    let (reader, seen) = chat(&(ids(2) + &token("a")));
    assert_eq!(seen, [output(2, true), output(0, true)]);
    assert_eq!(
        reader.facts().usage().map(|(u, from)| (u.output, from)),
        Some((Some(2), Provenance::CountedChunks))
    );

    // An empty list of log probabilities counts nothing.
    let (reader, _) = chat(&token("a").replace("\"logprobs\":null", r#""logprobs":{"content":[]}"#));
    assert_eq!(reader.facts().tokens.listed_as, None);
}

#[test]
fn a_running_total_counts_from_chunk_to_chunk() {
    let with = |text: &str, total: u64| {
        token(text).replace(
            "]}\n",
            &format!("],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":{total}}}}}\n"),
        )
    };
    let (reader, seen) = chat(&(with("", 0) + &with("a", 4) + &with("", 5) + &with("b", 8) + &with("c", 8)));
    let (e, none) = (Seen::Event, output(0, true));
    assert_eq!(seen, [e, output(4, true), e, output(4, true), none]);
    assert_eq!(reader.facts().tokens.uncounted_chunks, 0);
    // A total that comes with the last chunk alone says nothing of that chunk.
    assert_eq!(chat(&(token("a") + &token("b") + &with("c", 3))).1, [none; 3]);
    assert_eq!(chat(&with("a", 3)).1, [output(3, true)]);
}

#[test]
fn completions_count_tokens_without_text_but_not_an_echo() {
    let part = |text: &str, tokens: &str| {
        event(&format!(
            r#""choices":[{{"index":0,"text":"{text}","logprobs":{{"tokens":{tokens}}},"finish_reason":null}}]"#
        ))
    };
    let body = part("a", "[\"a\",\"b\"]") + &part("", "[\"c\"]") + &part("", "[]");
    assert_eq!(completions(&body).1, [output(2, true), output(1, true), Seen::Event]);
    let echo = RequestPeek { echo: true, ..RequestPeek::default() };
    let (reader, seen) = read_as(Dialect::Completions, &echo, &head(200, EVENTS), &body);
    assert_eq!(seen, [output(0, true), output(1, true), Seen::Event]);
    assert_eq!(reader.facts().tokens.uncounted_chunks, 1);
}
