use super::*;

/// A chunk as TGI writes it: no blank behind the colon, no id, and the role in every delta.
fn piece(text: &str, reason: &str) -> String {
    format!(
        "data:{{\"object\":\"chat.completion.chunk\",\"id\":\"\",\"created\":1,\"model\":\"m\",\"system_fingerprint\":\"3\",\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"logprobs\":null,\"finish_reason\":{reason}}}],\"usage\":null}}\n\n"
    )
}

#[test]
fn the_role_in_a_delta_with_text_hides_no_token() {
    let usage = "data:{\"object\":\"chat.completion.chunk\",\"id\":\"\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3,\"total_tokens\":7}}\n\n";
    let body =
        piece("a", "null") + &piece("b", "null") + &piece("", r#""stop""#) + usage + "data: [DONE]\n\n";
    let (reader, seen) = golden(Dialect::Chat, EVENTS, &body);
    let (o, e) = (output(0, true), Seen::Event);
    assert_eq!(seen, [o, o, e, e, Seen::Terminal]);
    let facts = reader.facts();
    assert_eq!(facts.model.as_deref(), Some("m"));
    assert_eq!(facts.usage().map(|(usage, _)| (usage.input, usage.output)), Some((Some(4), Some(3))));
}

#[test]
fn the_last_chunk_has_text_and_a_reason_that_others_do_not_know() {
    for reason in ["eos_token", "stop_sequence", "length", "stop"] {
        let (reader, seen) = chat(&(piece("a", "null") + &piece("b", &format!("\"{reason}\""))));
        assert_eq!(seen, [output(0, true); 2], "{reason}");
        assert_eq!((reasons(&reader), reader.facts().all_finished), (vec![reason], true));
    }
}

#[test]
fn a_lone_colon_keeps_the_stream_alive() {
    let body = piece("a", "null") + ":\n\n:\n\n" + &piece("b", r#""stop""#) + DONE;
    let (reader, seen) = chat(&body);
    assert_eq!(seen, [output(0, true), output(0, true), Seen::Terminal]);
    assert_eq!(reader.facts().counts.comments, 2);
}

#[test]
fn an_error_in_mid_stream_is_a_string() {
    let error =
        "data:{\"error\":\"Request failed during generation: CUDA\",\"error_type\":\"generation\"}\n\n";
    let (reader, seen) = chat(&(piece("a", "null") + error));
    assert_eq!(seen, [output(0, true), Seen::Error]);
    assert!(!reader.facts().terminal);
    let error = reader.facts().error.as_ref().unwrap();
    assert_eq!((error.error_type, error.kind.as_deref()), (ErrorType::StreamError, Some("generation")));
}
