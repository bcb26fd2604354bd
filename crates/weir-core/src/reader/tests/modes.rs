use super::*;

#[test]
fn the_response_decides_how_it_is_read() {
    let request = RequestPeek { stream: true, ..RequestPeek::default() };
    let document = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"content":"\"finish_reason\":"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#;
    for content_type in ["application/json", "Application/JSON; charset=utf-8", "application/x+json", ""] {
        let (reader, seen) = read_as(Dialect::Chat, &request, &head(200, content_type), document);
        let facts = reader.facts();
        assert!(!reader.is_stream() && seen.is_empty() && facts.terminal && facts.all_finished);
        assert_eq!(facts.usage().unwrap().0.output, Some(4));
        assert_eq!((facts.model.as_deref(), facts.finished_for("stop")), (Some("m"), true));
    }
    let strange = "data: {\"results\":[{\"generated_text\":\"a\"}]}\n\n";
    let (reader, seen) = read_as(Dialect::Other, &request, &head(200, EVENTS), &(strange.to_owned() + DONE));
    assert!(!reader.is_stream());
    assert_eq!(seen, [Seen::Event, Seen::Terminal]);
    assert_eq!(reader.facts().counts.events, 2);
    for (status, content_type) in [(200, "text/html"), (204, "application/json"), (302, EVENTS)] {
        let (reader, seen) = read_as(Dialect::Chat, &request, &head(status, content_type), &token("a"));
        assert!(!reader.is_stream() && seen.is_empty());
    }
    let packed = ResponseHead { content_encoding: Some(b"gzip"), ..head(200, EVENTS) };
    let (reader, seen) = read_as(Dialect::Chat, &request, &packed, &token("a"));
    assert!(!reader.is_stream() && seen.is_empty());
    let plain = ResponseHead { content_encoding: Some(b" Identity"), ..head(200, EVENTS) };
    assert!(Reader::new(Dialect::Chat, &request, &plain).is_stream());
}

#[test]
fn documents_of_other_kinds() {
    let json = head(200, "application/json");
    let vectors = r#"{"object":"list","data":[{"embedding":[0.5,-1e-3]}],"model":"e","usage":{"prompt_tokens":8,"total_tokens":8}}"#;
    let (reader, _) = read_as(Dialect::Embeddings, &RequestPeek::default(), &json, vectors);
    assert_eq!(reader.facts().usage().map(|(usage, _)| usage.input), Some(Some(8)));
    // Blank lines may keep the connection warm before the answer comes.
    let late = format!("\n\n\n{vectors}");
    let (reader, _) = read_as(Dialect::Chat, &RequestPeek::default(), &json, &late);
    assert!(reader.facts().terminal);
    let (reader, seen) = read_as(Dialect::Chat, &RequestPeek::default(), &json, r#"{"error":{"code":"c"}}"#);
    assert_eq!(seen, [Seen::Error]);
    assert_eq!(reader.facts().error.as_ref().and_then(|e| e.code.as_deref()), Some("c"));
    let (reader, _) = read_as(Dialect::Chat, &RequestPeek::default(), &json, &vectors[..vectors.len() - 1]);
    assert!(!reader.facts().terminal);
}

#[test]
fn an_error_status_is_classed_by_its_body() {
    let body = format!(r#"{{"error":{{"code":"insufficient_quota","message":"{}"}}}}"#, "x".repeat(20_000));
    let request = RequestPeek::default();
    let (reader, seen) = read_as(Dialect::Chat, &request, &head(429, "application/json"), &body);
    assert!(seen.is_empty() && !reader.is_stream());
    let error = reader.facts().error.as_ref().unwrap();
    assert_eq!((error.error_type, error.code.as_deref()), (ErrorType::Quota, Some("insufficient_quota")));
    let (reader, _) = read_as(Dialect::Other, &request, &head(502, "text/html"), "<html>");
    assert_eq!(reader.facts().error.as_ref().map(|e| e.error_type), Some(ErrorType::Upstream5xx));
}
