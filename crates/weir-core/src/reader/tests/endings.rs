use super::*;

#[test]
fn a_choice_ends_with_a_real_finish_reason() {
    let (reader, _) = chat(&(chunk("{}", "\"\"").repeat(3) + &chunk("{}", "\"null\"")));
    assert!(!reader.facts().all_finished);
    let (reader, _) = chat(&(chunk(r#"{"content":"a"}"#, "\"\"") + &chunk("{}", "\"tool_calls\"")));
    assert!(reader.facts().all_finished && reader.facts().finished_for("tool_calls"));
    let (reader, seen) = chat(&chunk(r#"{"content":"a"}"#, "\"eos_token\""));
    assert_eq!(seen, [output(0, true)]);
    assert!(reader.facts().finished_for("eos_token"));
}

#[test]
fn all_choices_asked_for_must_end() {
    let two = RequestPeek { choices: 2, ..RequestPeek::default() };
    let of = |index: u32, reason: &str| stop().replace(":0,", &format!(":{index},")).replace("stop", reason);
    let read = |body: &str| read_as(Dialect::Chat, &two, &head(200, EVENTS), body).0.facts().all_finished;
    assert!(!read(&of(0, "stop")));
    assert!(read(&(of(1, "stop") + &of(0, "length"))));
    assert!(!read(&(of(0, "stop") + &token("a").replace(":0,", ":1,"))));
    let many: String = (0..1000).map(|index| of(index, "stop")).collect();
    let (reader, _) = chat(&many);
    assert_eq!(reader.facts().choices.seen().len(), crate::reader::choices::MAX_CHOICES);
}

#[test]
fn the_end_may_lack_its_blank_line_or_be_cut() {
    for end in ["\n\n", "\n", "", "\r"] {
        let body =
            token("a") + usage(1, 2).replace("[]", r#"[{"index":0,"finish_reason":"stop"}]"#).trim_end();
        let (reader, _) = chat(&(body + end));
        let facts = reader.facts();
        assert!(facts.all_finished && facts.tokens.reported.is_some(), "{end:?}");
        assert_eq!(facts.unterminated, end != "\n\n");
    }
    // What an event said before it broke off was said.
    let (reader, _) = chat(stop().split_at(stop().len() - 4).0);
    assert!(reader.facts().unterminated && reader.facts().all_finished);
    let cut = token("a");
    let (reader, seen) = chat(&(token("a") + &cut[..cut.len() / 2]));
    assert_eq!(seen, [output(0, true)]);
    let facts = reader.facts();
    assert!(facts.unterminated && !facts.terminal && !facts.all_finished);
    assert_eq!(facts.counts.parse_errors, 0);
}

#[test]
fn the_terminal_event_in_every_dress() {
    for done in ["data: [DONE]\n\n", "data:[DONE]\n\n", "data: [DONE]  \r\n\r\n", "data: [DONE]"] {
        assert_eq!(chat(done).1, [Seen::Terminal], "{done}");
    }
}

#[test]
fn errors_inside_an_answer() {
    let code = |body: &str| {
        let (reader, seen) = chat(body);
        assert_eq!(seen.last(), Some(&Seen::Error), "{body}");
        let error = reader.facts().error.clone().unwrap();
        assert_eq!(error.error_type, ErrorType::StreamError);
        (error.code.as_deref().map(str::to_owned), error.kind.as_deref().map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(code("event: error\ndata: {\"error\":{\"code\":\"1302\"}}\n\n"), (some("1302"), None));
    assert_eq!(code("event: error\ndata: overloaded\n\n"), (None, None));
    assert_eq!(
        code(": ping\n\ndata: {\"error\":{\"type\":\"x\",\"code\":500}}\n\n"),
        (some("500"), some("x"))
    );
    assert_eq!(
        code("data: {\"object\":\"error\",\"message\":\"m\",\"type\":\"T\",\"code\":400}\n\n"),
        (some("400"), some("T"))
    );
    assert_eq!(code("data: {\"statusCodeValue\":429,\"type\":\"t\"}\n\n"), (None, some("t")));
    assert_eq!(code("data: {\"error\":\"in words\"}\n\n"), (None, None));
    assert_eq!(code(&chunk("{}", "\"error\"")), (None, None));
    let groq = event("\"choices\":[],\"x_groq\":{\"error\":\"over capacity\"}");
    assert_eq!(code(&groq), (None, None));
    // Output and error in one event are both told.
    let both = token("a").replace("\"model\"", "\"error\":{\"code\":1},\"model\"");
    assert_eq!(chat(&both).1, [output(0, true), Seen::Error]);
    for none in ["null", "{}", "\"\"", "false"] {
        let (reader, seen) = chat(&event(&format!("\"error\":{none},\"choices\":[]")));
        assert_eq!((seen, reader.facts().error.is_none()), (vec![Seen::Event], true), "{none}");
    }
}
