use super::*;

/// The first chunk tells of the prompt's filters: no choices, no usage, and names that are empty.
const FIRST: &str = r#"{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}"#;

/// What an asynchronous filter says of text that was already sent.
const LATE: &str = r#"{"id":"","object":"","created":0,"model":"","choices":[{"index":0,"finish_reason":null,"content_filter_results":{"hate":{"filtered":false}},"content_filter_offsets":{"check_offset":1,"start_offset":1,"end_offset":9}}]}"#;

#[test]
fn the_chunk_before_the_first_and_those_behind_the_last_say_nothing() {
    let body = data(FIRST)
        + &role()
        + &token("a")
        + &data(LATE)
        + &token("b")
        + &stop()
        + &data(LATE)
        + &data(LATE)
        + &usage(7, 2)
        + DONE;
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &body);
    let (e, o) = (Seen::Event, output(0, true));
    assert_eq!(seen, [e, e, o, e, o, e, e, e, e, Seen::Terminal]);
    let facts = reader.facts();
    assert_eq!(facts.model.as_deref(), Some("m"));
    assert_eq!(facts.counts.parse_errors, 0);
    assert_eq!((reasons(&reader), facts.all_finished), (vec!["stop"], true));
    assert_eq!(facts.usage().map(|(usage, _)| (usage.input, usage.output)), Some((Some(7), Some(2))));
}

#[test]
fn empty_choices_without_usage_leave_usage_unknown() {
    let (reader, _) = chat(&(data(FIRST) + &token("a") + &stop() + &data(LATE) + DONE));
    assert_eq!(reader.facts().tokens.reported, None);
    assert_eq!(reader.facts().usage().map(|(_, from)| from), Some(Provenance::CountedChunks));
}

#[test]
fn a_filter_that_stops_the_text_is_a_finish_reason() {
    let filtered = r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"content_filter","content_filter_results":{"hate":{"filtered":true,"severity":"high"}}}]}"#;
    let (reader, seen) = chat(&(data(FIRST) + &token("a") + &data(filtered) + &data(LATE) + DONE));
    let (e, o) = (Seen::Event, output(0, true));
    assert_eq!(seen, [e, o, e, e, Seen::Terminal]);
    assert!(reader.facts().finished_for("content_filter") && reader.facts().error.is_none());
}
