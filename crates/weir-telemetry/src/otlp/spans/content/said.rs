//! What was answered, in the forms that backends read.

use serde_json::{Value, json};
use weir_core::content::{Part, Said};
use weir_core::outcome::Outcome;

/// A choice as a message of OpenTelemetry's. It always has a finish reason: Phoenix drops all messages
/// where one has none.
pub(super) fn message(choice: &Said, outcome: Outcome) -> Value {
    let ended = if outcome == Outcome::Completed { "stop" } else { "error" };
    let reason = choice.finish_reason.as_deref().unwrap_or(ended);
    let parts: Vec<_> = choice.parts.iter().map(part).collect();
    json!({ "role": "assistant", "parts": parts, "finish_reason": reason })
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "content": text }),
        Part::Reasoning(text) => json!({ "type": "reasoning", "content": text }),
        Part::Refusal(text) => json!({ "type": "refusal", "content": text }),
        Part::Call { id, name, arguments } => {
            json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments_of(arguments) })
        }
    }
}

/// Arguments as JSON, where they are: they may be cut.
pub(super) fn arguments_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The answer as one value with its type: the text, where it is nothing else, else the messages of a chat.
pub(super) fn value(choices: &[Said]) -> (&'static str, String) {
    match choices {
        [] => ("text/plain", String::new()),
        [only] => match only_text(only) {
            Some(text) => ("text/plain", text),
            None => ("application/json", chat(only).to_string()),
        },
        several => ("application/json", several.iter().map(chat).collect::<Value>().to_string()),
    }
}

fn only_text(choice: &Said) -> Option<String> {
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        _ => None,
    };
    choice.parts.iter().map(text).collect()
}

/// A choice as the message of a chat, which every backend knows how to show.
fn chat(choice: &Said) -> Value {
    let (mut content, mut thought, mut refusal, mut calls) =
        (String::new(), String::new(), String::new(), Vec::new());
    for part in &choice.parts {
        match part {
            Part::Text(text) => content.push_str(text),
            Part::Reasoning(text) => thought.push_str(text),
            Part::Refusal(text) => refusal.push_str(text),
            Part::Call { id, name, arguments } => calls.push(json!({
                "id": id,
                "type": "function",
                "function": { "name": name, "arguments": arguments },
            })),
        }
    }
    let mut message = json!({ "role": "assistant", "content": content });
    let others = [("reasoning_content", thought), ("refusal", refusal)];
    for (name, text) in others.into_iter().filter(|(_, text)| !text.is_empty()) {
        message[name] = text.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}
