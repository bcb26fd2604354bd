//! A second reading of a stream, slow and plain: every event through a full JSON tree.

use serde_json::Value;
use weir_core::reader::Seen;

/// What an event is, but for its token count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Event,
    Output { answer: bool },
    Terminal,
    Error,
    Broken,
}

impl From<Seen> for Kind {
    fn from(seen: Seen) -> Self {
        match seen {
            Seen::Event => Self::Event,
            Seen::Output { answer, .. } => Self::Output { answer },
            Seen::Terminal => Self::Terminal,
            Seen::Error => Self::Error,
            Seen::Broken => Self::Broken,
        }
    }
}

/// Splits text with LF or CRLF ends into the data of its events.
pub(crate) fn events(text: &str) -> Vec<(String, String)> {
    let text = text.replace("\r\n", "\n");
    let mut events = Vec::new();
    for block in text.split("\n\n") {
        let values = |name: &str| {
            let value = |line: &str| Some(line.strip_prefix(name)?.trim_start_matches(' ').to_owned());
            block.lines().filter_map(value).collect::<Vec<_>>().join("\n")
        };
        if block.lines().any(|line| line.starts_with("data:")) {
            events.push((values("event:"), values("data:")));
        }
    }
    events
}

/// What an event of a chat or completions stream is.
pub(crate) fn judge(name: &str, data: &str) -> Vec<Kind> {
    if data.starts_with("[DONE]") {
        return vec![Kind::Terminal];
    }
    if name == "error" {
        return vec![Kind::Error];
    }
    let Ok(Value::Object(event)) = serde_json::from_str::<Value>(data) else {
        return vec![Kind::Broken];
    };
    let choices = event.get("choices").and_then(Value::as_array).cloned().unwrap_or_default();
    let outputs: Vec<_> = choices.iter().filter_map(output).collect();
    let failed = choices.iter().any(|choice| choice["finish_reason"] == "error");
    let mut kinds = Vec::new();
    if !outputs.is_empty() {
        kinds.push(Kind::Output { answer: outputs.contains(&true) });
    }
    if failed || event.get("error").is_some_and(full) || event.get("object") == Some(&"error".into()) {
        kinds.push(Kind::Error);
    }
    if kinds.is_empty() {
        kinds.push(Kind::Event);
    }
    kinds
}

/// Whether a choice carries output, and if so whether it is more than reasoning.
fn output(choice: &Value) -> Option<bool> {
    let delta = &choice["delta"];
    let listed = full(&choice["token_ids"]) || full(&choice["logprobs"]["tokens"]);
    let parts = delta["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let thinks = |part: &Value| part["type"] == "thinking";
    let answer = full(&choice["text"])
        || (choice["text"].is_string() && listed)
        || delta["content"].as_str().is_some_and(|text| !text.is_empty())
        || parts.iter().any(|part| !thinks(part))
        || ["refusal", "tool_calls", "function_call", "audio"].iter().any(|key| full(&delta[*key]));
    let reasoning =
        ["reasoning", "reasoning_content", "reasoning_details"].iter().any(|key| full(&delta[*key]))
            || parts.iter().any(thinks);
    (answer || reasoning).then_some(answer)
}

fn full(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(array) => !array.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}
