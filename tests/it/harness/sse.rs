//! Events as OpenAI-compatible servers write them.

/// A chunk with any delta and any finish reason, both in JSON.
pub(crate) fn delta(index: u32, delta: &str, finish_reason: &str) -> String {
    format!(
        concat!(
            r#"data: {{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","#,
            r#""choices":[{{"index":{},"delta":{},"finish_reason":{}}}]}}"#,
            "\n\n"
        ),
        index, delta, finish_reason
    )
}

/// A chunk of content.
pub(crate) fn content(text: &str) -> String {
    delta(0, &format!(r#"{{"content":{}}}"#, serde_json::Value::from(text)), "null")
}

/// The chunk that only names the role.
pub(crate) fn role() -> String {
    delta(0, r#"{"role":"assistant","content":""}"#, "null")
}

/// The chunk that ends the choice.
pub(crate) fn finish(reason: &str) -> String {
    delta(0, "{}", &format!("\"{reason}\""))
}

/// The usage event.
pub(crate) fn usage(prompt: u64, completion: u64) -> String {
    let total = prompt + completion;
    format!(
        concat!(
            r#"data: {{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"#,
            r#""usage":{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}}}}"#,
            "\n\n"
        ),
        prompt, completion, total
    )
}

/// An event with any data.
pub(crate) fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// The terminal event.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A whole stream of three tokens with usage (7, 3).
pub(crate) fn three_tokens() -> Vec<String> {
    vec![role(), content("a"), content("b"), content("c"), finish("stop"), usage(7, 3), DONE.to_owned()]
}
