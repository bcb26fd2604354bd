//! The response object: what every response says of itself and of its request.

use serde_json::{Value, json};

use crate::engine::api::script::CREATED;
use crate::engine::fields::Fields;
use crate::engine::generation::Usage;
use crate::engine::refusal::SIMULATED;

/// A response but for what changes while it is generated.
#[derive(Debug)]
pub(crate) struct Object {
    /// The members that stay, as JSON without braces.
    fixed: String,
}

/// How far a response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    InProgress,
    Completed,
    Incomplete,
    Failed,
}

impl Object {
    /// What the request says stands in the response as well.
    pub(crate) fn new(fields: &Fields<'_>, id: String, model: &str) -> Self {
        let or = |name: &str, absent: Value| match fields.value(name) {
            Value::Null => absent,
            given => given.clone(),
        };
        let fixed = json!({
            "id": id,
            "object": "response",
            "created_at": CREATED,
            "model": model,
            "instructions": fields.value("instructions"),
            "metadata": or("metadata", json!({})),
            "parallel_tool_calls": or("parallel_tool_calls", json!(true)),
            "temperature": or("temperature", json!(1.0)),
            "top_p": or("top_p", json!(1.0)),
            "tool_choice": or("tool_choice", json!("auto")),
            "tools": or("tools", json!([])),
            "background": false,
            "max_output_tokens": fields.value("max_output_tokens"),
            "max_tool_calls": null,
            "previous_response_id": null,
            "prompt": null,
            "reasoning": fields.value("reasoning"),
            "service_tier": "auto",
            "text": or("text", json!({"format": {"type": "text"}})),
            "top_logprobs": 0,
            "truncation": "disabled",
            "user": fields.value("user"),
        })
        .to_string();
        let inner = fixed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        Object { fixed: inner.to_owned() }
    }

    /// The object at some moment; `output` is the list of its items.
    pub(crate) fn render(&self, status: Status, output: &str, usage: Option<Usage>) -> String {
        let (word, incomplete, error) = match status {
            Status::InProgress => ("in_progress", "null".to_owned(), "null".to_owned()),
            Status::Completed => ("completed", "null".to_owned(), "null".to_owned()),
            Status::Incomplete => {
                ("incomplete", r#"{"reason":"max_output_tokens"}"#.to_owned(), "null".to_owned())
            }
            Status::Failed => {
                ("failed", "null".to_owned(), format!(r#"{{"code":"server_error","message":"{SIMULATED}"}}"#))
            }
        };
        let usage = usage.map_or_else(|| "null".to_owned(), render_usage);
        format!(
            r#"{{{},"status":"{word}","error":{error},"incomplete_details":{incomplete},"output":{output},"usage":{usage}}}"#,
            self.fixed
        )
    }
}

/// The API has no way to leave the details out: what is not known is zero in them.
fn render_usage(usage: Usage) -> String {
    let Usage { prompt, completion, reasoning, cached } = usage;
    format!(
        r#"{{"input_tokens":{prompt},"input_tokens_details":{{"cached_tokens":{},"cache_write_tokens":0}},"output_tokens":{completion},"output_tokens_details":{{"reasoning_tokens":{}}},"total_tokens":{}}}"#,
        cached.unwrap_or(0),
        reasoning.unwrap_or(0),
        prompt + completion
    )
}
