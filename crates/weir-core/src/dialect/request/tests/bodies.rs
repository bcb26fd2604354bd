use super::*;

const CHAT: &str = "/v1/chat/completions";

#[test]
fn takes_what_it_needs_and_nothing_from_inside() {
    let body = r#"{ "messages": [{"role":"user","content":"\"stream\": true, \"model\": \"x\""}],
        "tools": [{"model": "y", "stream": true, "n": 9}], "model" : "org/m\u00e9",
        "n": 2, "stream_options": {"include_usage": true, "x": [1]}, "stream": true }"#;
    let expected = RequestPeek {
        model: Some("org/m\u{e9}".into()),
        stream: true,
        choices: 2,
        prompts: Prompts::Counted(1),
        include_usage: true,
        echo: false,
        background: false,
        complete: true,
        settings: Box::default(),
        caller: Caller::default(),
        prompt_hash: None,
    };
    assert_eq!(peek(CHAT, body), expected);
    assert_eq!(expected.all_choices(), 2);
}

#[test]
fn what_is_not_said_or_not_understood_is_the_default() {
    let nothing = RequestPeek { complete: true, ..RequestPeek::default() };
    assert_eq!(peek(CHAT, "{}"), nothing);
    assert_eq!(peek(CHAT, r#"{"model":5,"stream":"true","n":null,"stream_options":[],"echo":0}"#), nothing);
    assert_eq!(peek(CHAT, &format!(r#"{{"model":"{}"}}"#, "m".repeat(257))), nothing);
    assert_eq!(peek(CHAT, "not json"), RequestPeek::default());
    assert_eq!(
        peek("/v1/completions", r#"{"stream":true,"prompt":"cut of"#),
        RequestPeek { stream: true, ..RequestPeek::default() }
    );
    assert_eq!(peek(CHAT, r#"{"n":0}"#).choices, 1);
    assert_eq!(peek(CHAT, r#"{"n":99999999999}"#).choices, u32::MAX);
}

#[test]
fn of_a_repeated_key_the_last_counts() {
    assert!(!peek(CHAT, r#"{"stream":true,"stream":false}"#).stream);
    let body = r#"{"stream_options":{"include_usage":true,"include_usage":false}}"#;
    assert!(!peek(CHAT, body).include_usage);
    assert_eq!(peek("/v1/completions", r#"{"prompt":["a","b"],"prompt":"c"}"#).prompts, Prompts::Counted(1));
}

#[test]
fn each_dialect_has_its_own_way_to_ask_for_a_stream() {
    for (path, body, stream) in [
        (CHAT, "{}", false),
        (CHAT, r#"{"stream":true}"#, true),
        ("/v1/completions", r#"{"stream":false}"#, false),
        ("/v1/messages", r#"{"max_tokens":5,"stream":true}"#, true),
        ("/v1/messages", r#"{"max_tokens":5}"#, false),
        ("/v1/responses", r#"{"stream":true,"background":true}"#, true),
        ("/v1/responses", r#"{"input":[{"stream":true}]}"#, false),
        // Ollama streams unless it is told not to.
        ("/api/chat", "{}", true),
        ("/api/chat", r#"{"stream":null}"#, true),
        ("/api/chat", r#"{"stream":false}"#, false),
        ("/api/generate", r#"{"model":"m","prompt":"cut of"#, true),
        ("/api/generate", r#"{"stream": false ,"prompt":"cut of"#, false),
        ("/api/embed", r#"{"input":"a"}"#, false),
        // TGI has a path for it; SGLang has the key under the path without.
        ("/generate", r#"{"inputs":"a"}"#, false),
        ("/generate", r#"{"inputs":"a","stream":true}"#, true),
        ("/generate_stream", r#"{"inputs":"a"}"#, true),
        ("/m/generate_stream/?x=1", r#"{"inputs":"a","stream":false}"#, true),
        ("/rerank", "{}", false),
    ] {
        assert_eq!(peek(path, body).stream, stream, "{path} {body}");
    }
    assert!(peek("/v1/responses", r#"{"background":true}"#).background);
    assert!(!peek("/v1/responses", r#"{"background":false,"metadata":{"background":true}}"#).background);
}

#[test]
fn every_prompt_is_answered_with_as_many_choices() {
    use Prompts::{AtLeast, Counted};
    for (body, prompts, all) in [
        (r#"{"prompt":"a"}"#, Counted(1), 1),
        (r#"{"prompt":["a"],"n":3}"#, Counted(1), 3),
        (r#"{"n":2,"prompt":["a, b","[","c\"]"]}"#, Counted(3), 6),
        (r#"{"prompt":[1,2,3]}"#, Counted(1), 1),
        (r#"{"prompt":[[1,2],[3],[4]],"n":2}"#, Counted(3), 6),
        (r#"{"prompt":[],"n":2}"#, Counted(1), 2),
        (r#"{"prompt":null}"#, Counted(1), 1),
        // Cut off.
        (r#"{"n":2,"prompt":["a","b","#, AtLeast(2), 4),
        (r#"{"n":2,"prompt":["#, AtLeast(1), 2),
        (r#"{"n":2,"prompt":[[1,2],[3"#, AtLeast(2), 4),
        (r#"{"n":2,"prompt":[1,2,3"#, Counted(1), 2),
        (r#"{"n":2,"prompt":["a","b"],"suffix":"cut"#, Counted(2), 4),
    ] {
        let peek = peek("/v1/completions", body);
        assert_eq!((peek.prompts, peek.all_choices()), (prompts, all), "{body}");
    }
    let many = format!(r#"{{"prompt":[{}"x"],"model":"m"}}"#, "\"x\",".repeat(50_000));
    let peeked = peek("/v1/completions", &many);
    assert_eq!((peeked.prompts, peeked.model.as_deref()), (Counted(50_001), Some("m")));
}

#[test]
fn choices_are_read_where_the_dialect_has_them() {
    let batch = r#"{"text":["a","b"],"sampling_params":{"n":2,"temperature":0},"n":9,"stream":true}"#;
    let peeked = peek("/generate", batch);
    assert_eq!((peeked.choices, peeked.prompts), (2, Prompts::Counted(2)));
    let tokens = peek("/generate", r#"{"input_ids":[5,6,7],"sampling_params":[{"n":2}]}"#);
    assert_eq!((tokens.choices, tokens.prompts), (1, Prompts::Counted(1)));
    for path in ["/v1/messages", "/v1/responses", "/api/chat", "/v1/embeddings"] {
        assert_eq!(peek(path, r#"{"n":4,"prompt":["a","b"]}"#).all_choices(), 1, "{path}");
    }
    // A chat has no prompts, whatever is called so.
    assert_eq!(peek(CHAT, r#"{"n":4,"prompt":["a","b"]}"#).all_choices(), 4);
}
