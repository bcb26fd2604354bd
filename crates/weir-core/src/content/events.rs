//! What events say, and documents, by the form that they have themselves.

use serde_json::Value;

use super::said::{Call, Growing, Kind};

/// Takes what an event or a document says. Returns whether it is of a form that says anything.
pub(super) fn take(said: &mut Growing, name: &str, value: &Value) -> bool {
    match value {
        // Several answers of TGI or SGLang.
        Value::Array(values) => {
            let each = values.iter().enumerate();
            each.fold(false, |taken, (nth, value)| one(said, ordinal(nth), name, value) || taken)
        }
        value => one(said, 0, name, value),
    }
}

fn one(said: &mut Growing, position: u32, name: &str, value: &Value) -> bool {
    let kind = value["type"].as_str().unwrap_or(name);
    if let Some(choices) = value["choices"].as_array() {
        choices.iter().enumerate().for_each(|(nth, choice)| of_choice(said, ordinal(nth), choice));
    } else if let Some(kind) = kind.strip_prefix("response.") {
        return of_response_event(said, kind, value);
    } else if let Some(items) = value["output"].as_array() {
        items.iter().enumerate().for_each(|(nth, item)| of_item(said, nth as u64, item));
    } else if kind == "message" {
        let blocks = value["content"].as_array().into_iter().flatten();
        blocks.enumerate().for_each(|(nth, block)| of_block(said, nth as u64, block));
    } else if kind == "content_block_start" {
        of_block(said, number(&value["index"]), &value["content_block"]);
    } else if kind == "content_block_delta" {
        of_block(said, number(&value["index"]), &value["delta"]);
    } else if kind == "transcript.text.delta" {
        said.text(0, 0, Kind::Text, text(&value["delta"]));
    } else if kind.starts_with("transcript.text.") {
        // A segment, or the end of it all: what came in smaller pieces is said again.
        let (before, place) = if kind.ends_with("segment") { (0..1, 1) } else { (0..2, 2) };
        if !before.into_iter().any(|place| said.has_part(0, place)) {
            said.text(0, place, Kind::Text, text(&value["text"]));
        }
    } else if value["token"].is_object() {
        let special = value["token"]["special"] == Value::Bool(true);
        said.text(position, 0, Kind::Text, if special { "" } else { text(&value["token"]["text"]) });
    } else if value["generated_text"].is_string() {
        said.text(position, 0, Kind::Text, text(&value["generated_text"]));
    } else if value["message"].is_object() {
        of_message(said, 0, &value["message"]);
    } else if value["response"].is_string() {
        said.text(0, 0, Kind::Reasoning, text(&value["thinking"]));
        said.text(0, 0, Kind::Text, text(&value["response"]));
    } else if value["text"].is_string() {
        let index = value["index"].as_u64().and_then(|index| u32::try_from(index).ok());
        said.text_so_far(index.unwrap_or(position), text(&value["text"]));
    } else {
        return false;
    }
    true
}

/// A choice of a chat or a completion.
fn of_choice(said: &mut Growing, position: u32, choice: &Value) {
    let index = choice["index"].as_u64().and_then(|index| u32::try_from(index).ok()).unwrap_or(position);
    said.text(index, 0, Kind::Text, text(&choice["text"]));
    of_message(said, index, &choice["delta"]);
    of_message(said, index, &choice["message"]);
}

/// A message of a chat, or what has been added to it.
fn of_message(said: &mut Growing, choice: u32, message: &Value) {
    // Some servers call it by both names at once.
    let thought = ["reasoning", "reasoning_content", "thinking"].map(|key| text(&message[key]));
    let thought = thought.into_iter().find(|thought| !thought.is_empty()).unwrap_or_default();
    said.text(choice, 0, Kind::Reasoning, thought);
    match &message["content"] {
        Value::Array(parts) => parts.iter().for_each(|part| of_part(said, choice, part)),
        content => said.text(choice, 0, Kind::Text, text(content)),
    }
    said.text(choice, 0, Kind::Text, text(&message["audio"]["transcript"]));
    said.text(choice, 0, Kind::Refusal, text(&message["refusal"]));
    let calls = message["tool_calls"].as_array().map(|calls| &calls[..]).unwrap_or_default();
    // Where they bear no index, each comes whole.
    let first = said.calls(choice);
    for (nth, call) in calls.iter().enumerate() {
        let place = call["index"].as_u64().unwrap_or(first + nth as u64);
        of_call(said, choice, place, text(&call["id"]), &call["function"]);
    }
    if message["function_call"].is_object() {
        of_call(said, choice, 0, "", &message["function_call"]);
    }
}

