//! The engines' own generation APIs: TGI's and SGLang's, which stand under the same path.

use super::*;

fn generate(body: &str) -> (Reader, Vec<Seen>) {
    read_as(Dialect::TgiGenerate, &RequestPeek::default(), &head(200, EVENTS), body)
}

fn token_event(index: u32, text: &str, special: bool, rest: &str) -> String {
    format!(
        "data:{{\"index\":{index},\"token\":{{\"id\":{},\"text\":\"{text}\",\"logprob\":-0.{index},\"special\":{special}}},{rest}}}\n\n",
        1000 + index
    )
}

fn piece(index: u32, text: &str) -> String {
    token_event(index, text, false, r#""generated_text":null,"details":null"#)
}

#[test]
fn each_event_of_tgi_is_one_token_and_a_special_one_is_not_shown() {
    let last = token_event(
        4,
        "</s>",
        true,
        r#""generated_text":"Hi you","details":{"finish_reason":"eos_token","generated_tokens":4,"seed":null}"#,
    );
    let body = piece(1, "Hi") + &piece(2, "") + &piece(3, " you") + &last;
    let (reader, seen) = golden(Dialect::TgiGenerate, EVENTS, &body);
    assert_eq!(seen, [output(1, true), output(1, true), output(1, true), Seen::Event, Seen::Terminal]);
    let facts = reader.facts();
    assert!(reader.is_stream() && facts.terminal && facts.all_finished);
    assert_eq!(reasons(&reader), ["eos_token"]);
    assert_eq!((facts.tokens.listed, facts.tokens.listed_as), (4, Some(Provenance::TokenIds)));
    assert_eq!(
        facts.usage().map(|(u, from)| (u.input, u.output, from)),
        Some((None, Some(4), Provenance::Reported))
    );
}

#[test]
fn the_last_token_of_tgi_may_be_shown_and_details_may_be_missing() {
    let last = token_event(3, "!", false, r#""generated_text":"Hi!","details":null"#);
    let (reader, seen) = generate(&(piece(1, "H") + &piece(2, "i") + &last));
    assert_eq!(seen, [output(1, true), output(1, true), output(1, true), Seen::Terminal]);
    let facts = reader.facts();
    // It need not tell why it ended; that it did, it tells.
    assert!(facts.terminal && facts.all_finished && reasons(&reader).is_empty());
    assert_eq!(facts.usage().map(|(u, from)| (u.output, from)), Some((Some(3), Provenance::TokenIds)));
    let details = r#""generated_text":"Hi","details":{"finish_reason":"length","generated_tokens":2,"input_length":9,"seed":1}"#;
    let (reader, _) = generate(&(piece(1, "H") + &token_event(2, "i", false, details)));
    let usage = reader.facts().usage().unwrap().0;
    assert_eq!((usage.input, usage.output, reasons(&reader)), (Some(9), Some(2), vec!["length"]));
}

#[test]
fn an_error_of_tgi_is_a_string_beside_its_type() {
    let body = piece(1, "a")
        + "data:{\"error\":\"Request failed during generation\",\"error_type\":\"generation\"}\n\n";
    let (reader, seen) = generate(&body);
    assert_eq!(seen, [output(1, true), Seen::Error]);
    assert_eq!(said(&reader), (None, Some("generation")));
    assert!(!reader.facts().terminal);
}

#[test]
fn a_stream_of_tgi_that_breaks_off_is_not_over() {
    let (reader, _) = generate(&(piece(1, "a") + &piece(2, "b")));
    assert!(!reader.facts().terminal && !reader.facts().all_finished);
}

fn meta(text: &str, tokens: u64, reason: &str) -> String {
    format!(
        "data: {{\"text\":\"{text}\",\"output_ids\":[1],\"meta_info\":{{\"id\":\"x\",\"finish_reason\":{reason},\"prompt_tokens\":9,\"completion_tokens\":{tokens},\"cached_tokens\":4,\"e2e_latency\":0.1}}}}\n\n"
    )
}

#[test]
fn sglang_repeats_the_text_and_its_count_tells_what_is_new() {
    let body = meta("", 0, "null")
        + &meta("Hi", 1, "null")
        + &meta("Hi you", 4, "null")
        + &meta("Hi you", 4, "null")
        + &meta("Hi you!", 5, r#"{"type":"length","length":5}"#)
        + DONE;
    // Under a path of its own, or one that lets expect something else.
    for dialect in [Dialect::TgiGenerate, Dialect::Chat, Dialect::Other] {
        let (reader, seen) = golden(dialect, EVENTS, &body);
        let (e, t) = (Seen::Event, Seen::Terminal);
        assert_eq!(seen, [e, output(1, true), output(3, true), e, output(1, true), t], "{dialect:?}");
        let facts = reader.facts();
        assert!(reader.is_stream() && facts.terminal && facts.all_finished);
        assert_eq!((reasons(&reader), facts.tokens.uncounted_chunks), (vec!["length"], 0));
        let (usage, from) = facts.usage().unwrap();
        assert_eq!((usage.input, usage.output, usage.cached_input), (Some(9), Some(5), Some(4)));
        assert_eq!(from, Provenance::Reported);
    }
}

#[test]
fn several_answers_of_sglang_grow_each_on_its_own() {
    let of = |index: u32, tokens: u64, reason: &str| {
        meta("a", tokens, reason).replace("data: {", &format!("data: {{\"index\":{index},"))
    };
    let stop = r#"{"type":"stop","matched":2}"#;
    let body =
        of(0, 1, "null") + &of(1, 2, "null") + &of(0, 3, stop) + &of(1, 2, "null") + &of(1, 6, stop) + DONE;
    let (reader, seen) = generate(&body);
    let e = Seen::Event;
    assert_eq!(seen, [output(1, true), output(2, true), output(2, true), e, output(4, true), Seen::Terminal]);
    assert_eq!(reasons(&reader), ["stop", "stop"]);
    // Whether both answer one prompt is not told.
    let expected = Usage { output: Some(9), ..Usage::default() };
    assert_eq!(reader.facts().usage(), Some((expected, Provenance::Reported)));
}

#[test]
fn an_error_of_sglang_is_an_object() {
    let body = meta("a", 1, "null") + "data: {\"error\":{\"message\":\"m\",\"code\":400}}\n\n" + DONE;
    let (reader, seen) = generate(&body);
    assert_eq!(seen, [output(1, true), Seen::Error, Seen::Terminal]);
    assert_eq!(said(&reader), (Some("400"), None));
}

#[test]
fn documents_of_both() {
    let tokens = r#"{"id":7,"text":"generated_tokens","logprob":-0.5,"special":false},"#.repeat(500);
    let tgi = format!(
        r#"{{"generated_text":"Hi","details":{{"finish_reason":"length","generated_tokens":500,"seed":null,"prefill":[],"tokens":[{tokens}{{}}]}}}}"#
    );
    for body in [tgi.clone(), format!("[{tgi}]")] {
        let reader = document(Dialect::TgiGenerate, &body);
        let facts = reader.facts();
        assert!(!reader.is_stream() && facts.terminal && facts.all_finished);
        assert_eq!((facts.usage().unwrap().0.output, reasons(&reader)), (Some(500), vec!["length"]));
    }
    let sglang = meta("Hi", 5, r#"{"type":"stop","matched":128009}"#);
    let sglang = sglang.trim_end().strip_prefix("data: ").unwrap();
    let reader = document(Dialect::TgiGenerate, sglang);
    let usage = reader.facts().usage().unwrap().0;
    assert_eq!((usage.input, usage.output, usage.cached_input), (Some(9), Some(5), Some(4)));
    assert_eq!(reasons(&reader), ["stop"]);
    // Of several the output is the sum, and whether they share a prompt is not told.
    let reader = document(Dialect::TgiGenerate, &format!("[{sglang},{sglang}]"));
    let expected = Usage { output: Some(10), ..Usage::default() };
    assert_eq!(reader.facts().usage(), Some((expected, Provenance::Reported)));
    let reader = document(Dialect::TgiGenerate, r#"{"error":"m","error_type":"validation"}"#);
    assert_eq!(said(&reader), (None, Some("validation")));
}
