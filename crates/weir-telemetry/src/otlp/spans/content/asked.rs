//! What was asked, in OpenTelemetry's form, from whichever dialect's.

use serde_json::{Map, Value, json};

use super::said::arguments_of;

/// What the model is told beside the messages.
pub(super) fn instructions(body: &Map<String, Value>) -> Vec<Value> {
    let told = ["system", "instructions"].into_iter().filter_map(|key| body.get(key));
    told.flat_map(parts_of).collect()
}

/// The messages, or what stands in their place.
pub(super) fn messages(body: &Map<String, Value>) -> Vec<Value> {
    let mut messages: Vec<_> = body.get("messages").into_iter().flat_map(elements).map(message).collect();
    match body.get("input") {
        Some(Value::Array(items)) => messages.extend(items.iter().map(item)),
        Some(other) => messages.extend(prompts(other)),
        None => {}
    }
    let prompt = ["prompt", "inputs", "text"].into_iter().filter_map(|key| body.get(key));
    messages.extend(prompt.flat_map(prompts));
    messages
}

/// One or several prompts, in text or in tokens.
fn prompts(prompt: &Value) -> Vec<Value> {
    match prompt {
        Value::Array(all) if all.first().is_some_and(Value::is_number) => {
            vec![user(vec![json!({ "type": "token_ids", "content": prompt })])]
        }
        Value::Array(several) => several.iter().flat_map(prompts).collect(),
        prompt => vec![user(parts_of(prompt))],
    }
}

fn user(parts: Vec<Value>) -> Value {
    json!({ "role": "user", "parts": parts })
}

/// A message of a chat.
fn message(message: &Value) -> Value {
    let role = message["role"].as_str().unwrap_or("user");
    let thought = ["reasoning", "reasoning_content", "thinking"].map(|key| text(&message[key]));
    let mut parts: Vec<_> =
        thought.into_iter().find(|thought| !thought.is_empty()).map(reasoning).into_iter().collect();
    match &message["content"] {
        Value::Null => {}
        content if matches!(role, "tool" | "function") => {
            parts.push(response(&message["tool_call_id"], content));
        }
        content => parts.extend(parts_of(content)),
    }
    parts.extend(elements(&message["images"]).map(|image| json!({ "type": "image", "content": image })));
    for called in elements(&message["tool_calls"]) {
        parts.push(call(&called["id"], &called["function"]["name"], &called["function"]["arguments"]));
    }
    if let Value::Object(function) = &message["function_call"] {
        let of = |key: &str| function.get(key).cloned().unwrap_or_default();
        parts.push(call(&Value::Null, &of("name"), &of("arguments")));
    }
    json!({ "role": role, "parts": parts })
}

/// An item of a Responses request.
fn item(item: &Value) -> Value {
    let by = |role: &str, part: Value| json!({ "role": role, "parts": [part] });
    match item["type"].as_str().unwrap_or("message") {
        "message" if item.is_object() => message(item),
        "function_call" => by("assistant", call(&item["call_id"], &item["name"], &item["arguments"])),
        "custom_tool_call" => by("assistant", call(&item["call_id"], &item["name"], &item["input"])),
        "function_call_output" | "custom_tool_call_output" => {
            by("tool", response(&item["call_id"], &item["output"]))
        }
        "reasoning" => {
            let thoughts = elements(&item["summary"]).chain(elements(&item["content"]));
            let parts: Vec<_> = thoughts.map(|thought| reasoning(text(&thought["text"]))).collect();
            json!({ "role": "assistant", "parts": parts })
        }
        _ => user(parts_of(item)),
    }
}

/// The parts of a content: a text, a part, or several of both.
fn parts_of(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.iter().map(part).collect(),
        content => vec![part(content)],
    }
}

/// One part. One that the conventions have no form for stays as it is: any type is allowed.
fn part(part: &Value) -> Value {
    if let Value::String(text) = part {
        return json!({ "type": "text", "content": text });
    }
    match part["type"].as_str().unwrap_or_default() {
        "text" | "input_text" | "output_text" => json!({ "type": "text", "content": part["text"] }),
        "thinking" => reasoning(text(&part["thinking"])),
        "tool_use" | "server_tool_use" => call(&part["id"], &part["name"], &part["input"]),
        "tool_result" => response(&part["tool_use_id"], &part["content"]),
        "image_url" | "input_image" => {
            let address = [text(&part["image_url"]), text(&part["image_url"]["url"])].concat();
            json!({ "type": "uri", "modality": "image", "uri": address })
        }
        _ => part.clone(),
    }
}

fn reasoning(thought: &str) -> Value {
    json!({ "type": "reasoning", "content": thought })
}

fn response(id: &Value, content: &Value) -> Value {
    json!({ "type": "tool_call_response", "id": id, "response": content })
}

fn call(id: &Value, name: &Value, arguments: &Value) -> Value {
    let arguments = arguments.as_str().map_or_else(|| arguments.clone(), arguments_of);
    json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments })
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