fn of_part(said: &mut Growing, choice: u32, part: &Value) {
    match part["type"].as_str() {
        Some("thinking" | "reasoning") => {
            let thoughts = part["thinking"].as_array().into_iter().flatten();
            let whole = [text(&part["thinking"]), text(&part["text"])];
            let pieces = thoughts.map(|thought| text(&thought["text"])).chain(whole);
            pieces.for_each(|piece| said.text(choice, 0, Kind::Reasoning, piece));
        }
        _ => said.text(choice, 0, Kind::Text, text(&part["text"])),
    }
}

fn of_call(said: &mut Growing, choice: u32, place: u64, id: &str, function: &Value) {
    let written = written(&function["arguments"]);
    said.call(choice, place, Call { id, name: text(&function["name"]), arguments: &written });
}

/// A content block of Anthropic's, its beginning, or what has been added to it.
fn of_block(said: &mut Growing, place: u64, block: &Value) {
    match block["type"].as_str().unwrap_or_default() {
        "text" | "text_delta" => said.text(0, place, Kind::Text, text(&block["text"])),
        "thinking" | "thinking_delta" => said.text(0, place, Kind::Reasoning, text(&block["thinking"])),
        "input_json_delta" => {
            let arguments = text(&block["partial_json"]);
            said.call(0, place, Call { arguments, ..Call::default() });
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            // It begins with an empty object, whatever comes in pieces.
            let input =
                Some(&block["input"]).filter(|input| input.as_object().is_some_and(|it| !it.is_empty()));
            let arguments = input.map(written).unwrap_or_default();
            let (id, name) = (text(&block["id"]), text(&block["name"]));
            said.call(0, place, Call { id, name, arguments: &arguments });
        }
        _ => {}
    }
}

/// An event of a Responses stream, of this type but for its beginning. The events that say again what was
/// said are passed over.
fn of_response_event(said: &mut Growing, kind: &str, value: &Value) -> bool {
    let place = number(&value["output_index"]);
    let inner = number(&value["content_index"]).max(number(&value["summary_index"]));
    let delta = text(&value["delta"]);
    match kind {
        "output_text.delta" | "audio.transcript.delta" => {
            said.text(0, inside(place, inner), Kind::Text, delta);
        }
        "reasoning_text.delta" | "reasoning_summary_text.delta" => {
            said.text(0, inside(place, inner), Kind::Reasoning, delta);
        }
        "refusal.delta" => said.text(0, inside(place, inner), Kind::Refusal, delta),
        "function_call_arguments.delta"
        | "custom_tool_call_input.delta"
        | "mcp_call_arguments.delta"
        | "code_interpreter_call_code.delta" => {
            said.call(0, inside(place, 0), Call { arguments: delta, ..Call::default() });
        }
        "output_item.added" | "output_item.done" => return of_call_item(said, place, &value["item"]),
        _ => return false,
    }
    true
}

/// An item of a whole response.
fn of_item(said: &mut Growing, place: u64, item: &Value) {
    let parts = |key: &str| item[key].as_array().into_iter().flatten().enumerate();
    match item["type"].as_str().unwrap_or_default() {
        "message" => {
            for (nth, part) in parts("content") {
                said.text(0, inside(place, nth as u64), Kind::Text, text(&part["text"]));
                said.text(0, inside(place, nth as u64), Kind::Refusal, text(&part["refusal"]));
            }
        }
        "reasoning" => {
            for (nth, part) in parts("summary").chain(parts("content")) {
                said.text(0, inside(place, nth as u64), Kind::Reasoning, text(&part["text"]));
            }
        }
        _ => {
            of_call_item(said, place, item);
        }
    }
}

/// An item that calls a tool, at its beginning or whole. Returns whether it is one.
fn of_call_item(said: &mut Growing, place: u64, item: &Value) -> bool {
    if !matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call" | "mcp_call")) {
        return false;
    }
    let place = inside(place, 0);
    let id = [text(&item["call_id"]), text(&item["id"])].into_iter().find(|id| !id.is_empty());
    let mut arguments = written(&item["arguments"]);
    if arguments.is_empty() {
        arguments = written(&item["input"]);
    }
    if said.has_arguments(0, place) {
        arguments.clear();
    }
    let (id, name) = (id.unwrap_or_default(), text(&item["name"]));
    said.call(0, place, Call { id, name, arguments: &arguments });
    true
}

/// The place of a part within an item.
fn inside(place: u64, inner: u64) -> u64 {
    (place << 16) | (inner & 0xffff)
}

/// A text, or any other value as JSON; nothing for what is absent.
fn written(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn ordinal(nth: usize) -> u32 {
    u32::try_from(nth).unwrap_or(u32::MAX)
}
