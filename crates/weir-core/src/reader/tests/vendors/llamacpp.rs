use super::*;

const TIMINGS: &str = r#""timings":{"cache_n":30,"prompt_n":8,"prompt_ms":95.5,"prompt_per_token_ms":11.9,"prompt_per_second":83.8,"predicted_n":2,"predicted_ms":40.5,"predicted_per_token_ms":20.2,"predicted_per_second":49.4}"#;

fn piece(delta: &str, reason: &str, behind: &str) -> String {
    data(&format!(
        r#"{{"choices":[{{"finish_reason":{reason},"index":0,"delta":{delta}}}],"created":1,"id":"c","model":"m","system_fingerprint":"b1","object":"chat.completion.chunk"{behind}}}"#
    ))
}

#[test]
fn the_role_comes_in_one_write_with_the_first_token_and_timings_with_the_end() {
    let first = piece(r#"{"role":"assistant","content":null}"#, "null", "")
        + &piece(r#"{"content":"a"}"#, "null", "");
    let mut reader = Reader::new(Dialect::Chat, &RequestPeek::default(), &head(200, EVENTS));
    let mut seen = Vec::new();
    reader.feed(first.as_bytes(), &mut |one| seen.push(one));
    assert_eq!(seen, [Seen::Event, output(0, true)], "both from one write");

    let body = first
        + &piece(r#"{"content":"b"}"#, "null", "")
        + &piece("{}", r#""stop""#, &format!(",{TIMINGS}"))
        + DONE;
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &body);
    let (e, o) = (Seen::Event, output(0, true));
    assert_eq!(seen, [e, o, o, e, Seen::Terminal]);
    let (usage, from) = reader.facts().usage().unwrap();
    assert_eq!((usage.input, usage.output, usage.cached_input), (Some(38), Some(2), Some(30)));
    assert_eq!(from, Provenance::EngineTimings);
}

#[test]
fn usage_goes_before_timings() {
    let last = format!(
        r#"{{"choices":[],"created":1,"id":"c","model":"m","object":"chat.completion.chunk","usage":{{"completion_tokens":2,"prompt_tokens":38,"total_tokens":40,"prompt_tokens_details":{{"cached_tokens":30}}}},{TIMINGS}}}"#
    );
    let body = piece(r#"{"content":"a"}"#, "null", "") + &piece("{}", r#""stop""#, "") + &data(&last) + DONE;
    let (reader, seen) = chat(&body);
    assert_eq!(seen, [output(0, true), Seen::Event, Seen::Event, Seen::Terminal]);
    let (usage, from) = reader.facts().usage().unwrap();
    assert_eq!((usage.output, usage.total, from), (Some(2), Some(40), Provenance::Reported));
}

#[test]
fn timings_on_each_chunk_tell_its_tokens() {
    let timed = |text: &str, predicted: u32| {
        let timings = format!(r#","timings":{{"cache_n":0,"prompt_n":8,"predicted_n":{predicted}}}"#);
        piece(&format!(r#"{{"content":"{text}"}}"#), "null", &timings)
    };
    let (reader, seen) = chat(&(timed("a", 1) + &timed("b", 3) + &timed("c", 4)));
    assert_eq!(counts(&seen), [1, 2, 1]);
    assert_eq!(reader.facts().usage().map(|(usage, _)| usage.output), Some(Some(4)));
}

#[test]
fn progress_of_the_prompt_is_no_token() {
    let progress = |processed: u32| {
        let behind =
            format!(r#","prompt_progress":{{"total":512,"cache":0,"processed":{processed},"time_ms":80}}"#);
        piece(r#"{"role":"assistant","content":null}"#, "null", &behind)
    };
    let body = progress(256) + &progress(512) + &piece(r#"{"content":"a"}"#, "null", "") + &stop() + DONE;
    let (_, seen) = chat(&body);
    let (e, o) = (Seen::Event, output(0, true));
    assert_eq!(seen, [e, e, o, e, Seen::Terminal]);
}

#[test]
fn an_error_in_mid_stream_is_the_last_that_comes() {
    let error =
        data(r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#);
    let (reader, seen) = chat(&(piece(r#"{"content":"a"}"#, "null", "") + &error));
    assert_eq!(seen, [output(0, true), Seen::Error]);
    let facts = reader.facts();
    assert!(!facts.terminal && !facts.all_finished && !facts.unterminated);
    assert_eq!(said(&reader), (Some("500"), Some("server_error")));
    // Old servers had a field of their own for it.
    let old = "error: {\"code\":500}\n\n";
    let (reader, seen) = chat(&(token("a") + old));
    assert_eq!((seen, reader.facts().error.is_none()), (vec![output(0, true)], true));
}

#[test]
fn a_comment_without_words_is_one() {
    let (reader, seen) = chat(&(role() + ":\n\n" + &token("a")));
    assert_eq!(seen, [Seen::Event, output(0, true)]);
    assert_eq!(reader.facts().counts.comments, 1);
}
